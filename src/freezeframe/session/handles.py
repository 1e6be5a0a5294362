"""Frame and value handles that carry the number of their stop.

The debugger's own ids become invalid when the program resumes, and may then be reused for something
else. A handle of an earlier stop is refused, so it never reads wrong data.
"""

from __future__ import annotations

from freezeframe.errors import NotFound, Stale
from freezeframe.model import late_regex

_HANDLE = late_regex.compile(r"([fv])(\d+)\.(\d+)")


class Handles:
    """The handles of one stop."""

    def __init__(self, stop: int) -> None:
        self.stop = stop
        self._frames: list[int] = []
        self._values: list[int] = []

    def frame(self, index: int, id: int) -> str:
        """Return the handle of the frame at *index*; indexes come in order."""
        while len(self._frames) <= index:
            self._frames.append(-1)
        self._frames[index] = id
        return f"f{self.stop}.{index}"

    def value(self, ref: int) -> str | None:
        """Return a handle for the debugger's reference; None for 0, a value without children."""
        if not ref:
            return None
        self._values.append(ref)
        return f"v{self.stop}.{len(self._values)}"

    def resolve(self, handle: str) -> int:
        """Return the debugger's id behind *handle*. Raises Stale or NotFound."""
        match = _HANDLE.fullmatch(handle)
        if match is None:
            raise NotFound(f"{handle!r} is not a handle.")
        kind, stop, number = match[1], int(match[2]), int(match[3])
        if stop != self.stop:
            raise Stale(
                f"{handle} belongs to stop {stop}; the program is at stop {self.stop} now.",
                next="dbg context",
            )
        table, index = (self._frames, number) if kind == "f" else (self._values, number - 1)
        if not 0 <= index < len(table):
            raise NotFound(f"stop {stop} has no {handle}.", next="dbg context")
        return table[index]


def is_handle(text: str) -> bool:
    return _HANDLE.fullmatch(text) is not None
