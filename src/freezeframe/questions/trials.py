"""What a hypothesis changed: the first difference from the unpatched run. Pure."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from freezeframe.model import late_regex
from freezeframe.model.trials import Trial

from .source_patterns import code_of

_LONGEST = 60
_VARYING = late_regex.compile(r"\d+(?:\.\d+)? ?(?:m|µ|n)?s\b|0x[0-9a-f]{4,}")


def with_difference(trial: Trial, unpatched: Trial) -> Trial:
    """Return the trial with the first difference from the unpatched run, in the order of time."""
    if trial.how == "refused":
        return trial
    return replace(trial, difference=_first_difference(trial, unpatched))


def _first_difference(trial: Trial, unpatched: Trial) -> str:
    lines = zip_longest(unpatched.output.splitlines(), trial.output.splitlines())
    for number, (was, now) in enumerate(lines, 1):
        if _comparable(was) == _comparable(now):
            continue
        if was is None:
            return f"prints {_short(now)} where the unpatched run prints nothing more"
        if now is None:
            return f"does not print {_short(was)}"
        return f"line {number} of its output is {_short(now)}, not {_short(was)}"
    if _end(trial) != _end(unpatched):
        return "only its end differs" if trial.output else "its end differs"
    return ""


def _comparable(text: str | None) -> str | None:
    """Return a line without what differs from run to run: durations and addresses."""
    return None if text is None else _VARYING.sub("…", text)


def _end(trial: Trial) -> tuple[object, ...]:
    return trial.how, trial.exit, trial.exception, trial.counts


def _short(text: str | None) -> str:
    text = text or ""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


#: counts the hits of a line inside of the program, in one expression that needs no import
_PYTHON_HITS = (
    "(__import__('builtins').__dict__.__setitem__('_freezeframe_hits', "
    "__import__('builtins').__dict__.get('_freezeframe_hits', 0) + 1), "
    "__import__('builtins').__dict__['_freezeframe_hits'])[1]"
)
_SCRIPT_HITS = "(globalThis.freezeframeHits = (globalThis.freezeframeHits || 0) + 1)"
_SCRIPTS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
#: the end of a line after which a statement may begin
_STATEMENT_END = (";", "{", "}", ":", "*/")


def guarded_source(path: str, source: str, line: int, hit: int, statement: str) -> str | None:
    """Return a source that executes *statement* before a line, when it is reached the *hit*-th
    time; None if no statement can stand there, or the language is not known.
    """
    if path.endswith((".py", ".pyw")):
        return _guarded_python(source, line, hit, statement)
    lines = source.splitlines(keepends=True)
    if not 0 < line <= len(lines) or not _begins_statement(lines, line):
        return None
    text = lines[line - 1]
    if path.endswith(_SCRIPTS):
        guard = f"if ({_SCRIPT_HITS} === {hit}) {{ {statement}; }} "
    elif path.endswith(".go"):
        guard = f"freezeframeHits++; if freezeframeHits == {hit} {{ {statement} }}; "
        lines.append("\nvar freezeframeHits int\n")
    else:
        return None
    indent = len(text) - len(text.lstrip())
    lines[line - 1] = text[:indent] + guard + text[indent:]
    return "".join(lines)


def _begins_statement(lines: Sequence[str], line: int) -> bool:
    """Whether a line is not the rest of a statement, nor a branch of one."""
    if lines[line - 1].lstrip().startswith(("}", ")", "]", ".", "else", "case ", "default:")):
        return False
    before = next((code_of(each) for each in reversed(lines[: line - 1]) if code_of(each)), "{")
    return (
        before.endswith(_STATEMENT_END) or before.startswith("//") or before[-1:] not in "(,=+-&|."
    )


def _guarded_python(source: str, line: int, hit: int, statement: str) -> str | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    around = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if not around:
        return None
    lines = source.splitlines(keepends=True)
    text = lines[max(around) - 1]
    indent = text[: len(text) - len(text.lstrip())]
    lines.insert(max(around) - 1, f"{indent}if {_PYTHON_HITS} == {hit}: {statement}\n")
    changed = "".join(lines)
    try:
        compile(changed, "<copy>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return changed


def is_line_added(path: str) -> bool:
    """Whether the lines after the statement are one further down in a guarded source."""
    return path.endswith((".py", ".pyw"))


def replaced_function(source: str, name: str, new: str) -> str | None:
    """Return a Python source in which a function is replaced; *name* may be qualified.

    *new* is the function alone, or the statements of its body; decorators stay if it has none.
    Return None if *source* has no such function, or if *new* cannot stand for it.
    """
    new = textwrap.dedent(new)
    try:
        old = _functions(ast.parse(source)).get(name)
        given = ast.parse(new).body
    except (SyntaxError, ValueError):
        return None
    if old is None or not given or old.body[0].lineno == old.lineno:
        return None
    first, indent = old.body[0].lineno, old.body[0].col_offset
    if isinstance(given[0], ast.FunctionDef | ast.AsyncFunctionDef) and given[0].name == old.name:
        if len(given) > 1:
            return None
        has_own = bool(given[0].decorator_list and old.decorator_list)
        first = old.decorator_list[0].lineno if has_own else old.lineno
        indent = old.col_offset
    if indent and any(_is_changed_by_indent(each) for each in given):
        return None
    lines = source.splitlines(keepends=True)
    lines[first - 1 : old.end_lineno] = [textwrap.indent(new.strip("\n"), " " * indent), "\n"]
    changed = "".join(lines)
    try:
        compile(changed, "<copy>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return changed


def _functions(
    tree: ast.AST, prefix: str = ""
) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions of a module and the methods of its classes, by qualified name."""
    found: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[prefix + node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= _functions(node, f"{prefix}{node.name}.")
    return found


def _is_changed_by_indent(statement: ast.stmt) -> bool:
    """Whether a string of more than one line is in a statement, other than as documentation."""
    documentation = {id(node.value) for node in ast.walk(statement) if isinstance(node, ast.Expr)}
    return any(
        isinstance(node, ast.Constant | ast.JoinedStr)
        and node.lineno != node.end_lineno
        and id(node) not in documentation
        for node in ast.walk(statement)
    )
