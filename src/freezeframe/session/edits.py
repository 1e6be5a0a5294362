"""Breakpoints and files that are edited: where the line of a breakpoint is now.

A breakpoint is set at a line of a text. A process that loads a later text has that line elsewhere;
one that loaded the text of then keeps it where it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from freezeframe import files
from freezeframe.backends.backend import BoundBreakpoint, WantedBreakpoint
from freezeframe.backends.native import binary_kind

from .breakpoints import Book, Wanted
from .sources import Sources


def line_now(entry: Wanted, sources: Sources) -> int | None:
    """Return the line that has the text which *entry* was set at; None where that is not clear."""
    path, line, text = entry.location.file, entry.location.line, entry.text
    if path is None or line is None or not text:
        return line
    try:
        lines = [each.strip() for each in sources.lines(path)]
    except OSError:
        return line
    if 0 < line <= len(lines) and lines[line - 1] == text:
        return line
    return lines.index(text) + 1 if lines.count(text) == 1 else None


class Edits:
    """Where the breakpoints of one process are: the file as it was when the process began."""

    def __init__(self) -> None:
        self._lines: dict[int, int] = {}
        #: breakpoints whose line has another text, which is nowhere else
        self.replaced: set[int] = set()
        #: sources of which it was said that they are newer than the program
        self._newer: set[str] = set()

    def begin(self, book: Book, sources: Sources) -> list[WantedBreakpoint]:
        """Return what is to be set in a process that loads what the files hold from now on."""
        now = {entry.id: (entry.location.line, line_now(entry, sources)) for entry in book}
        self._lines = {id: line for id, (was, line) in now.items() if line and line != was}
        self.replaced = {id for id, (was, line) in now.items() if was and line is None}
        return self.placed(book.enabled())

    def placed(self, wanted: Iterable[WantedBreakpoint]) -> list[WantedBreakpoint]:
        """Return *wanted* with the lines that they have in this process."""
        return [
            replace(each, location=replace(each.location, line=self._lines[each.id]))
            if each.id in self._lines
            else each
            for each in wanted
        ]

    def newer(self, path: str, program: str | None, started: float) -> str | None:
        """Say of a source, once, that it was changed between the program's making and its start."""
        if path in self._newer or program is None or binary_kind(program) is None:
            return None
        try:
            if not files.stamp(program)[0] < files.stamp(path)[0] <= started * 1e9:
                return None
        except OSError:
            return None
        self._newer.add(path)
        name, made = os.path.basename(path), os.path.basename(program)
        return f"{name} is newer than {made}: what runs may not be the lines shown; build it again"


def judged(bound: Iterable[BoundBreakpoint], path: str, started: float) -> list[BoundBreakpoint]:
    """Return *bound*, of one file, with a word about an edit since the process started."""
    found = list(bound)
    unknown = any(each.verified and each.edited is None for each in found)
    if unknown and _changed_since(path, started):
        why = "the file was changed after the program started"
        found = [
            replace(each, message=each.message or why) if each.edited is None else each
            for each in found
        ]
    why = "the file was changed after the program loaded it; the line is one of the loaded text"
    return [replace(each, message=why) if each.edited else each for each in found]


def _changed_since(path: str, started: float) -> bool:
    try:
        return files.stamp(path)[0] > started * 1e9
    except OSError:
        return False
