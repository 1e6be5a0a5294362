"""A Backend over a DAP connection. Differences between adapters are in `adapters/`."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from freezeframe.backends.backend import (
    BoundBreakpoint,
    BreakpointRequest,
    Configuration,
    EventSink,
    Feature,
    HitBreakpoints,
    RawFrame,
    RawScope,
    RawValue,
    StepKind,
    Target,
    ToolInfo,
    alternative,
)
from freezeframe.backends.debugger import Found
from freezeframe.backends.snapshots import Snapshot
from freezeframe.config import Config
from freezeframe.errors import DebuggerError, DebuggerLost, EvaluationFailed, Unsupported
from freezeframe.model.answers import Instruction
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Thread

from . import memory, translate
from .adapters._descriptor import Adapter
from .debuggee import Debuggee
from .jumps import force_return, jump
from .messages import ErrorResponse
from .optimized import OptimizedVariables
from .snapshots import snapshot
from .variables import part, set_member
from .watchpoints import Watch, address_of, again_anywhere

log = logging.getLogger(__name__)

_STEPS = {StepKind.OVER: "next", StepKind.INTO: "stepIn", StepKind.OUT: "stepOut"}


class DapBackend:
    """One debug adapter debugging one process. See `backends.backend.Backend`.

    A debugger that needs code of its own has a subclass in its package (`Adapter.backend`).
    """

    debuggee_class: type[Debuggee] = Debuggee

    def __init__(
        self, adapter: Adapter, found: Found, config: Config, debuggee: Debuggee | None = None
    ) -> None:
        self._adapter = adapter
        self._found = found
        self._config = config
        self._debuggee = debuggee or self.debuggee_class(adapter, found, config)
        self._frame_locations: dict[int, tuple[str, int, str]] = {}
        #: what a function returns is read before a step out of it
        self._reads_returns = True
        #: program counter of the thread whose frames were read last
        self._pc: str | None = None
        #: the thread whose frames were read last, and its innermost frames
        self._stack: tuple[int, Sequence[RawFrame]] = (0, ())
        #: first thread of the last `threads` answer
        self._first_thread: int | None = None
        self._optimized = OptimizedVariables()

    # --- identity and capabilities

    @property
    def tool(self) -> ToolInfo:
        name, version, debuggee = self._adapter.name, self._found.version, self._debuggee
        return ToolInfo(name, version, "dap", debuggee.command, debuggee.interpreter)

    @property
    def unfollowed(self) -> tuple[str, ...]:
        return self._debuggee.termination.unfollowed

    @property
    def features(self) -> frozenset[Feature]:
        return self._debuggee.channel.features

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        return self._debuggee.breakpoints.offered()

    @property
    def advertised(self) -> Mapping[str, object]:
        return dict(self._debuggee.channel.capabilities)

    def unsupported_hint(self, feature: Feature) -> str:
        return alternative(feature, self._adapter.hints)

    # --- lifecycle

    async def start(
        self, target: Target, configuration: Configuration, sink: EventSink
    ) -> Sequence[BoundBreakpoint]:
        return await self._debuggee.start(target, configuration, sink, self._make_child)

    def _make_child(self, debuggee: Debuggee) -> DapBackend:
        return type(self)(self._adapter, self._found, self._config, debuggee)

    async def terminate(self) -> None:
        await self._debuggee.termination.terminate()

    async def detach(self) -> None:
        await self._debuggee.termination.detach()

    async def dispose(self) -> None:
        await self._debuggee.termination.dispose()

    @property
    def has_detached_output(self) -> bool:
        return self._debuggee.termination.has_detached_output

    def drain(self) -> None:
        self._debuggee.drain()

    # --- breakpoints

    async def set_breakpoints(
        self, path: str, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        return await self._debuggee.breakpoints.set_lines(path, requests)

    async def set_function_breakpoints(
        self, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        return await self._debuggee.breakpoints.set_functions(requests)

    async def set_address_breakpoints(
        self, requests: Sequence[BreakpointRequest]
    ) -> Sequence[BoundBreakpoint]:
        return await self._debuggee.breakpoints.set_addresses(requests)

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        await self._debuggee.breakpoints.set_filters(filters)

    async def hit_breakpoints(self, breakpoints: Sequence[int]) -> HitBreakpoints:
        adapter = self._adapter
        if adapter.breakpoints.hit_query is None or not self._debuggee.breakpoints.conditional(
            breakpoints
        ):
            failures = self._debuggee.stops.failures
            return HitBreakpoints(
                tuple(breakpoints), {id: why for id, why in failures.items() if id in breakpoints}
            )
        answer = await self.evaluate(adapter.breakpoints.hit_query(breakpoints), None)
        return adapter.breakpoints.read_passed(answer.text, breakpoints)

    def check_condition(self, expression: str) -> str | None:
        return self._adapter.breakpoints.check_condition(expression)

    def check_log(self, message: str) -> str | None:
        return self._adapter.breakpoints.check_log(message)

    # --- execution

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        if not only and self._debuggee.stops.report_next():
            return
        await self._forget_steps()
        thread = await self._thread(thread)
        if only:
            await self._resume_only(thread)
        else:
            await self._resuming("continue", {"threadId": thread})

    async def _resume_only(self, thread: int) -> None:
        await self._resuming("continue", {"threadId": thread, "singleThread": True})

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        arguments: dict[str, Any] = {"threadId": thread}
        if instruction:
            arguments["granularity"] = "instruction"
        self._debuggee.stops.check_step()
        if not self._debuggee.stops.report_next():
            # All threads run during a step out.
            single_thread = thread if kind is not StepKind.OUT else None
            await self._forget_steps()
            if kind is StepKind.OUT and self._reads_returns:
                await self._debuggee.returns.expect(thread)
            self._debuggee.stops.stepping = True
            await self._resuming(_STEPS[kind], arguments, single_thread)

    def read_returns(self, *, on: bool) -> None:
        self._reads_returns = on

    async def _forget_steps(self) -> None:
        """Forget steps that another stop interrupted."""
        self._debuggee.stops.stepping = False

    async def _resuming(
        self, command: str, arguments: dict[str, Any], single_thread: int | None = None
    ) -> None:
        self._invalidate_frames(single_thread)
        try:
            await self._request(command, arguments)
        except DebuggerLost:
            # The program ended before its debugger could answer (os._exit under debugpy 1.8.22).
            # An event reports how it ended, as for every exit.
            log.info("%s was not answered: the connection ended", command)

    def _invalidate_frames(self, single_thread: int | None) -> None:
        """Note that the program resumes: frame ids become invalid, and some adapters reuse them."""
        self._frame_locations.clear()
        self._debuggee.stops.resuming(single_thread)

    async def pause(self, thread: int | None) -> None:
        async with self._debuggee.brief_halt.turn:
            await self._debuggee.brief_halt.prepare()
            with self._debuggee.stops.request_pause():
                await self._request("pause", {"threadId": await self._thread(thread)})

    async def jump(self, thread: int, path: str, line: int) -> None:
        await jump(self._debuggee, thread, path, line)

    async def force_return(self, thread: int, value: str | None) -> None:
        self._frame_locations.clear()
        await force_return(self._debuggee, thread, value)

    async def restart_frame(self, frame: int) -> None:
        await self._resuming("restartFrame", {"frameId": frame})

    async def _thread(self, thread: int | None) -> int:
        if thread is not None:
            return thread
        try:
            threads = await self.threads()
        except ErrorResponse:
            # lldb-dap 22 lists the threads of a running program only before its first stop.
            first = self._debuggee.thread if self._first_thread is None else self._first_thread
            if first is None:
                raise
            return first
        if not threads:
            raise DebuggerError("the debugger has no threads.", code="no-thread")
        return threads[0].id

    # --- inspection

    async def threads(self) -> Sequence[Thread]:
        threads = [translate.thread(each, self._adapter) for each in await self._thread_bodies()]
        if threads:
            self._first_thread = threads[0].id
        return threads

    async def _thread_bodies(self) -> Sequence[Mapping[str, Any]]:
        return (await self._request("threads")).get("threads") or ()

    async def snapshot(self, *, stacks: bool = True, waits: bool = False) -> Snapshot | None:
        channel, pid = self._debuggee.channel, self._debuggee.pid
        return await snapshot(channel, pid, stacks=stacks, waits=waits)

    def halt_briefly(self) -> AbstractAsyncContextManager[bool | None]:
        return self._debuggee.brief_halt.hold()

    async def _request_frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[Mapping[str, Any]], int | None]:
        arguments = {"threadId": thread, "startFrame": start, "levels": count}
        body = await self._request("stackTrace", arguments)
        return body.get("stackFrames") or (), body.get("totalFrames")

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        bodies, total = await self._request_frames(thread, start, count)
        if self._adapter.frames.guesses_depth:
            total = start + len(bodies) if len(bodies) < count else None
        read = [self._read_frame(frame) for frame in bodies]
        frames = await self._optimized.mark(
            self._debuggee.channel, self._debuggee.target, thread, read, start
        )
        if frames and start == 0:
            self._pc = frames[0].address
            self._stack = (thread, frames)
        for frame in frames:
            if frame.path is not None and frame.line is not None:
                self._frame_locations[frame.id] = (frame.path, frame.line, frame.function)
        return frames, total

    def _read_frame(self, body: Mapping[str, Any]) -> RawFrame:
        debuggee = self._debuggee
        return translate.frame(body, self._adapter, debuggee.target, debuggee.modules)

    async def scopes(self, frame: int) -> Sequence[RawScope]:
        body = await self._request("scopes", {"frameId": frame})
        scopes = [translate.scope(scope) for scope in body.get("scopes") or ()]
        thread, frames = self._stack
        if frames and frames[0].id == frame:
            self._debuggee.returns.found_scopes(thread, scopes)
        await self._optimized.found_scopes(frame, scopes)
        return scopes

    async def children(
        self, ref: int, *, start: int = 0, count: int | None = None
    ) -> Sequence[RawValue]:
        shown = await part(self._debuggee.channel, ref, start, count)
        values = self._optimized.children(ref, self._read_variables(shown))
        returned = self._debuggee.returns.within(ref)
        return [*(each for each in values if not (each.returned and returned)), *returned]

    def _read_variables(self, variables: Sequence[Mapping[str, Any]]) -> Sequence[RawValue]:
        return [translate.value(each, self._adapter) for each in variables]

    async def evaluate(
        self, expression: str, frame: int | None, *, statement: bool = False
    ) -> RawValue:
        adapter = self._adapter
        context = self._context(expression, statement=statement)
        arguments: dict[str, Any] = {"expression": self._written(expression), "context": context}
        if frame is not None:
            arguments["frameId"] = frame
        try:
            body = await self._evaluated(arguments, slow=statement)
        except ErrorResponse as error:
            raise EvaluationFailed(adapter.expressions.brief_error(error.message)) from None
        return await self._optimized.result(frame, translate.value(body, adapter, expression))

    def _context(self, code: str, *, statement: bool) -> str:
        """Return the context of the request that evaluates *code*."""
        expressions = self._adapter.expressions
        return expressions.statement_context if statement else expressions.context

    def _written(self, expression: str) -> str:
        """Return an expression of the program's language as the debugger's evaluator expects it."""
        return expression

    async def _evaluated(self, arguments: dict[str, Any], *, slow: bool) -> dict[str, Any]:
        if (other := await self._debuggee.channel.reread(arguments)) is not None:
            arguments["expression"] = other
        try:
            return await self._value_request("evaluate", arguments, slow=slow)
        except ErrorResponse as error:
            retry = await self._rewritten(arguments, error.message)
            if retry is None:
                raise
        return await self._value_request("evaluate", {**arguments, "expression": retry}, slow=True)

    async def _rewritten(self, arguments: Mapping[str, Any], error: str) -> str | None:
        """Return another expression for the value of a refused one; None: there is none."""
        return await self._debuggee.channel.resolve(arguments)

    async def _lvalue(self, expression: str, frame: int | None) -> str:
        """Return an expression of the debugger for the memory of a value."""
        return expression

    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        adapter = self._adapter
        assignment = adapter.expressions.assignment
        if assignment is not None:
            await self.evaluate(assignment(target, value), frame, statement=True)
        elif not self._debuggee.channel.capabilities.get("supportsSetExpression"):
            await set_member(self._debuggee.channel, target, value, frame)
        else:
            arguments: dict[str, Any] = {"expression": target, "value": value}
            if frame is not None:
                arguments["frameId"] = frame
            try:
                await self._request("setExpression", arguments)
            except ErrorResponse as error:
                raise EvaluationFailed(adapter.expressions.brief_error(error.message)) from None
        await self._optimized.assigned(f"{target} = {value}", frame)
        return await self.evaluate(target, frame)

    async def evaluate_hex(
        self, expression: str, frame: int | None
    ) -> tuple[RawValue, Sequence[RawValue]] | None:
        if not self._debuggee.channel.capabilities.get("supportsValueFormattingOptions"):
            return None
        adapter, format = self._adapter, {"hex": True}
        arguments: dict[str, Any] = {
            "expression": expression,
            "context": adapter.expressions.context,
            "format": format,
        }
        if frame is not None:
            arguments["frameId"] = frame
        try:
            body = await self._value_request("evaluate", arguments)
            value = translate.value(body, adapter, expression)
            if not value.ref:
                return value, ()
            shown = await part(self._debuggee.channel, value.ref, 0, None, format=format)
        except ErrorResponse as error:
            raise EvaluationFailed(adapter.expressions.brief_error(error.message)) from None
        return value, [translate.value(v, adapter) for v in shown]

    async def argument_names(self, frame: int) -> Sequence[str] | None:
        location = self._frame_locations.get(frame)
        return None if location is None else self._adapter.frames.argument_names(*location)

    def slice_expression(self, expression: str, start: int, end: int) -> str | None:
        hook = self._adapter.expressions.slice
        return None if hook is None else hook(expression, start, end)

    async def exception(self, thread: int) -> ExceptionInfo | None:
        stops = self._debuggee.stops
        if stops.exception is not None or not stops.may_have_exception_info:
            return stops.exception
        body = stops.exception_fields
        if self._debuggee.channel.capabilities.get("supportsExceptionInfoRequest"):
            # delve refuses for a fatal error of no goroutine: a deadlock.
            with contextlib.suppress(ErrorResponse):
                body = await self._value_request("exceptionInfo", {"threadId": thread})
        return translate.exception(body, self._adapter) if body else None

    async def source(self, reference: int, path: str | None) -> str:
        source: dict[str, Any] = {"sourceReference": reference}
        if path is not None:
            source["path"] = path
        body = await self._request("source", {"source": source, "sourceReference": reference})
        return str(body.get("content", ""))

    # --- program input

    async def write_stdin(self, data: bytes) -> None:
        await self._debuggee.stdin().write(data)

    async def close_stdin(self) -> None:
        self._debuggee.stdin().end()

    # --- low level

    async def read_memory(self, address: str, count: int) -> tuple[str, bytes, int]:
        return await memory.read_memory(self._debuggee.channel, address, count)

    async def write_memory(self, address: str, data: bytes) -> int:
        return await memory.write_memory(self._debuggee.channel, address, data)

    async def disassemble(self, address: str, count: int, offset: int = 0) -> Sequence[Instruction]:
        return await memory.disassemble(self._debuggee.channel, address, count, offset, self._pc)

    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint:
        adapter, channel = self._adapter, self._debuggee.channel
        value = await self.evaluate(expression, frame)
        lvalue = await self._lvalue(expression, frame)
        how: dict[str, Any] = {"name": lvalue}
        how |= {"frameId": frame} if frame is not None else {}
        again = address = None
        if adapter.breakpoints.watch_by_address:
            how["name"] = f"&({lvalue})"
            # For a pointer some adapters send the address that it holds (codelldb 1.11).
            address = await address_of(channel, lvalue, frame) or value.address
            if address is None:
                raise DebuggerError(f"{expression} has no address, so it cannot be watched.")
            if channel.capabilities.get("supportsDataBreakpointBytes"):
                size = await self.evaluate(f"sizeof({lvalue})", frame)
                how = {"name": address, "asAddress": True, "bytes": int(size.text, 0)}
            again = adapter.breakpoints.value_at(value.type or "", address)
        elif frame is not None:
            again = await again_anywhere(channel, value, frame)
        shown = None if value.opaque else value.text
        watch = Watch(expression, {"accessType": access}, again, shown)
        bound = await self._debuggee.watches.add(watch, how, condition)
        if address is not None:
            await self._scope(bound.id, address)
        return bound

    async def _scope(self, watch: int, address: str) -> None:
        """Make a watchpoint on a local variable end when its function returns."""
        thread, stack = self._stack
        back = await self._debuggee.watches.returns_to(watch, address, thread, stack)
        if back is not None:
            condition = f"$sp >= {back[1]:#x}"  # the stack has shrunk to there
            await self._debuggee.breakpoints.set_scope(watch, back[0], condition)

    async def unwatch(self, id: int) -> None:
        await self._debuggee.watches.remove(id)
        await self._debuggee.breakpoints.forget_scope(id)

    async def save_core(self, path: str) -> None:
        if self._adapter.raw.save_core is None:
            raise Unsupported(f"{self.tool} has no {Feature.SAVE_CORE.value}.")
        await self.raw(self._adapter.raw.save_core(path), None)

    async def raw(self, command: str, frame: int | None) -> str:
        return await memory.command(self._debuggee.channel, command, frame)

    # --- requests

    async def _request(
        self, command: str, arguments: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        return await self._debuggee.channel.request(command, arguments)

    async def _value_request(
        self, command: str, arguments: dict[str, Any], *, slow: bool = False
    ) -> dict[str, Any]:
        return await self._debuggee.channel.value_request(command, arguments, slow=slow)
