"""What a function returned, for an adapter that steps out of functions without saying so.

Theory of operation. Before `stepOut` is sent, breakpoints of our own are set at the return
instructions of the function, with a condition that holds in the frame to be finished alone: not in
deeper calls of a recursive function, not in other threads, not in a neighbouring function that the
disassembly reached into. At a stop there the results are read, the breakpoints are removed and
`stepOut` is sent again: the stop has cancelled the first one. Any other stop ends the attempt.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from freezeframe.backends.backend import RawScope, RawValue, Stopped
from freezeframe.errors import DebuggerError
from freezeframe.model.places import Location
from freezeframe.model.stops import StopReason
from freezeframe.model.values import ScopeKind

from . import translate
from .study import evaluated, innermost
from .valuing import ask_value

if TYPE_CHECKING:
    from .link import Link

log = logging.getLogger(__name__)

#: Instructions of a function that are looked through before and behind the current one.
_INSTRUCTIONS = 1500


class ReturnValues:
    """The results of the function that one thread finishes."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._thread: int | None = None
        #: read at the return instruction; the thread is not back in the caller yet
        self._read: RawValue | None = None
        #: the thread that has just finished a function, and what that returned
        self._returned: tuple[int | None, RawValue] | None = None
        #: the scope of variables that the returned value is shown with
        self._scope: int | None = None

    async def expect(self, thread: int) -> None:
        """Prepare to read what the innermost function of *thread* returns."""
        hooks, wire = self._link.adapter.returns, self._link.wire
        if hooks is None or not wire.capabilities.get("supportsDisassembleRequest"):
            return
        try:
            frame = await innermost(wire, thread)
            if frame is None or await self._results(frame) is None:
                return
            here = await evaluated(wire, hooks.frame, frame["id"])
            addresses = await self._return_instructions(frame) if here is not None else ()
            if not addresses:
                return
            condition = hooks.condition(thread, str(here))
            await self._link.marks.set_returns([Location(address=a) for a in addresses], condition)
        except DebuggerError as error:
            log.info("the returned value cannot be read: %s", error)
            return
        self._thread = thread

    @property
    def expected(self) -> bool:
        return self._thread is not None

    async def passed(self, stopped: Stopped) -> bool:
        """Take a stop in; whether it is at a return instruction only, so that nobody wants it."""
        ours = self._link.marks.is_return(stopped)
        if ours:
            frame = await innermost(self._link.wire, stopped.thread)
            self._read = await self._results(frame) if frame is not None else None
        elif (
            self._read is not None
            and stopped.reason is StopReason.STEP
            and stopped.thread == self._thread
        ):
            self._returned = (stopped.thread, self._read)
        if not ours:
            self._thread = self._read = None
        await self._link.marks.set_returns((), None)
        return ours

    def resumed(self) -> None:
        """Forget what was returned: the program runs on."""
        self._returned = self._scope = None

    def found_scopes(self, thread: int | None, scopes: Sequence[RawScope]) -> None:
        """Learn the scopes of the innermost frame of a thread."""
        if self._returned is not None and self._returned[0] == thread:
            local = [scope.ref for scope in scopes if scope.kind is ScopeKind.LOCALS]
            self._scope = local[0] if local else None

    def within(self, scope: int) -> list[RawValue]:
        """Return what a function returned, for the scope that it is shown with."""
        if self._returned is None or self._scope != scope:
            return []
        return [self._returned[1]]

    async def _results(self, frame: dict[str, Any]) -> RawValue | None:
        """Return the results of a frame as one value; None for a function without any."""
        hooks, wire = self._link.adapter.returns, self._link.wire
        assert hooks is not None
        path, line = (frame.get("source") or {}).get("path"), frame.get("line")
        body = await wire.request("scopes", {"frameId": frame["id"]})
        variables = [
            variable
            for scope in body.get("scopes") or ()
            if translate.scope(scope).kind in (ScopeKind.LOCALS, ScopeKind.ARGUMENTS)
            for variable in await self._variables(int(scope["variablesReference"]))
        ]
        names = [str(variable.get("name")) for variable in variables]
        wanted = hooks.results(names, str(path), int(line or 0), str(frame.get("name")))
        values = [
            translate.value(variable, self._link.adapter)
            for name in wanted
            for variable in variables
            if variable.get("name") == name
        ]
        if not values:
            return None
        kinds = [value.type or "?" for value in values]
        text = ", ".join(value.text for value in values)
        return RawValue("returned", text, ", ".join(kinds), returned=True)

    async def _variables(self, scope: int) -> list[dict[str, Any]]:
        body = await ask_value(self._link.wire, "variables", {"variablesReference": scope})
        return list(body.get("variables") or ())

    async def _return_instructions(self, frame: dict[str, Any]) -> list[int]:
        """Return the addresses of the instructions that return from a frame's function."""
        hooks, here = self._link.adapter.returns, frame.get("instructionPointerReference")
        assert hooks is not None
        if here is None:
            return []
        body = await self._link.wire.request(
            "disassemble",
            {
                "memoryReference": here,
                "instructionOffset": -_INSTRUCTIONS,
                "instructionCount": 2 * _INSTRUCTIONS,
            },
        )
        found: list[int] = []
        for each in body.get("instructions") or ():
            if each.get("presentationHint") == "invalid":
                continue
            address, text = int(each["address"], 0), str(each.get("instruction"))
            if hooks.is_padding(text):
                if address > int(here, 0):
                    break
                found.clear()
            elif hooks.is_return(text):
                found.append(address)
        return found
