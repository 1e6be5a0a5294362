"""Where breakpoints on functions are hit.

Xdebug stops at the next statement that runs after a call. For a generator that is a statement of
the caller, because its body does not run yet, and later one of the generator's each time it
resumes. Only the entry of the function counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from . import dbgp


class FunctionBreakpoints:
    """The functions with breakpoints, by Xdebug's numbers."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        #: the lines that the functions begin on, once they were reached
        self._entries: dict[str, str | None] = {}

    def add(self, number: str, function: str) -> None:
        self._names[number] = function

    def commands(self, text: str) -> Sequence[str]:
        """Return the commands whose answers `is_entry` needs after the text of a stop."""
        found = dbgp.responses(text)
        hit = dbgp.child(found[0], "breakpoint") if len(found) == 1 else None
        return ("stack_get",) if hit is not None and hit.get("id") in self._names else ()

    def is_entry(self, number: str, answers: Sequence[Element]) -> bool:
        """Whether a hit is at the entry of the breakpoint's function, by the stack."""
        frames = [each for answer in answers for each in dbgp.children(answer, "stack")]
        if number not in self._names or not frames:
            return True
        line = frames[0].get("lineno")
        if _method(frames[0].get("where") or "") != _method(self._names[number]):
            return False
        return self._entries.setdefault(number, line) == line


def _method(function: str) -> str:
    """Return a function's name without class and namespace; PHP ignores its case."""
    return function.replace("->", "::").rpartition("::")[2].rpartition("\\")[2].lower()
