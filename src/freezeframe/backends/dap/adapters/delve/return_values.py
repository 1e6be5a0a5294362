"""Return values, read at the return instruction: delve reports none after a step out.

Theory of operation. Before `stepOut` is sent, internal breakpoints are set at the return
instructions of the function, with a condition that holds only in the frame to be finished: not in
deeper calls of a recursive function, not in other threads, not in a neighbouring function that the
disassembly reached into. At a stop there the results are read, the breakpoints are removed and
`stepOut` is sent again: the stop has cancelled the first one. Any other stop ends the attempt.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from freezeframe.backends.backend import RawValue, Stopped
from freezeframe.backends.dap import translate
from freezeframe.backends.dap.return_values import ReturnValues
from freezeframe.backends.dap.stop_queries import evaluate_text, innermost
from freezeframe.errors import DebuggerError
from freezeframe.model.locations import Location
from freezeframe.model.stops import StopReason
from freezeframe.model.values import ScopeKind

from .frames import result_names

if TYPE_CHECKING:
    from freezeframe.backends.dap.debuggee import Debuggee

log = logging.getLogger(__name__)

#: Instructions that are searched before and after the current one; more take longer to decode.
_INSTRUCTIONS = (150, 1500)
#: An expression that differs between frames of the same function.
_FRAME = "runtime.frameoff"


class DelveReturns(ReturnValues):
    #: read at the return instruction; the thread is not back in the caller yet
    _read: RawValue | None = None

    def __init__(self, debuggee: Debuggee) -> None:
        super().__init__(debuggee)
        #: by function: the addresses of its return instructions, which take long to find
        self._returns: dict[str, list[int]] = {}

    async def expect(self, thread: int) -> None:
        channel = self._debuggee.channel
        if not channel.capabilities.get("supportsDisassembleRequest"):
            return
        try:
            frame = await innermost(channel, thread)
            if frame is None or await self._results(frame) is None:
                return
            here = await evaluate_text(channel, _FRAME, frame["id"])
            addresses = await self._return_instructions(frame) if here is not None else ()
            if not addresses:
                return
            condition = f"runtime.curg.goid == {thread} && {_FRAME} == {here}"
            await self._debuggee.breakpoints.set_returns(
                [Location(address=a) for a in addresses], condition
            )
        except DebuggerError as error:
            log.info("the returned value cannot be read: %s", error)
            return
        self._thread = thread

    async def on_stop(self, stopped: Stopped) -> bool:
        internal = self._debuggee.breakpoints.is_return(stopped)
        if internal:
            frame = await innermost(self._debuggee.channel, stopped.thread)
            self._read = await self._results(frame) if frame is not None else None
        elif (
            self._read is not None
            and stopped.reason in (StopReason.STEP, StopReason.BREAKPOINT)
            and stopped.thread == self._thread
        ):
            self._returned = (stopped.thread, self._read)
        if not internal:
            self._thread = self._read = None
        await self._debuggee.breakpoints.set_returns((), None)
        return internal

    async def _results(self, frame: dict[str, Any]) -> RawValue | None:
        """Return the results of a frame as one value; None for a function without any."""
        path, line = (frame.get("source") or {}).get("path"), frame.get("line")
        body = await self._debuggee.channel.request("scopes", {"frameId": frame["id"]})
        variables = [
            variable
            for scope in body.get("scopes") or ()
            if translate.scope(scope).kind in (ScopeKind.LOCALS, ScopeKind.ARGUMENTS)
            for variable in await self._variables(int(scope["variablesReference"]))
        ]
        names = [str(variable.get("name")) for variable in variables]
        results = result_names(names, str(path), int(line or 0), str(frame.get("name")))
        values = [
            translate.value(variable, self._debuggee.adapter)
            for name in results
            for variable in variables
            if variable.get("name") == name
        ]
        if not values:
            return None
        kinds = [value.type or "?" for value in values]
        text = ", ".join(value.text for value in values)
        return RawValue("returned", text, ", ".join(kinds), returned=True)

    async def _variables(self, scope: int) -> list[dict[str, Any]]:
        body = await self._debuggee.channel.value_request(
            "variables", {"variablesReference": scope}
        )
        return list(body.get("variables") or ())

    async def _return_instructions(self, frame: dict[str, Any]) -> list[int]:
        """Return the addresses of the instructions that return from a frame's function."""
        here = frame.get("instructionPointerReference")
        if here is None:
            return []
        function = str(frame.get("name"))
        if function in self._returns:
            return self._returns[function]
        found: list[int] = []
        for most in _INSTRUCTIONS:
            found, is_whole = await self._searched(here, most)
            if is_whole:
                # Instances of a generic function have one name.
                if "[" not in function:
                    self._returns[function] = found
                break
        return found

    async def _searched(self, here: str, most: int) -> tuple[list[int], bool]:
        """Return the return instructions around *here*, and whether they are the function's all."""
        body = await self._debuggee.channel.request(
            "disassemble",
            {"memoryReference": here, "instructionOffset": -most, "instructionCount": 2 * most},
        )
        found: list[int] = []
        gaps: set[bool] = set()
        for each in body.get("instructions") or ():
            if each.get("presentationHint") == "invalid":
                continue
            address, text = int(each["address"], 0), str(each.get("instruction"))
            if text.startswith("INT "):  # the gap between two functions
                gaps |= {address > int(here, 0)}
                if address > int(here, 0):
                    break
                found.clear()
            elif text == "RET":
                found.append(address)
        return found, len(gaps) == 2
