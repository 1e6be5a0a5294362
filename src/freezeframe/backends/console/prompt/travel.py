"""What a debugger's spelling says about time: steps smaller than a line, and the way back.

A debugger goes back by letting the program run again from a point that it has kept, so what the
program prints on the way was printed before: it is not told twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from freezeframe.backends.backend import StepKind
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import Exit, StopReason

if TYPE_CHECKING:
    from .spelling import Ask, Halt, Spelling

#: events of one line that a step back goes through before it gives up
_MOST = 2000


class Travels:
    """The part of a `Spelling` that is about time. Override what the debugger can do."""

    #: its steps are smaller than lines: they are repeated until line or frame are others
    small_steps: ClassVar[bool] = False
    #: the program complains when its debugger lets go of it, in words that are not its own
    ends_noisily: ClassVar[bool] = False
    #: it copies the program while that runs, to go back to: it is held before it is ended
    multiplies: ClassVar[bool] = False
    #: the time of the first stop, of a debugger that counts (`Halt.time`)
    beginning: int | None = None

    def step_back(self, kind: StepKind | None, thread: int) -> str | None:
        """Return the command that undoes a step; without a kind, to the stop before this one."""
        return None

    def go_to(self, time: int) -> str:
        """Return the command that brings the program to a time that it has been at."""
        raise NotImplementedError

    def depth(self, thread: int) -> Ask[int] | None:
        """Ask how many frames there are; None: they are counted."""
        return None

    def tells_loss(self, text: str) -> bool:
        """Whether words that come while the program runs tell that it is gone, unasked."""
        return False

    def read_loss(self, words: str) -> Exit:
        """Return how a program ended that is gone, from the last words on its standard error."""
        return Exit()

    def goes_back(self, command: str) -> bool:
        """Whether a command brings the program to where it has been."""
        return False

    def study(self, text: str) -> Sequence[str]:
        """Return the commands whose answers `read_stop` needs too, behind those words."""
        return ()


@dataclass(frozen=True, slots=True)
class Journey:
    """The way back from one stop: what it takes of a program that stands still."""

    spelling: Spelling
    #: sends a command; returns where the program stands then, None where it was refused
    move: Callable[[str], Awaitable[Halt | None]]
    depth: Callable[[], Awaitable[int]]
    #: whether a breakpoint wants the program to stand there
    wanted: Callable[[Halt], Awaitable[bool]]

    async def back(self, kind: StepKind | None, thread: int) -> Halt:
        """Go back. Raises DebuggerError in the debugger's words where it does not."""
        command = self._command(kind, thread)
        halt = await self._moved(command)
        if kind is None:
            while not self._is_beginning(halt) and not await self.wanted(halt):
                halt = await self._moved(command)
        if self._is_beginning(halt):
            return await self._to_beginning()
        if kind in (StepKind.OVER, StepKind.INTO) and self.spelling.small_steps:
            halt = await self._to_line_start(halt, thread)
        if halt.exit is not None:
            return halt
        words = "back" if halt.time is None else f"back at time {halt.time}"
        # Whatever stands there, it is a place on a way that was asked for.
        return replace(halt, reason=None if kind is None else StopReason.STEP, description=words)

    def _command(self, kind: StepKind | None, thread: int) -> str:
        command = self.spelling.step_back(kind, thread)
        assert command is not None
        return command

    async def _moved(self, command: str) -> Halt:
        halt = await self.move(command)
        if halt is None:
            raise DebuggerError(f"`{command}` led nowhere.")
        return halt

    def _is_beginning(self, halt: Halt) -> bool:
        first = self.spelling.beginning
        return first is not None and halt.time is not None and halt.time <= first

    async def _to_beginning(self) -> Halt:
        assert self.spelling.beginning is not None
        halt = await self._moved(self.spelling.go_to(self.spelling.beginning))
        words = "the beginning of the program"
        return replace(halt, reason=StopReason.ENTRY, description=words)

    async def _to_line_start(self, halt: Halt, thread: int) -> Halt:
        """Go on to where the program came to the line that it stands in."""
        depth = await self.depth()
        command = self._command(StepKind.OVER, thread)
        first = now = halt
        for _ in range(_MOST):
            try:
                now = await self._moved(command)
            except DebuggerError:
                break
            same = (now.path, now.line, now.function) == (halt.path, halt.line, halt.function)
            if self._is_beginning(now) or not same or await self.depth() != depth:
                break
            first = now
        if now is first or first.time is None:
            return first
        return await self._moved(self.spelling.go_to(first.time))
