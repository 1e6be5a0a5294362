"""Tests in Python sources: which functions are tests, found without importing anything."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from freezeframe.model.fast_dataclass import dataclass

from .runner import Project, split_line

#: files that hold tests by the conventions of pytest, unittest and Django
PATTERNS = (r"test_.*\.py", r".*_test\.py", r"tests?\.py", r"test.*\.py")

_EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PythonTest:
    """A test function, or a class of tests."""

    #: relative to the project
    path: str
    #: the classes around it, outermost first, and its own name
    names: tuple[str, ...]
    first_line: int
    last_line: int

    @property
    def node_id(self) -> str:
        """As pytest names it."""
        return "::".join((self.path.replace(os.sep, "/"), *self.names))

    @property
    def dotted(self) -> str:
        """As unittest names it."""
        module = os.path.splitext(self.path)[0].replace(os.sep, ".")
        return ".".join((module, *self.names))


def tests_in(project: Project, path: str) -> list[PythonTest]:
    """Return the tests of a file in the order of its lines; empty if it has a syntax error."""
    try:
        tree = ast.parse(project.text(path))
    except (SyntaxError, ValueError):
        return []
    return list(_tests(tree.body, os.path.relpath(project.path(path), project.cwd), ()))


def _tests(body: list[ast.stmt], path: str, above: tuple[str, ...]) -> Iterator[PythonTest]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test"):
                first = min((each.lineno for each in node.decorator_list), default=node.lineno)
                last = node.end_lineno or node.lineno
                yield PythonTest(path, (*above, node.name), first, last)
        elif isinstance(node, ast.ClassDef):
            names = (*above, node.name)
            yield PythonTest(path, names, node.lineno, node.end_lineno or node.lineno)
            yield from _tests(node.body, path, names)


def defined(project: Project, name: str) -> list[PythonTest]:
    """Return the tests that a name like `test_b`, `Class.test_b` or `module.Class` may mean."""
    parts = tuple(re.split(r"::|\.", name))
    word = re.compile(rf"(?:def|class)\s+{re.escape(parts[-1])}\b")
    found = []
    for path in project.files(*PATTERNS):
        if word.search(project.text(path)):
            for test in tests_in(project, path):
                full = tuple(test.dotted.split("."))
                if full[-len(parts) :] == parts:
                    found.append(test)
    return found


def at_line(project: Project, path: str, line: int) -> PythonTest | None:
    """Return the innermost test around a line of a file."""
    around = [each for each in tests_in(project, path) if each.first_line <= line <= each.last_line]
    return around[-1] if around else None


def relevant(project: Project) -> list[str]:
    """Return the selected files of tests, or all of the project's if no selector names one."""
    selected = [each.partition("::")[0] for each in project.selectors]
    lines = [found[0] for each in project.selectors if (found := split_line(each))]
    named = [each for each in (*selected, *lines) if each.endswith(".py") and project.is_file(each)]
    return named or list(project.files(*PATTERNS))


def doctests(project: Project) -> list[str]:
    """Return the selected files that have examples for doctest, and no other tests."""
    named = [each.partition("::")[0] for each in project.selectors]
    return [
        path
        for path in named
        if project.is_file(path)
        and _EXAMPLE.search(project.text(path))
        and not (path.endswith(".py") and tests_in(project, path))
    ]


def names(project: Project) -> Iterator[str]:
    """Yield the names of the project's test functions and classes."""
    for path in project.files(*PATTERNS):
        for test in tests_in(project, path):
            yield test.names[-1]
