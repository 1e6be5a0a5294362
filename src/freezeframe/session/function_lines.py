"""Find a function in a source file by its name: `app.py:total`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from freezeframe.errors import NotFound

from .line_text import read_lines
from .source_cache import body_line, enclosing_block, is_header


def line_of_function(name: str, path: str, shown: str) -> int:
    """Return the first line of code of the one function of *path* that is called *name*.

    A qualified name is matched by its end: `total` finds `Cart.total`. *shown* is the file as the
    caller wrote it. Raises NotFound if no function or several match.
    """
    lines = read_lines(path, shown)
    python = _python_functions("\n".join(lines)) if path.endswith((".py", ".pyw")) else None
    if python is not None:
        found = [line for each, line in python if f".{each}".endswith(f".{name}")]
    else:
        found = list(_defined(name.rpartition(".")[2], lines))
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(
            f"{shown} has {len(found)} functions called {name}, "
            f"at lines {', '.join(map(str, found))}.",
            next=f"dbg break {shown}:{found[0]}",
        )
    raise NotFound(f"no function of {shown} is called {name}.", next=f"dbg source {shown}:1")


def _python_functions(text: str) -> list[tuple[str, int]] | None:
    """Return the qualified name and the first line of each function; None if it is not Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found: list[tuple[str, int]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = f"{prefix}{child.name}."
                found.append((inner[:-1], _first_line(child)))
            elif isinstance(child, ast.ClassDef):
                inner = f"{prefix}{child.name}."
            visit(child, inner)

    visit(tree, "")
    return found


def _first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the line of the first statement that is executed when the function is called."""
    for statement in function.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (is_text or isinstance(statement, ast.Global | ast.Nonlocal)):
            return statement.lineno
    return function.body[-1].lineno


#: lines over which the head of a function may extend
_LONGEST_HEAD = 20


def _defined(name: str, lines: list[str]) -> Iterator[int]:
    """Yield the first line of code of each function whose head has *name* before a parenthesis."""
    head = re.compile(rf"(?<![\w$.]){re.escape(name)}\s*(?:<[^()]*>)?\s*(?:[:=][^=]*)?\(")
    for number, text in enumerate(lines, 1):
        if head.search(text) is None:
            continue
        # On one line, so that a head of several lines is recognised as one.
        last, depth = number, text.count("(") - text.count(")")
        while depth > 0 and last < min(len(lines), number + _LONGEST_HEAD):
            depth += lines[last].count("(") - lines[last].count(")")
            last += 1
        head_line = " ".join([text.rstrip(), *(each.strip() for each in lines[number:last])])
        whole = [*lines[: number - 1], head_line, *lines[last:]]
        if is_header(whole, number):
            first, end = enclosing_block(whole, number)
            if first == number:
                yield body_line(whole, range(first, end + 1)) + last - number
