"""Return values, for an adapter that does not report them after `stepOut`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from freezeframe.backends.backend import RawScope, RawValue, Stopped
from freezeframe.model.values import ScopeKind

if TYPE_CHECKING:
    from .debuggee import Debuggee


class ReturnValues:
    """The return values of the function that one thread steps out of.

    Here nothing is read. A debugger's subclass sets `_thread` in `expect`, and `_returned` in
    `on_stop`.
    """

    def __init__(self, debuggee: Debuggee) -> None:
        self._debuggee = debuggee
        self._thread: int | None = None
        #: the thread that has just stepped out, and the returned value
        self._returned: tuple[int | None, RawValue] | None = None
        #: the scope of variables that the returned value is shown with
        self._scope: int | None = None

    async def expect(self, thread: int) -> None:
        """Prepare to read what the innermost function of *thread* returns."""

    @property
    def expected(self) -> bool:
        return self._thread is not None

    async def on_stop(self, stopped: Stopped) -> bool:
        """Handle a stop. Return whether it is only at an internal return breakpoint."""
        return False

    def resumed(self) -> None:
        """Forget the returned value, since the program runs."""
        self._returned = self._scope = None

    def found_scopes(self, thread: int | None, scopes: Sequence[RawScope]) -> None:
        """Note the scopes of the innermost frame of a thread."""
        if self._returned is not None and self._returned[0] == thread:
            local = [scope.ref for scope in scopes if scope.kind is ScopeKind.LOCALS]
            self._scope = local[0] if local else None

    def within(self, scope: int) -> list[RawValue]:
        """Return the returned value for the scope that it is shown in."""
        if self._returned is None or self._scope != scope:
            return []
        return [self._returned[1]]
