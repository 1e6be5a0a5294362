"""Describe an exception: its message, and the frames in its stack text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe import files
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, TracebackLine

from .frames import ANONYMOUS, MODULE, StackLine, is_in_module
from .scripts import Scripts, is_library, path_of, real

RAISED, UNCAUGHT = "raised", "uncaught"
FILTERS = (
    ExceptionFilter(RAISED, "all exceptions, caught or not"),
    ExceptionFilter(UNCAUGHT, "uncaught exceptions and unhandled rejections", default=True),
)
#: limits of the lines of a stack, and of the length of each: a program may write anything there
_MAX_LINES, _MAX_LINE_LENGTH = 1_000, 5_000
_LINE = re.compile(
    r"^\s+at (?P<async>async )?(?:(?P<function>.+?) \()?(?P<where>[^()\s][^()]*?)"
    r":(?P<line>\d+):(?P<column>\d+)\)?$"
)


#: V8's names of a function without a name, and of the body of a module
_UNNAMED = (ANONYMOUS, "Object.<anonymous>", "eval")


async def read_stack(
    stack: str, scripts: Scripts, calls: Sequence[Mapping[str, Any]] = ()
) -> list[StackLine]:
    """Return the lines of an error's stack, innermost first, mapped to their sources.

    *calls* are the frames in which it was thrown. They show whether the program has mapped the
    stack itself, as test runners do; where they are unrelated to it, that is guessed.
    """
    found = []
    matches = [
        match
        for text in stack.splitlines()[-_MAX_LINES:]
        if len(text) < _MAX_LINE_LENGTH and (match := _LINE.match(text))
    ]
    paths = {path_of(match["where"]) or match["where"] for match in matches}
    await scripts.read_maps(script for path in paths for script in scripts.at_path(path)[-1:])
    is_mapped = _is_of_sources(matches, scripts, calls)
    if is_mapped is None:
        is_mapped = _is_mapped(matches, scripts)
    for match in matches:
        url, line, column = match["where"], int(match["line"]), int(match["column"])
        path = path_of(url) or url
        library = url.startswith("node:") or is_library(path)
        function = (match["function"] or ANONYMOUS).removeprefix("new ").partition(" [as ")[0]
        if function in _UNNAMED:
            location = (path, line - 1, column - 1)
            function = ANONYMOUS
            if not library and await is_in_module(location, scripts, is_source=is_mapped):
                function = MODULE
        for script in [] if is_mapped else scripts.at_path(path)[-1:]:
            at = {"scriptId": script.id, "lineNumber": line - 1, "columnNumber": column - 1}
            library = library or scripts.is_added(script, at)
            position = scripts.position(at)
            path, line, column = position.path or path, position.line, position.column
        function = f"async {function}" if match["async"] else function
        found.append(StackLine(function, path, line, column, library))
    return found


def _is_of_sources(
    matches: Sequence[re.Match[str]], scripts: Scripts, calls: Sequence[Mapping[str, Any]]
) -> bool | None:
    """Return whether a stack has positions in sources, judging by the frames that it lists.

    None where that is unclear. The innermost position may differ: an error is created before it is
    thrown.
    """
    in_scripts, in_sources = set(), set()
    for call in calls:
        location = call["location"]
        script = scripts.get(str(location["scriptId"]))
        if script is None or script.library or script.internal:
            continue
        in_scripts.add((int(location["lineNumber"]) + 1, int(location.get("columnNumber", 0)) + 1))
        in_sources.add(scripts.position(location).line)
    user_positions = [
        (int(match["line"]), int(match["column"]))
        for match in matches
        if not match["async"]
        and not match["where"].startswith("node:")
        and not is_library(path_of(match["where"]) or match["where"])
    ]
    outer = user_positions[1:] or user_positions
    if not outer or not in_scripts:
        return None
    if all(each in in_scripts for each in outer):
        return False
    return True if all(line in in_sources for line, _ in outer) else None


def _is_mapped(matches: Sequence[re.Match[str]], scripts: Scripts) -> bool:
    """Return whether the program has mapped the stack itself, as test runners do.

    Only a script with its source's name is ambiguous: its positions are those of the source if not
    all of them can be positions of the script.
    """
    from_source, in_script = [], []
    for match in matches:
        line, column = int(match["line"]) - 1, int(match["column"]) - 1
        path = path_of(match["where"]) or match["where"]
        for script in scripts.at_path(path)[-1:]:
            found = scripts.map_of(script)
            if found is None:
                continue
            for source, real_path in zip(found.sources, found.real_sources, strict=True):
                if real_path == real(path):
                    from_source.append(found.comes_from(source, line, column))
                    in_script.append(found.begins(line, column))
    return bool(from_source) and all(from_source) and not all(in_script)


def info(
    description: Sequence[object], lines: Sequence[StackLine], mode: str | None, text_of: LineText
) -> ExceptionInfo:
    """Return the description of an exception from the agent's answer."""
    type_, message, stack, causes = description
    return ExceptionInfo(
        str(type_),
        str(message),
        traceback=tuple(
            TracebackLine(each.path, each.line, each.function, text_of(each), each.library)
            for each in reversed(lines)
        ),
        raw_traceback="" if lines else str(stack),
        causes=tuple(str(cause) for cause in causes) if isinstance(causes, list) else (),
        mode=mode,
    )


class LineText:
    """The text of a line of a file, each file read once."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def __call__(self, line: StackLine) -> str:
        if line.library:
            return ""
        if line.path not in self._files:
            try:
                self._files[line.path] = files.read_text(line.path).split("\n")
            except OSError:
                self._files[line.path] = []
        lines = self._files[line.path]
        return lines[line.line - 1].strip() if 0 < line.line <= len(lines) else ""
