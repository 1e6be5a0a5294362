"""The part of a command set about execution time: steps smaller than a line, reverse execution.

A debugger goes back by running the program again from a checkpoint, so what the program prints
meanwhile was printed before: it is not reported twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from freezeframe.backends.backend import StepKind
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import Exit, StopReason

if TYPE_CHECKING:
    from .command_set import CommandSet, ConsoleQuery, StopInfo

#: events of one line that a step back passes before it gives up
_MOST = 2000


class ReverseCommands:
    """The part of a `CommandSet` about execution time. Override what the debugger can do."""

    #: its steps are smaller than lines: they are repeated until line or frame changes
    small_steps: ClassVar[bool] = False
    #: the program prints errors when the debugger goes away, which are not its own output
    discard_output_on_kill: ClassVar[bool] = False
    #: it forks checkpoints of the running program, so the program is paused before it is killed
    forks_checkpoints: ClassVar[bool] = False
    #: the time of the first stop, if the debugger counts events (`StopInfo.time`)
    beginning: int | None = None

    def step_back(self, kind: StepKind | None, thread: int) -> str | None:
        """Return the command that steps back; without a kind, that continues backwards."""
        return None

    def go_to(self, time: int) -> str:
        """Return the command that goes to an earlier or later recorded time."""
        raise NotImplementedError

    def depth(self, thread: int) -> ConsoleQuery[int] | None:
        """Query the number of frames; None: the caller counts them."""
        return None

    def reports_loss(self, text: str) -> bool:
        """Whether unsolicited output reports that the program is gone."""
        return False

    def read_loss(self, stderr: str) -> Exit:
        """Return how a lost program ended, from the end of its standard error."""
        return Exit()

    def goes_back(self, command: str) -> bool:
        """Whether a command goes back in execution time."""
        return False

    def study(self, text: str) -> Sequence[str]:
        """Return the commands whose answers `read_stop` needs appended to *text*."""
        return ()

    def answers_on_stderr(self, command: str) -> bool:
        """Whether the debugger writes the answer to that command to its standard error."""
        return False


@dataclass(frozen=True, slots=True)
class ReverseStep:
    """One step or continue backwards from a stop."""

    command_set: CommandSet
    #: sends a command; returns the stop that follows, None if it was refused
    move: Callable[[str], Awaitable[StopInfo | None]]
    depth: Callable[[], Awaitable[int]]
    #: whether a breakpoint stops the program there
    stops_at: Callable[[StopInfo], Awaitable[bool]]

    async def back(self, kind: StepKind | None, thread: int) -> StopInfo:
        """Go back. Raises DebuggerError with the debugger's message if it refuses."""
        command = self._command(kind, thread)
        halt = await self._move(command)
        if kind is None:
            while not self._is_beginning(halt) and not await self.stops_at(halt):
                halt = await self._move(command)
        if self._is_beginning(halt):
            return await self._to_beginning()
        if kind in (StepKind.OVER, StepKind.INTO) and self.command_set.small_steps:
            halt = await self._to_line_start(halt, thread)
        if halt.exit is not None:
            return halt
        description = "back" if halt.time is None else f"back at time {halt.time}"
        # The location was requested, whatever else the debugger reports about it.
        return replace(
            halt, reason=None if kind is None else StopReason.STEP, description=description
        )

    def _command(self, kind: StepKind | None, thread: int) -> str:
        command = self.command_set.step_back(kind, thread)
        assert command is not None
        return command

    async def _move(self, command: str) -> StopInfo:
        halt = await self.move(command)
        if halt is None:
            raise DebuggerError(f"`{command}` reported no stop.")
        return halt

    def _is_beginning(self, halt: StopInfo) -> bool:
        first = self.command_set.beginning
        return first is not None and halt.time is not None and halt.time <= first

    async def _to_beginning(self) -> StopInfo:
        assert self.command_set.beginning is not None
        halt = await self._move(self.command_set.go_to(self.command_set.beginning))
        description = "the beginning of the program"
        return replace(halt, reason=StopReason.ENTRY, description=description)

    async def _to_line_start(self, halt: StopInfo, thread: int) -> StopInfo:
        """Go back further, to the start of the line that the program is stopped in."""
        depth = await self.depth()
        command = self._command(StepKind.OVER, thread)
        first = now = halt
        for _ in range(_MOST):
            try:
                now = await self._move(command)
            except DebuggerError:
                break
            same = (now.path, now.line, now.function) == (halt.path, halt.line, halt.function)
            if self._is_beginning(now) or not same or await self.depth() != depth:
                break
            first = now
        if now is first or first.time is None:
            return first
        return await self._move(self.command_set.go_to(first.time))
