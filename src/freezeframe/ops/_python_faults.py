"""What Python's fault handler prints: the frames of a program that a fatal signal ends."""

from __future__ import annotations

import re
from collections.abc import Callable

from freezeframe.model.testing import Failure, FailureFrame

_FATAL = re.compile(r"Fatal Python error: (?P<what>.+)")
_FATAL_FRAME = re.compile(r'\s*File "(?P<path>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')


def fatal_error(text: str, is_user: Callable[[str], bool]) -> Failure | None:
    """Return the fatal error that Python's fault handler reported, with its frames."""
    found = _FATAL.search(text)
    if found is None:
        return None
    frames = []
    stack = text[found.end() :].partition("Current thread ")[2].partition("\n")[2]
    for line in stack.splitlines():
        frame = _FATAL_FRAME.match(line)
        if frame is None:
            break
        if is_user(frame["path"]) and "/lib/python" not in frame["path"]:
            number = int(frame["line"])
            frames.append(FailureFrame(0, frame["function"], frame["path"], number))
    return Failure(None, "Fatal Python error", found["what"], tuple(reversed(frames)))
