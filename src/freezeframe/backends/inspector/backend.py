"""A Backend over V8's inspector: what a session asks, for every thread of a program."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NoReturn

from freezeframe.backends.backend import (
    Backend,
    BoundBreakpoint,
    Feature,
    Launch,
    Passed,
    RawFrame,
    RawScope,
    RawValue,
    StepKind,
    ToolInfo,
    WantedBreakpoint,
)
from freezeframe.backends.transport.feeder import Feeder
from freezeframe.backends.unwinding import refused_restart
from freezeframe.errors import (
    DebuggerLost,
    EvaluationFailed,
    NotFound,
    NotRunning,
    Stale,
    Unsupported,
    UsageError,
)
from freezeframe.model.answers import Instruction
from freezeframe.model.stops import DEFAULT_FILTERS, ExceptionFilter, ExceptionInfo, Thread

from . import conditions, frames, names
from .agent import Caller
from .exceptions import FILTERS
from .glancing import glance
from .isolate import Isolate
from .life import Life
from .protocol import LOCATION, fits
from .values import GROUP
from .wire import Refused

_FEATURES = frozenset(
    {
        Feature.FUNCTION_BREAKPOINTS,
        Feature.CONDITIONS,
        Feature.HIT_COUNTS,
        Feature.LOGPOINTS,
        Feature.EXCEPTIONS,
        Feature.EXCEPTION_TYPES,
        Feature.SET,
        Feature.RAW,
        Feature.PAUSE,
        Feature.DETACH,
        Feature.RESTART_FRAME,
    }
)
_HINTS = {
    Feature.WATCHPOINTS: "dbg break FILE:LINE -c 'EXPR !== OLD'",
    Feature.JUMP: "dbg until FILE:LINE",
    Feature.RESTART: "dbg restart",
    Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
    Feature.MEMORY_READ: "dbg print 'BUFFER.subarray(0, 64)'",
    Feature.MEMORY_WRITE: "dbg set 'BUFFER[0]' 0",
    Feature.REGISTERS: "dbg locals",
    Feature.DISASSEMBLE: "dbg source",
    Feature.INSTRUCTION_STEP: "dbg step",
    Feature.STEP_BACK: "dbg restart",
    Feature.SINGLE_THREAD: "dbg continue",
    Feature.SAVE_CORE: "dbg eval \"require('v8').writeHeapSnapshot()\"",
}
#: how long another thread may take to stand still before it is said to run
_STANDS_S = 0.3


_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$]*")


class InspectorBackend(Life):
    """One program under its inspector. See `backends.backend.Backend`."""

    # --- who it is

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
        return _FEATURES | ({Feature.STDIN} if self._writes_input else set())

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        return FILTERS

    @property
    def advertised(self) -> Mapping[str, object]:
        return {}

    def unsupported_hint(self, feature: Feature) -> str | None:
        return _HINTS.get(feature)

    def make_child(self, call: Caller) -> Backend:
        return InspectorBackend(self.runtime, self.found, self.config, parent=self, call=call)

    def _refuse(self, what: str, feature: Feature) -> NoReturn:
        raise Unsupported(f"{self.tool} {what}.", next=_HINTS.get(feature) or "dbg tool")

    # --- breakpoints

    async def set_breakpoints(
        self, path: str, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        self._lines[path] = list(wanted)
        for isolate in list(self.isolates.values()):
            await self.change(isolate, isolate.marks.set_lines(path, wanted))
        return [self._joined(want) for want in wanted]

    async def set_function_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        self._functions = list(wanted)
        for isolate in list(self.isolates.values()):
            await self.change(isolate, self._set_functions(isolate, wanted))
        return [self._joined(want) for want in wanted]

    async def _set_functions(self, isolate: Isolate, wanted: Sequence[WantedBreakpoint]) -> None:
        await isolate.marks.set_functions(wanted)
        for want in wanted:
            if not isolate.marks.bound(want).verified:
                await self._by_value(isolate, want)

    async def _by_value(self, isolate: Isolate, want: WantedBreakpoint) -> None:
        """Find a function by what its name means where the program stands."""
        call = isolate.stack.calls[0] if isolate.stack and isolate.stack.calls else None
        if call is None or want.location.function is None or isolate.marks.bound(want).rejected:
            return
        try:
            answer = await isolate.ask(
                "Debugger.evaluateOnCallFrame",
                callFrameId=call["callFrameId"],
                expression=want.location.function,
                objectGroup=GROUP,
                silent=True,
                throwOnSideEffect=True,
            )
            remote = answer.get("result") or {}
            if "exceptionDetails" in answer or not fits(remote, {"type": str, "objectId": str}):
                return
            if remote["type"] != "function":
                return
            told = await isolate.ask(
                "Runtime.getProperties", objectId=remote["objectId"], ownProperties=True
            )
        except Refused:
            return
        for each in told.get("internalProperties") or ():
            location: Any = (each.get("value") or {}).get("value")
            if each["name"] == "[[FunctionLocation]]" and fits(location, LOCATION):
                await isolate.marks.add_location(want, location)

    async def set_address_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        message = f"{self.runtime.name} has no {Feature.ADDRESS_BREAKPOINTS.value}"
        return [BoundBreakpoint(w.id, False, message=message, rejected=True) for w in wanted]

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        chosen = [each for each in filters if each != DEFAULT_FILTERS]
        if DEFAULT_FILTERS in filters:
            named = {each.name for each in chosen}
            chosen += [each for each in FILTERS if each.default and each.name not in named]
        self._filters = chosen
        self.motion.thrown.filters = {each.name: each for each in chosen}
        for isolate in list(self.isolates.values()):
            await self.change(isolate, isolate.set_filters(chosen))

    async def passed(self, breakpoints: Sequence[int]) -> Passed:
        standing = self.motion.standing
        failures = standing.failures if standing is not None else {}
        return Passed(
            tuple(breakpoints), {id: why for id, why in failures.items() if id in breakpoints}
        )

    def check_condition(self, expression: str, path: str | None) -> str | None:
        return None  # V8 itself is asked when it is set

    def check_log(self, message: str, path: str | None) -> str | None:
        try:
            conditions.pieces(message)
        except ValueError as error:
            return str(error)
        return None

    # --- execution

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        self._alive()
        await self.motion.resume()

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        self._alive()
        if instruction:
            self._refuse("steps by statements", Feature.INSTRUCTION_STEP)
        await self.motion.step(kind, self._thread(thread))

    async def pause(self, thread: int | None) -> None:
        self._alive()
        await self.motion.pause()

    async def jump(self, thread: int, path: str, line: int) -> None:
        self._refuse("cannot go on elsewhere", Feature.JUMP)

    async def restart_frame(self, thread: int, frame: int) -> None:
        self._alive()
        isolate, call = self._frame(frame)
        if call is None or not call.get("canBeRestarted"):
            raise refused_restart("it awaits or yields, or code of the runtime lies between")
        await self.motion.restart_frame(isolate, str(call["callFrameId"]))

    def _alive(self) -> None:
        if self.ended:
            raise DebuggerLost("the program has ended.", next="dbg restart")

    def _thread(self, id: int) -> Isolate:
        for isolate in self.isolates.values():
            if isolate.id == id:
                return isolate
        raise NotFound(f"there is no thread {id}.", next="dbg threads")

    # --- seeing

    async def threads(self) -> Sequence[Thread]:
        return [
            Thread(each.id, each.name, "stopped" if each.stack is not None else "running")
            for each in self.isolates.values()
        ]

    def halt_briefly(self) -> AbstractAsyncContextManager[bool]:
        return glance(self.motion, self.isolates)

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        isolate = self._thread(thread)
        if isolate.stack is None and isolate is not self.motion.standing:
            await isolate.stands(_STANDS_S)
        if isolate.stack is None:
            return [], 0
        found = frames.raw_frames(isolate.stack, isolate.scripts)
        return found[start : start + count], len(found)

    def _frame(self, id: int | None) -> tuple[Isolate, dict[str, Any] | None]:
        """Return whose frame it is, and its call; no call where it has no variables."""
        if id is None:
            return self.motion.standing or self.main, None
        for isolate in self.isolates.values():
            if isolate.stack is not None and id in isolate.stack.ids:
                return isolate, isolate.stack.call(id)
        raise Stale("that frame belongs to an earlier stop.", next="dbg backtrace")

    async def scopes(self, frame: int) -> Sequence[RawScope]:
        isolate, call = self._frame(frame)
        if call is None:
            return []
        known = await names.of_frame(call, isolate.scripts)
        return frames.raw_scopes(call, isolate.values, known)

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
        # Braces first are a block to the language; what is asked for is a value.
        known = await names.of_frame(call, isolate.scripts) if call is not None else {}
        code = names.minify(expression, known)
        code = f"({code})" if code.lstrip().startswith("{") else code
        limit_s = self.config.timeouts.request_s if statement else None
        options: dict[str, Any] = {
            "expression": code,
            "objectGroup": GROUP,
            "includeCommandLineAPI": True,
            "silent": True,
        }
        try:
            if call is None or "callFrameId" not in call:
                answer = await isolate.ask("Runtime.evaluate", timeout_s=limit_s, **options)
            else:
                answer = await isolate.ask(
                    "Debugger.evaluateOnCallFrame",
                    timeout_s=limit_s,
                    callFrameId=call["callFrameId"],
                    **options,
                )
        except Refused as error:
            raise EvaluationFailed(error.message) from None
        return await isolate.values.evaluated(expression, answer)

    async def in_hex(
        self, expression: str, frame: int | None
    ) -> tuple[RawValue, Sequence[RawValue]] | None:
        code = (
            "(v=>(typeof v==='bigint'||Number.isInteger(v))&&v>=0?'0x'+v.toString(16):null)"
            f"(\n{expression}\n)"
        )
        told = await self.evaluate(code, frame)
        if told.type != "string":
            return None
        return RawValue(expression, told.text.strip("'"), "number"), ()

    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        if _NAME.fullmatch(target.strip()):
            # In code that is not strict any name would be made a global variable.
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
        known = await names.of_frame(call, isolate.scripts)
        return [known.get(name, name) for name in found] if found is not None else None

    def slice_expression(self, expression: str, start: int, end: int) -> str | None:
        return None

    async def exception(self, thread: int) -> ExceptionInfo | None:
        return self.motion.thrown.infos.get(self._thread(thread))

    async def source(self, reference: int, path: str | None) -> str:
        for isolate in self.isolates.values():
            text = await isolate.scripts.held(reference)
            if text is not None:
                return text
        raise NotFound(f"no script {path or reference} is loaded.", next="dbg backtrace")

    # --- program input

    @property
    def _writes_input(self) -> bool:
        return self.ground is not None and self.ground.stdin is not None

    def _stdin(self) -> Feeder:
        feeder = self.ground.stdin if self.ground is not None else None
        if feeder is None:
            if isinstance(self.target, Launch) and self.target.stdin is not None:
                raise NotRunning(f"the program reads its input from {self.target.stdin}.")
            raise Unsupported("the program's input is not ours to write.", next="dbg tool")
        return feeder

    async def write_stdin(self, data: bytes) -> None:
        await self._stdin().write(data)

    async def close_stdin(self) -> None:
        self._stdin().end()

    # --- machine level: there is none

    async def read_memory(self, address: str, count: int) -> tuple[str, bytes, int]:
        self._refuse("shows no memory", Feature.MEMORY_READ)

    async def write_memory(self, address: str, data: bytes) -> int:
        self._refuse("writes no memory", Feature.MEMORY_WRITE)

    async def disassemble(self, address: str, count: int, offset: int = 0) -> Sequence[Instruction]:
        self._refuse("shows no machine code", Feature.DISASSEMBLE)

    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint:
        self._refuse("has no watchpoints", Feature.WATCHPOINTS)

    async def unwatch(self, id: int) -> None:
        self._refuse("has no watchpoints", Feature.WATCHPOINTS)

    async def save_core(self, path: str) -> None:
        self._refuse("writes no core files", Feature.SAVE_CORE)

    # --- the protocol itself

    async def raw(self, command: str, frame: int | None) -> str:
        """Make a call of the protocol's: `Runtime.getHeapUsage`, `Domain.method {"json": 1}`."""
        method, _, rest = command.strip().partition(" ")
        try:
            params = json.loads(rest) if rest.strip() else {}
        except ValueError as error:
            raise UsageError(
                f"what stands behind {method} is no JSON: {error}.",
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
            answer = await isolate.ask(method, **params)
        except Refused as error:
            raise Refused(error.message, next="dbg raw Runtime.getHeapUsage") from None
        return json.dumps(answer, indent=2, ensure_ascii=False)


_check: type[Backend] = InspectorBackend
