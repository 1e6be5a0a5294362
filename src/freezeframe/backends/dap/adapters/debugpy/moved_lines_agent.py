"""Moves breakpoints to the next line with code, where pydevd takes the one before.

The line before a comment may be in another branch, or be the `def` of the function, which runs when
the module is loaded. Of archives pydevd knows those that are called `.zip` or `.egg`. Loaded by
`bootstrap_agent.py`, under its rules: breakpoints may arrive before any other agent does.
"""

from __future__ import annotations

import ast
import importlib
import os
import threading
from typing import Any


def install() -> None:
    """Let pydevd move breakpoints that way, in this process."""
    api: Any = importlib.import_module("_pydevd_bundle.pydevd_api")
    lines = api._get_code_lines
    if not hasattr(api.bisect, "bisect_right"):
        return  # a program that is attached to again
    searched: dict[int, str] = {}

    def _get_code_lines(code: Any) -> Any:
        if type(code) is not str:  # of code inside the file
            return lines(code)
        searched[threading.get_ident()] = code
        if os.path.exists(code):
            return lines(code)
        return lines(compile(_text(code), code, "exec", dont_inherit=True))

    class Moving:
        @staticmethod
        def bisect_left(known: Any, line: int) -> int:
            """Return the index after that of the line to take: pydevd takes the one before it."""
            path = searched.pop(threading.get_ident(), None)
            moved = moved_line(path, known, line) if path is not None else None
            return sum(each < line for each in known) if moved is None else known.index(moved) + 1

    api._get_code_lines, api.bisect = _get_code_lines, Moving
    files: Any = importlib.import_module("pydevd_file_utils")
    known = files.exists
    files.exists = lambda path: known(path) or _archive_of(path) is not None


def moved_line(path: str, lines: list[int], line: int) -> int | None:
    """Return the line with code, of *lines*, to stop at for one without; None if unknown.

    That is the next one of the same function or class, as after a comment, or a docstring. Inside a
    statement that spans lines it is the line before.
    """
    try:
        tree = ast.parse(_text(path))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    last = max(lines, default=0)
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            last = min(last, node.end_lineno or last)
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text and line <= _header_end(node):
            return None
    return next((each for each in lines if line < each <= last), None)


def _text(path: str) -> bytes:
    archive = _archive_of(path)
    if archive is not None:
        return bytes(archive.get_data(path))
    with open(path, "rb") as file:
        return file.read()


def _archive_of(path: str) -> Any:
    """Return an importer of the archive that a path leads into; None if there is none."""
    part = os.path.dirname(path)
    while not os.path.exists(part) and part != os.path.dirname(part):
        part = os.path.dirname(part)
    if not os.path.isfile(part):
        return None
    zipimport = importlib.import_module("zipimport")
    try:
        archive = zipimport.zipimporter(part)
        archive.get_data(path)
    except (zipimport.ZipImportError, OSError):
        return None
    return archive


def _header_end(node: Any) -> int:
    """Return the last line of a statement, or of what precedes its body."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not isinstance(body, list):
        return int(node.end_lineno)
    inside = {
        id(each)
        for part in ("body", "orelse", "finalbody", "handlers", "cases")
        for each in getattr(node, part, ())
    }
    ends: list[int] = [node.lineno]
    todo = [each for each in ast.iter_child_nodes(node) if id(each) not in inside]
    while todo:
        each = todo.pop()
        ends.append(getattr(each, "end_lineno", None) or 0)
        todo += ast.iter_child_nodes(each)
    return max(ends)
