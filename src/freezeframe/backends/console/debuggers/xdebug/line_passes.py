"""Which stop of Xdebug begins a line, and which continues one.

Xdebug stops at every statement of a line, each part of `echo 1, 2;` too, and hits the line's
breakpoints at each of them. The first one is a hit; the others are passed by steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from freezeframe.backends.php.statements import statements_on

from . import dbgp
from .inspection import location_of


@dataclass(frozen=True, slots=True)
class LineStatement:
    """A statement of a line, and the depth of its frame."""

    path: str | None = None
    line: int | None = None
    depth: int | None = None
    #: from 1
    number: int = 1

    @property
    def is_last(self) -> bool:
        return self.number >= statements_on(self.path, self.line)

    @property
    def location(self) -> tuple[str | None, int | None, int | None]:
        return self.path, self.line, self.depth

    @property
    def following(self) -> LineStatement:
        return LineStatement(*self.location, self.number + 1)


class LinePasses:
    """The statement that the program is stopped at, and those of its callers."""

    def __init__(self) -> None:
        self._current = LineStatement()
        #: statements that a breakpoint in a called function has interrupted, innermost last
        self._interrupted: list[LineStatement] = []
        #: our own step over the rest of a line is under way
        self._passing = False
        #: the depth of such a step that a breakpoint has interrupted: Xdebug still ends it later
        self._left_over: int | None = None
        #: every exception stops the program, reported or not: no line is left unseen
        self.sees_exceptions = False

    def commands(self, text: str) -> Sequence[str]:
        """Return the commands whose answers `continues` needs after the text of a stop."""
        found = dbgp.responses(text)
        message = dbgp.child(found[0], "message") if len(found) == 1 else None
        if message is None or found[0].get("status") != "break":
            return ()
        several = statements_on(*location_of(message)) > 1 or not self._current.is_last
        is_needed = several or self._interrupted or self._left_over is not None
        return ("stack_depth",) if is_needed else ()

    def resume(self) -> str:
        """Return the command that resumes the program."""
        self._passing = not self._current.is_last
        if self._passing:
            self._left_over = None  # Xdebug has one step at a time
        return "step_over" if self._passing else "run"

    def step(self) -> None:
        """Note that the user steps."""
        self._passing, self._left_over = False, None

    def ends_pass(self, at: LineStatement, is_interrupted: bool) -> bool:
        """Return whether the stop ends a step of `resume`, and has no other reason."""
        passing, self._passing = self._passing, False
        if is_interrupted:
            self._left_over = self._current.depth if passing else self._left_over
            return False
        left, depth = self._left_over, at.depth
        if not passing and left is not None and depth is not None and depth <= left:
            passing, self._left_over = True, None
        return passing

    def continues(self, at: LineStatement, is_hit: bool) -> bool:
        """Note a stop; return whether it is at a later statement of a line that was begun."""
        is_same = at.location == self._current.location and not self._current.is_last
        if is_same and (not is_hit or at.depth is not None):
            self._current = self._current.following
            return True
        if at.depth is not None:
            if not self._current.is_last and (self._current.depth or 0) < at.depth:
                self._interrupted.append(self._current)
            while self._interrupted and (self._interrupted[-1].depth or 0) >= at.depth:
                left = self._interrupted.pop()
                if left.location == at.location and self.sees_exceptions:
                    self._current = left.following
                    return True
        self._current = at
        return False

    def forget(self, *, all: bool = False) -> None:
        """Note that the function of the line returns; *all*: an exception may leave its callers."""
        self._current = LineStatement()
        if all:
            self._interrupted.clear()


def depth_in(answers: Sequence[Element]) -> int | None:
    """Return the depth of the stack, from the answers that follow a stop."""
    for each in answers:
        if each.get("depth"):
            return int(each.get("depth") or 0)
        if frames := dbgp.children(each, "stack"):
            return len(frames)
    return None
