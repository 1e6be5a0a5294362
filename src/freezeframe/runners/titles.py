"""Tests that have a title, not a name of a function: JavaScript, RSpec, Catch2."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from freezeframe.errors import NotFound
from freezeframe.model.fast_dataclass import dataclass

from .runner import Project, split_line


@dataclass(frozen=True, slots=True)
class Title:
    text: str
    line: int
    #: the column where it is written: an outer group is written further left
    column: int
    is_group: bool


@dataclass(frozen=True, slots=True)
class Selected:
    """What selectors mean: files, and titles or parts of titles."""

    files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def titles(text: str, pattern: re.Pattern[str]) -> Iterator[Title]:
    """Yield the titles of a source; *pattern* has the groups `group` (or None) and `title`."""
    for found in pattern.finditer(text):
        at = found.start("quote")
        begin, line = text.rfind("\n", 0, at) + 1, text.count("\n", 0, at) + 1
        indent = len(text[begin:at]) - len(text[begin:at].lstrip())
        yield Title(found["title"], line, indent, bool(found["group"]))


def path_at(text: str, line: int, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Return the titles around a line, outermost first; empty if the line is in no test."""
    before = [each for each in titles(text, pattern) if each.line <= line]
    own = next((each for each in reversed(before) if not each.is_group), None)
    if own is None or not _is_inside(text.splitlines(), own, line):
        return ()
    path, column = [own.text], own.column
    for each in reversed(before[: before.index(own)]):
        if each.is_group and each.column < column:
            path.append(each.text)
            column = each.column
    return tuple(reversed(path))


def _is_inside(lines: Sequence[str], title: Title, line: int) -> bool:
    """Whether a line is in the code of a test: what follows the code is not indented further."""
    between = (each for each in lines[title.line : line] if each.strip())
    return all(len(each) - len(each.lstrip()) > title.column for each in between)


def selected(project: Project, pattern: re.Pattern[str], files: Sequence[str]) -> Selected:
    """Return what the selectors of a project mean; *files* are patterns of its test files."""
    paths: list[str] = []
    names: list[str] = [project.matching] if project.matching else []
    for selector in project.selectors:
        line = split_line(selector)
        if os.path.exists(project.path(selector)):
            paths.append(selector)
        elif line is not None and project.is_file(line[0]):
            path = path_at(project.text(line[0]), line[1], pattern)
            if not path:
                raise NotFound(f"{selector} is in no test.", next=f"dbg test {line[0]}")
            paths.append(line[0])
            names.append(path[-1])
        else:
            file, _, name = selector.partition("::")
            if name and project.is_file(file):
                paths.append(file)
                names.append(name)
                continue
            # An id names the groups around a test too.
            title = selector.rpartition(" > ")[2]
            names.append(title)
            paths += [each for each in project.files(*files) if title in project.text(each)]
    return Selected(tuple(dict.fromkeys(paths)), tuple(names))


def any_of(names: Sequence[str]) -> str:
    """Return a regular expression, of JavaScript and Ruby, for any of the titles."""
    return "|".join(re.sub(r"([.*+?^${}()|\[\]\\/])", r"\\\1", name) for name in names)
