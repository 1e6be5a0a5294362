"""A Backend over V8's inspector, for every thread of a program."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NoReturn

from freezeframe import files
from freezeframe.backends.backend import (
    Backend,
    BoundBreakpoint,
    BreakpointRequest,
    Feature,
    HitBreakpoints,
    Launch,
    RawFrame,
    RawScope,
    RawValue,
    StepKind,
    ToolInfo,
    alternative,
)
from freezeframe.backends.breakpoint_hits import log_problem
from freezeframe.backends.capabilities import supported
from freezeframe.backends.javascript import pending_promises
from freezeframe.backends.javascript.initialization import guarded
from freezeframe.backends.program_io import writer_of
from freezeframe.backends.snapshots import Snapshot
from freezeframe.backends.transport.fd_writer import StdinWriter
from freezeframe.backends.unwinding import refused_restart
from freezeframe.errors import (
    DebuggerError,
    DebuggerLost,
    EvaluationFailed,
    NotFound,
    Stale,
    Unsupported,
    UsageError,
)
from freezeframe.model.stops import DEFAULT_FILTERS, ExceptionFilter, ExceptionInfo, Thread

from . import (
    breakpoint_conditions,
    frames,
    import_names,
    initialization,
    minified_names,
    unavailable_names,
)
from .agent_sessions import WaitingProcess
from .brief_pause import pause_briefly
from .channel import InspectorRefused
from .error_stacks import FILTERS
from .isolate import Isolate
from .lifecycle import NodeProgram
from .protocol import LOCATION, fits
from .variables import GROUP

#: in addition to those that methods implement
_ALWAYS = frozenset(
    {
        Feature.FUNCTION_BREAKPOINTS,
        Feature.CONDITIONS,
        Feature.HIT_COUNTS,
        Feature.LOGPOINTS,
        Feature.EXCEPTIONS,
        Feature.EXCEPTION_TYPES,
        Feature.PAUSE,
        Feature.DETACH,
    }
)
_HINTS = {
    Feature.JUMP: "dbg until FILE:LINE",
    Feature.MEMORY_READ: "dbg print 'BUFFER.subarray(0, 64)'",
    Feature.MEMORY_WRITE: "dbg set 'BUFFER[0]' 0",
    Feature.SAVE_CORE: "dbg eval \"require('v8').writeHeapSnapshot()\"",
}
#: how long another thread may take to stop before it is reported as running
_STOP_S = 0.3
#: how long a program may take to list its promises
_ANSWER_S = 3.0
_LONGEST_SOURCE = 1_000_000


_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$]*")


class InspectorBackend(NodeProgram):
    """One program under its inspector. See `backends.backend.Backend`."""

    # --- identity

    @property
    def tool(self) -> ToolInfo:
        return ToolInfo(
            self.runtime.name,
            self.found.version,
            "inspector",
            self.command,
            self.command[0] if self.command else self.found.path,
        )

    @property
    def features(self) -> frozenset[Feature]:
        found = _ALWAYS | supported(InspectorBackend)
        return found if self._writes_input else found - {Feature.STDIN}

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        return FILTERS

    @property
    def advertised(self) -> Mapping[str, object]:
        return {}

    def unsupported_hint(self, feature: Feature) -> str:
        return alternative(feature, _HINTS)

    def make_child(self, call: WaitingProcess) -> Backend:
        return InspectorBackend(self.runtime, self.found, self.config, parent=self, call=call)

    def _refuse(self, what: str, feature: Feature) -> NoReturn:
        raise Unsupported(f"{self.tool} {what}.", next=self.unsupported_hint(feature))

    # --- breakpoints

    async def set_breakpoints(
        self, path: str, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        self._lines[path] = list(requests)
        for isolate in list(self.isolates.values()):
            await self.change(isolate, isolate.breakpoints.set_lines(path, requests))
        return [self._bound(request) for request in requests]

    async def set_function_breakpoints(
        self, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        self._functions = list(requests)
        for isolate in list(self.isolates.values()):
            await self.change(isolate, self._set_functions(isolate, requests))
        return [self._bound(request) for request in requests]

    async def _set_functions(self, isolate: Isolate, requests: Sequence[BreakpointRequest]) -> None:
        await isolate.breakpoints.set_functions(requests)
        for request in requests:
            if not isolate.breakpoints.bound(request).verified:
                await self._by_value(isolate, request)

    async def _by_value(self, isolate: Isolate, request: BreakpointRequest) -> None:
        """Find a function by evaluating its name in the current frame."""
        call = isolate.stack.calls[0] if isolate.stack and isolate.stack.calls else None
        if (
            call is None
            or request.location.function is None
            or isolate.breakpoints.bound(request).rejected
        ):
            return
        try:
            answer = await isolate.request(
                "Debugger.evaluateOnCallFrame",
                callFrameId=call["callFrameId"],
                expression=request.location.function,
                objectGroup=GROUP,
                silent=True,
                throwOnSideEffect=True,
            )
            remote = answer.get("result") or {}
            if "exceptionDetails" in answer or not fits(remote, {"type": str, "objectId": str}):
                return
            if remote["type"] != "function":
                return
            result = await isolate.request(
                "Runtime.getProperties", objectId=remote["objectId"], ownProperties=True
            )
        except InspectorRefused:
            return
        for each in result.get("internalProperties") or ():
            location: Any = (each.get("value") or {}).get("value")
            if each["name"] == "[[FunctionLocation]]" and fits(location, LOCATION):
                await isolate.breakpoints.add_location(request, location)

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        selected = [each for each in filters if each != DEFAULT_FILTERS]
        if DEFAULT_FILTERS in filters:
            named = {each.name for each in selected}
            selected += [each for each in FILTERS if each.default and each.name not in named]
        self._filters = selected
        self.execution.exception_stops.filters = {each.name: each for each in selected}
        for isolate in list(self.isolates.values()):
            await self.change(isolate, isolate.set_filters(selected))

    async def hit_breakpoints(self, breakpoints: Sequence[int]) -> HitBreakpoints:
        stopped_isolate = self.execution.stopped_isolate
        failures = stopped_isolate.failures if stopped_isolate is not None else {}
        return HitBreakpoints(
            tuple(breakpoints), {id: why for id, why in failures.items() if id in breakpoints}
        )

    def check_condition(self, expression: str) -> str | None:
        return None  # V8 itself checks it when it is set

    def check_log(self, message: str) -> str | None:
        return log_problem(message, breakpoint_conditions.log_parts)

    # --- execution

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        self._alive()
        await self.execution.resume()

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        self._alive()
        if instruction:
            self._refuse("steps by statements", Feature.INSTRUCTION_STEP)
        await self.execution.step(kind, self._thread(thread))

    async def pause(self, thread: int | None) -> None:
        self._alive()
        await self.execution.pause()

    async def restart_frame(self, frame: int) -> None:
        self._alive()
        isolate, call = self._frame(frame)
        if call is None or not call.get("canBeRestarted"):
            raise refused_restart("it awaits or yields, or runtime code is between")
        await self.execution.restart_frame(isolate, str(call["callFrameId"]))

    def _alive(self) -> None:
        if self.ended:
            raise DebuggerLost("the program has ended.", next="dbg restart")

    def _thread(self, id: int) -> Isolate:
        for isolate in self.isolates.values():
            if isolate.id == id:
                return isolate
        raise NotFound(f"there is no thread {id}.", next="dbg threads")

    # --- inspection

    async def threads(self) -> Sequence[Thread]:
        return [
            Thread(each.id, each.name, "stopped" if each.stack is not None else "running")
            for each in self.isolates.values()
        ]

    async def snapshot(self, *, stacks: bool = True, waits: bool = False) -> Snapshot | None:
        """Return the promises that are pending, of a program that records them."""
        if not waits:
            return None
        try:
            answer = await self.main.request(
                "Runtime.evaluate",
                timeout_s=_ANSWER_S,
                expression=pending_promises.QUERY,
                silent=True,
                returnByValue=True,
            )
        except DebuggerError:
            return None  # it computes, and answers nothing
        text = answer.get("result", {}).get("value") or ""
        found = pending_promises.read(str(text), _line_of)
        return None if found is None else Snapshot(waits=found)

    def halt_briefly(self) -> AbstractAsyncContextManager[bool]:
        return pause_briefly(self.execution, self.isolates)

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        isolate = self._thread(thread)
        if isolate.stack is None and isolate is not self.execution.stopped_isolate:
            await isolate.wait_stopped(_STOP_S)
        if isolate.stack is None:
            return [], 0
        stack = isolate.stack
        await frames.find_modules(stack, isolate.scripts)
        found = frames.raw_frames(stack, isolate.scripts)
        return found[start : start + count], len(found)

    def _frame(self, id: int | None) -> tuple[Isolate, dict[str, Any] | None]:
        """Return the isolate and the call of a frame; no call for a frame without variables."""
        if id is None:
            return self.execution.stopped_isolate or self.main, None
        for isolate in self.isolates.values():
            if isolate.stack is not None and id in isolate.stack.ids:
                return isolate, isolate.stack.call(id)
        raise Stale("that frame belongs to an earlier stop.", next="dbg backtrace")

    async def scopes(self, frame: int) -> Sequence[RawScope]:
        isolate, call = self._frame(frame)
        if call is None:
            return []
        known = await minified_names.of_frame(call, isolate.scripts)
        unset = await initialization.of_frame(call, isolate.scripts)
        return frames.raw_scopes(call, isolate.values, known, unset)

    def _holder(self, ref: int) -> Isolate:
        for isolate in self.isolates.values():
            if isolate.values.has(ref):
                return isolate
        raise Stale("that value belongs to an earlier stop.", next="dbg locals")

    async def children(
        self, ref: int, *, start: int = 0, count: int | None = None
    ) -> Sequence[RawValue]:
        return await self._holder(ref).values.children(ref, start, count)

    async def evaluate(
        self, expression: str, frame: int | None, *, statement: bool = False
    ) -> RawValue:
        isolate, call = self._frame(frame)
        # An expression that begins with a brace would be parsed as a block.
        known = await minified_names.of_frame(call, isolate.scripts) if call is not None else {}
        code = minified_names.minify(expression, known)
        code = f"({code})" if code.lstrip().startswith("{") else code
        if call is not None:
            unset = await initialization.of_frame(call, isolate.scripts)
            code = guarded(code, unset)
        if call is not None and "callFrameId" in call:
            code = await import_names.rewritten(isolate, call, code)
        limit_s = self.config.timeouts.request_s if statement else None
        options: dict[str, Any] = {
            "expression": code,
            "objectGroup": GROUP,
            "includeCommandLineAPI": True,
            "silent": True,
        }
        try:
            if call is None or "callFrameId" not in call:
                answer = await isolate.request("Runtime.evaluate", timeout_s=limit_s, **options)
            else:
                answer = await isolate.request(
                    "Debugger.evaluateOnCallFrame",
                    timeout_s=limit_s,
                    callFrameId=call["callFrameId"],
                    **options,
                )
        except InspectorRefused as error:
            raise EvaluationFailed(error.message) from None
        try:
            return await isolate.values.evaluated(expression, answer)
        except EvaluationFailed as error:
            path = isolate.scripts.position(call["location"]).path if call is not None else None
            raise unavailable_names.explained(error, path) from None

    async def evaluate_hex(
        self, expression: str, frame: int | None
    ) -> tuple[RawValue, Sequence[RawValue]] | None:
        code = (
            "(v=>(typeof v==='bigint'||Number.isInteger(v))&&v>=0?'0x'+v.toString(16):null)"
            f"(\n{expression}\n)"
        )
        result = await self.evaluate(code, frame)
        if result.type != "string":
            return None
        return RawValue(expression, result.text.strip("'"), "number"), ()

    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        if _NAME.fullmatch(target.strip()):
            # Code that is not strict would create a global variable for an unknown name.
            try:
                await self.evaluate(target, frame)
            except EvaluationFailed as error:
                if "is not defined" in error.message:
                    why = f"there is no variable {target.strip()} to assign to."
                    raise EvaluationFailed(why) from None
        await self.evaluate(f"{target} = (\n{value}\n)", frame, statement=True)
        return await self.evaluate(target, frame)

    async def argument_names(self, frame: int) -> Sequence[str] | None:
        isolate, call = self._frame(frame)
        if call is None:
            return None
        found = await frames.argument_names(call, isolate.scripts)
        known = await minified_names.of_frame(call, isolate.scripts)
        return [known.get(name, name) for name in found] if found is not None else None

    async def exception(self, thread: int) -> ExceptionInfo | None:
        return self.execution.exception_stops.infos.get(self._thread(thread))

    async def source(self, reference: int, path: str | None) -> str:
        for isolate in self.isolates.values():
            text = await isolate.scripts.held(reference)
            if text is not None:
                return text
        raise NotFound(f"no script {path or reference} is loaded.", next="dbg backtrace")

    # --- program input

    @property
    def _writes_input(self) -> bool:
        return self.resources is not None and self.resources.io.stdin is not None

    def _stdin(self) -> StdinWriter:
        io = self.resources.io if self.resources is not None else None
        return writer_of(io, self.target.stdin if isinstance(self.target, Launch) else None)

    async def write_stdin(self, data: bytes) -> None:
        await self._stdin().write(data)

    async def close_stdin(self) -> None:
        self._stdin().end()

    # --- the protocol itself

    async def raw(self, command: str, frame: int | None) -> str:
        """Send a request of the protocol: `Runtime.getHeapUsage`, `Domain.method {"json": 1}`."""
        method, _, rest = command.strip().partition(" ")
        try:
            params = json.loads(rest) if rest.strip() else {}
        except ValueError as error:
            raise UsageError(
                f"the text after {method} is not JSON: {error}.",
                next='dbg raw \'Runtime.evaluate {"expression": "1 + 1"}\'',
            ) from None
        if "." not in method or not isinstance(params, dict):
            raise UsageError(
                "`raw` takes a method of the inspector's protocol and its parameters as JSON.",
                next="dbg raw Runtime.getHeapUsage",
            )
        isolate, call = self._frame(frame)
        if method == "Debugger.evaluateOnCallFrame" and call is not None:
            params.setdefault("callFrameId", call.get("callFrameId"))
        try:
            answer = await isolate.request(method, **params)
        except InspectorRefused as error:
            raise InspectorRefused(error.message, next="dbg raw Runtime.getHeapUsage") from None
        return json.dumps(answer, indent=2, ensure_ascii=False)


_check: type[Backend] = InspectorBackend


def _line_of(path: str, line: int) -> str:
    try:
        lines = files.read_head(path, _LONGEST_SOURCE).decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    return lines[line - 1] if 0 < line <= len(lines) else ""
