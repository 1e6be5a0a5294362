"""The conversation with one debugger: asking in a frame, one command at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from freezeframe.backends.console.queue import Console, Late
from freezeframe.config import Timeouts
from freezeframe.errors import DebuggerError, DebuggerTimeout

from .dialect import Said
from .spelling import Ask, At, Spelling

T = TypeVar("T")

#: after an interrupt, what takes too long has this long to come back
_GRACE_S = 2.0


class Talk:
    """Asks, and reads what is answered.

    *overhear* is given every answer that came while the program ran: it may tell of a stop.
    """

    def __init__(
        self,
        console: Console[str, Said],
        spelling: Spelling,
        timeouts: Timeouts,
        interrupt: Callable[[], None],
        overhear: Callable[[str], None],
    ) -> None:
        self.console = console
        self._spelling = spelling
        self._timeouts = timeouts
        self._interrupt = interrupt
        self._overhear = overhear
        #: the frame that commands speak of
        self._selected: At | None = None

    def stopped(self, thread: int) -> None:
        """The debugger speaks of the innermost frame of a thread that has stopped."""
        self._selected = At(thread, 0)

    def unsettled(self) -> None:
        """A command of the user's own may have chosen another frame."""
        self._selected = None

    async def tell(self, command: str, *, timeout_s: float | None = None) -> str:
        """Send a command; return what the debugger says to it."""
        text = await self.console.ask(command, timeout_s=timeout_s)
        self._overhear(text)
        return text

    async def ask(self, asked: Ask[T], at: At | None = None, *, slow: bool = True) -> T:
        """Return what the answer says. In a frame, with *at*.

        It may run the program's own code, which may never end: past its time, that of a value
        unless it is *slow*, it is interrupted. Raises DebuggerTimeout, and what the reader raises.
        """
        if at is not None:
            await self.speak_of(at)
        for command in asked.before:
            await self.tell(command)
        limit_s = self._timeouts.request_s if slow else self._timeouts.value_s
        try:
            text = await self.console.ask(
                asked.command, timeout_s=limit_s, rescue=self._interrupt, grace_s=_GRACE_S
            )
        except Late as late:
            # Some of it may have come to its end all the same: a variable among many.
            try:
                return asked.read(str(late.answer))
            except DebuggerError:
                raise DebuggerTimeout(
                    f"it took longer than {limit_s:g} s and was interrupted.", next="dbg locals"
                ) from None
        self._overhear(text)
        following = asked.then(text) if asked.then is not None else None
        return asked.read(text) if following is None else await self.ask(following, slow=slow)

    async def speak_of(self, at: At) -> None:
        """Make a frame the one that commands speak of."""
        if at == self._selected:
            return
        for command in self._spelling.select(at, self._selected or At(at.thread, 0)):
            await self.tell(command)
        self._selected = at
