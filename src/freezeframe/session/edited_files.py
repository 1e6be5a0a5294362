"""Breakpoints in edited files: find the line that a breakpoint was set on.

A process that loads an edited file may have the line under another number. A process that loaded
the file before the edit keeps the old number.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from freezeframe import files
from freezeframe.backends.backend import BoundBreakpoint, BreakpointRequest
from freezeframe.backends.native import binary_kind

from .breakpoints import LogicalBreakpoint, LogicalBreakpoints
from .source_cache import Sources


def line_now(entry: LogicalBreakpoint, sources: Sources) -> int | None:
    """Return the line that now has the text *entry* was set on; None if that is ambiguous."""
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


class EditedFiles:
    """Breakpoint lines of one process, in the files as they were when the process started."""

    def __init__(self) -> None:
        self._lines: dict[int, int] = {}
        #: breakpoints whose line has another text now and whose own text is gone
        self.replaced: set[int] = set()
        #: sources already reported as newer than the program
        self._newer: set[str] = set()

    def begin(self, breakpoints: LogicalBreakpoints, sources: Sources) -> list[BreakpointRequest]:
        """Return the requests for a process that starts now and loads the files as they are."""
        now = {entry.id: (entry.location.line, line_now(entry, sources)) for entry in breakpoints}
        self._lines = {id: line for id, (was, line) in now.items() if line and line != was}
        self.replaced = {id for id, (was, line) in now.items() if was and line is None}
        return self.relocate(breakpoints.enabled())

    def relocate(self, requests: Iterable[BreakpointRequest]) -> list[BreakpointRequest]:
        """Return *requests* with their line numbers in this process."""
        return [
            replace(each, location=replace(each.location, line=self._lines[each.id]))
            if each.id in self._lines
            else each
            for each in requests
        ]

    def newer(self, path: str, program: str | None, started: float) -> str | None:
        """Return a note, once per source, if it was changed after the program was built and
        before it started.
        """
        if path in self._newer or program is None or binary_kind(program) is None:
            return None
        try:
            if not files.stamp(program)[0] < files.stamp(path)[0] <= started * 1e9:
                return None
        except OSError:
            return None
        self._newer.add(path)
        name, built = os.path.basename(path), os.path.basename(program)
        return f"{name} is newer than {built}: what runs may not be the lines shown; build it again"


def with_edit_notes(
    bound: Iterable[BoundBreakpoint], path: str, started: float
) -> list[BoundBreakpoint]:
    """Return *bound*, all of one file, with a note if the file was edited since the start."""
    found = list(bound)
    unknown = any(each.verified and each.edited is None for each in found)
    if unknown and _changed_since(path, started):
        why = "the file was changed after the program started"
        found = [
            replace(each, message=each.message or why) if each.edited is None else each
            for each in found
        ]
    why = "the file was changed after the program loaded it; the line is that of the loaded text"
    return [replace(each, message=why) if each.edited else each for each in found]


def _changed_since(path: str, started: float) -> bool:
    try:
        return files.stamp(path)[0] > started * 1e9
    except OSError:
        return False
