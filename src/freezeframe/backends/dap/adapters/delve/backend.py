"""A session with delve: one goroutine reported per stop, interrupted steps, served programs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import Attach, Launch, RawFrame, RawScope, Stopped, Target
from freezeframe.backends.dap.backend import DapBackend
from freezeframe.backends.dap.brief_pause import BriefHalt
from freezeframe.backends.dap.debuggee import Debuggee
from freezeframe.backends.dap.messages import ErrorResponse
from freezeframe.backends.dap.stop_events import StopHandler
from freezeframe.backends.dap.termination import DISCONNECT_S, Termination
from freezeframe.backends.native import go_flags
from freezeframe.errors import DebuggerError, EvaluationFailed
from freezeframe.model.stops import StopReason

from . import frames
from .return_values import DelveReturns
from .simultaneous import unreported

#: an interface in memory that every Go program has
_INTERFACE = "runtime.divideError"


def is_optimized(program: str) -> bool:
    flags = go_flags(program)
    return flags is not None and "-N" not in flags


def is_served(target: Target) -> bool:
    """Return whether the program belongs to a `dlv --headless` server."""
    return isinstance(target, Attach) and target.port is not None


class DelveStops(StopHandler):
    """Stops of delve, which reports one of the goroutines that stop at the same time.

    A stop of another goroutine interrupts a step; delve continues that step when the program
    resumes, and accepts no other before.
    """

    #: a stop of another goroutine has interrupted a step
    _interrupted = False
    #: an interrupted step has continued
    _step_resumed = False

    def __init__(self, debuggee: Debuggee) -> None:
        super().__init__(debuggee)
        #: addresses at which a thread stopped at a breakpoint
        self._addresses: set[str] = set()

    def _handle(self, stopped: Stopped, watch: int | None, *, first: bool) -> None:
        self._step_resumed = False
        super()._handle(stopped, watch, first=first)

    async def _finish_function(self, stopped: Stopped, watch: int | None, *, first: bool) -> None:
        if not await self._debuggee.returns.on_stop(stopped):
            self._queue(stopped, watch, first=first)
            return
        for each in await self.unreported(stopped):
            self.queue.add(each, None, first=True)
        if not self.queue.any:
            await self._debuggee.channel.request("stepOut", {"threadId": stopped.thread})

    def _queue(self, stopped: Stopped, watch: int | None, *, first: bool) -> None:
        if stopped.reason is StopReason.BREAKPOINT:
            self._debuggee.spawn_task(self._with_unreported(stopped, watch))
        else:
            self.queue.add(stopped, watch, first=first)

    async def _with_unreported(self, stopped: Stopped, watch: int | None) -> None:
        others = await self.unreported(stopped)
        if others and stopped.description is None:
            count = "another thread is" if len(others) == 1 else f"{len(others)} more threads are"
            stopped = replace(stopped, description=f"{count} at a breakpoint too")
        self.queue.add(stopped, watch, first=True)
        for each in others:
            self.queue.add(each, None, first=False)

    async def unreported(self, stopped: Stopped) -> list[Stopped]:
        return await unreported(self._debuggee, stopped, self._addresses)

    def on_output(self, text: str) -> None:
        if text.startswith("Step interrupted by a breakpoint"):
            self._interrupted = True

    def check_step(self) -> None:
        if self._interrupted:
            raise DebuggerError(
                "this stop came in the middle of another thread's step, which goes on first.",
                code="step-unfinished",
                next="dbg continue",
            )

    @property
    def in_step(self) -> bool:
        return self._step_resumed or super().in_step

    def resuming(self, thread: int | None) -> None:
        self._step_resumed = self._interrupted
        super().resuming(thread)

    def resumed(self) -> None:
        super().resumed()
        self._interrupted = False


class DelveBriefHalt(BriefHalt):
    _prepared = False

    async def prepare(self) -> None:
        # 1.27.2 never answers a pause of a program that is linked with C and was attached to,
        # until breakpoints were set while it ran.
        debuggee = self._debuggee
        attached = isinstance(debuggee.target, Attach) and not is_served(debuggee.target)
        if self._prepared or not attached:
            return
        self._prepared = True
        configured = debuggee.breakpoints.configuration.breakpoints
        functions = [each for each in configured if each.location.function]
        await debuggee.breakpoints.set_functions(functions)


class DelveTermination(Termination):
    async def _before_exit_status(self) -> None:
        # delve says how the program ended when it is disconnected.
        if self._exit is None:
            with contextlib.suppress(DebuggerError):
                await self._disconnect(terminate=True)

    async def _before_detach(self) -> None:
        # A server keeps the program halted, with its breakpoints, for the next client.
        debuggee = self._debuggee
        if is_served(debuggee.target):
            with contextlib.suppress(DebuggerError):
                await debuggee.breakpoints.clear()
                # delve refuses this if the program runs already.
                await debuggee.channel.request("continue", {"threadId": 0}, timeout_s=DISCONNECT_S)


class DelveDebuggee(Debuggee):
    stops_class = DelveStops
    returns_class = DelveReturns
    brief_halt_class = DelveBriefHalt
    termination_class = DelveTermination

    @property
    def can_detach(self) -> bool:
        # delve kills the program that it launched when it detaches.
        return not isinstance(self.target, Launch)


class DelveBackend(DapBackend):
    debuggee_class = DelveDebuggee
    #: whether the program was built with optimisation; None: not looked at yet
    _is_optimized: bool | None = None

    def _read_frame(self, body: Mapping[str, Any]) -> RawFrame:
        if self._is_optimized is None:
            target = self._debuggee.target
            running = f"/proc/{target.pid}/exe" if isinstance(target, Attach) else None
            self._is_optimized = is_optimized(target.program or running or "")
        frame = super()._read_frame(body)
        return replace(frame, optimized=self._is_optimized and not frame.library)

    async def read_globals(self, *, on: bool) -> None:
        # delve 1.27 needs 50 ms and more for the globals of a package, at every stop.
        for setting in ("showGlobalVariables", "showRegisters"):
            await self.raw(f"config {setting} {str(on).lower()}", None)

    async def scopes(self, frame: int) -> Sequence[RawScope]:
        # delve needs the runtime's table of types for an interface, once per stop. It reads it
        # through the memory of the first interface that it meets: where that is an argument in
        # registers, nothing else can be read there, and the value is "unreadable".
        query = {"expression": _INTERFACE, "context": "watch", "frameId": frame}
        with contextlib.suppress(DebuggerError):
            await self._value_request("evaluate", query)
        return await super().scopes(frame)

    async def _thread_bodies(self) -> Sequence[Mapping[str, Any]]:
        return [{**each, "id": frames.thread_id(each)} for each in await super()._thread_bodies()]

    async def _evaluated(self, arguments: dict[str, Any], *, slow: bool) -> dict[str, Any]:
        try:
            return await super()._evaluated(arguments, slow=slow)
        except ErrorResponse as error:
            # delve calls functions of the program only with that keyword.
            if "without using 'call'" not in error.message:
                raise
        call = {**arguments, "expression": f"call {arguments['expression']}"}
        body = await self._value_request("evaluate", call, slow=True)
        await self._check_panic(body)
        return body

    async def _check_panic(self, body: Mapping[str, Any]) -> None:
        """Raise EvaluationFailed for the answer of a call that panicked."""
        reference = body.get("variablesReference")
        if not reference:
            return
        parts = await self._request("variables", {"variablesReference": reference})
        for each in parts.get("variables") or ():
            if each.get("name") == "~panic":
                brief = self._adapter.expressions.brief_error
                raise EvaluationFailed(brief(f"it failed: {each.get('value')}"))
