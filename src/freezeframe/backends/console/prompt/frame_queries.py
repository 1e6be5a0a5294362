"""Queries to one debugger in the context of a frame, one command at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from freezeframe.backends.console.command_channel import CommandChannel, LateReply
from freezeframe.config import Timeouts
from freezeframe.errors import DebuggerError, DebuggerTimeout

from .codec import UnsolicitedText
from .command_set import CommandSet, ConsoleQuery, FrameRef

T = TypeVar("T")

#: how long a command that was interrupted may take to return
_GRACE_S = 2.0


class FrameQueries:
    """Send commands and queries, and parse the answers.

    *on_answer* gets every answer: one that came while the program ran may report a stop.
    """

    def __init__(
        self,
        console: CommandChannel[str, UnsolicitedText],
        command_set: CommandSet,
        timeouts: Timeouts,
        interrupt: Callable[[], None],
        on_answer: Callable[[str], None],
    ) -> None:
        self.console = console
        self._command_set = command_set
        self._timeouts = timeouts
        self._interrupt = interrupt
        self._on_answer = on_answer
        #: the frame that is selected in the debugger; None: unknown
        self._selected: FrameRef | None = None

    def on_stopped(self, thread: int) -> None:
        """Record that the debugger has selected the innermost frame of a stopped thread."""
        self._selected = FrameRef(thread, 0)

    def forget_selection(self) -> None:
        """Forget the selected frame: a raw command may have selected another."""
        self._selected = None

    async def send(self, command: str, *, timeout_s: float | None = None) -> str:
        """Send a command and return the debugger's answer."""
        text = await self.console.request(command, timeout_s=timeout_s)
        self._on_answer(text)
        return text

    async def run(
        self, query: ConsoleQuery[T], at: FrameRef | None = None, *, slow: bool = True
    ) -> T:
        """Return the parsed answer of a query, in the frame *at* if given.

        A query may run code of the program, which may never return: it is interrupted at its time
        limit (that of a value, unless *slow*). Raises DebuggerTimeout, and what the parser raises.
        """
        if at is not None:
            await self.select(at)
        for command in query.before:
            await self.send(command)
        limit_s = self._timeouts.request_s if slow else self._timeouts.value_s
        try:
            text = await self.console.request(
                query.command, timeout_s=limit_s, rescue=self._interrupt, grace_s=_GRACE_S
            )
        except LateReply as late:
            # The answer may still be usable: one variable of many was interrupted.
            try:
                return query.read(str(late.answer))
            except DebuggerError:
                raise DebuggerTimeout(
                    f"it took longer than {limit_s:g} s and was interrupted.", next="dbg locals"
                ) from None
        self._on_answer(text)
        following = query.then(text) if query.then is not None else None
        return query.read(text) if following is None else await self.run(following, slow=slow)

    async def select(self, at: FrameRef) -> None:
        """Select a frame in the debugger."""
        if at == self._selected:
            return
        for command in self._command_set.select(at, self._selected or FrameRef(at.thread, 0)):
            await self.send(command)
        self._selected = at
