"""Parse debugpy's values and their errors."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe import files
from freezeframe.backends.backend import RawValue

_GROUPS = frozenset(
    {"special variables", "function variables", "class variables", "protected variables"}
)
RETURNED = "(return) "
_ADDRESS = re.compile(r"<[^<>]* at 0x[0-9a-fA-F]+>")


def hides(variable: Mapping[str, Any]) -> bool:
    name = variable.get("name", "")
    # pytest's rewritten assertions keep their parts in variables such as `@py_assert4`.
    return name in _GROUPS or name == "len()" or name.startswith("@")


def enrich(value: RawValue, variable: Mapping[str, Any]) -> RawValue:
    """Add the facts that `values_agent.py` sends with a variable."""
    facts = (variable.get("presentationHint") or {}).get("freezeframe")
    if facts is None:
        return value
    return replace(
        value,
        count=facts.get("count"),
        definition=bool(facts.get("definition")),
        failed=bool(facts.get("failed")),
        changed=facts.get("changed"),
        was=facts.get("was"),
        parts=tuple(
            RawValue(path, text or "", changed=True, was=was, gone=text is None)
            for path, text, was in (each for each in facts.get("parts", ()) if len(each) == 3)
            if path is not None
        ),
        more_parts=facts.get("more", 0),
        same_change_as=facts.get("same"),
        gone=bool(facts.get("gone")),
    )


def is_opaque(text: str, type: str | None) -> bool:
    if type in ("function", "method", "module", "type", "builtin_function_or_method", "generator"):
        return False
    return _ADDRESS.fullmatch(text) is not None


def brief_error(text: str) -> str:
    """Return the last line of a traceback: `NameError: name 'x' is not defined`."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    for line in reversed(lines):
        if not line.startswith((" ", "\t")):
            return line.strip()
    return text.strip()


def argument_names(path: str, line: int, function: str) -> Sequence[str] | None:
    """Return the argument names of the innermost function around a line."""
    try:
        tree = ast.parse(files.read_text(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: list[str] | None = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if (
            node.lineno <= line <= (node.end_lineno or line)
            and node.name == function.split(".")[-1]
        ):
            given = node.args
            found = [a.arg for a in (*given.posonlyargs, *given.args)]
            found += [given.vararg.arg] if given.vararg else []
            found += [a.arg for a in given.kwonlyargs]
            found += [given.kwarg.arg] if given.kwarg else []
    return found
