"""Functions of a Python file, by the line."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def function_at(lines: Sequence[str], line: int) -> str | None:
    """Return the qualified name of the innermost function around a line: `Cart.total`."""
    try:
        tree = ast.parse("\n".join(lines) + "\n")
    except (SyntaxError, ValueError):
        return None
    names: list[str] = []
    body: list[ast.stmt] = tree.body
    found = None
    while True:
        inner = next((each for each in _definitions(body) if _contains(each, line)), None)
        if inner is None:
            return found
        names.append(inner.name)
        if not isinstance(inner, ast.ClassDef):
            found = ".".join(names)
            names.append("<locals>")
        body = inner.body


def _definitions(
    body: Sequence[ast.AST],
) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Return the functions and classes in a body, those inside of branches and loops too."""
    found: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = []
    for each in body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(each)
        else:
            found += _definitions(list(ast.iter_child_nodes(each)))
    return found


def _contains(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
