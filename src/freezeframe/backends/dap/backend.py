"""A Backend over a DAP connection. What differs between adapters stands in their files."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import takewhile
from typing import Any

from freezeframe.backends.backend import (
    BoundBreakpoint,
    Configuration,
    Feature,
    Passed,
    RawFrame,
    RawScope,
    RawValue,
    Sink,
    StepKind,
    Target,
    ToolInfo,
    WantedBreakpoint,
)
from freezeframe.backends.debugger import Found
from freezeframe.backends.snapshots import Snapshot
from freezeframe.config import Config
from freezeframe.errors import (
    DebuggerError,
    DebuggerLost,
    EvaluationFailed,
    Unsupported,
)
from freezeframe.model.answers import Instruction
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Thread

from . import machine, translate
from .adapters._descriptor import Adapter
from .jumps import force_return, jump
from .link import Link
from .messages import Refused
from .optimized import Optimized
from .snapshots import snapshot
from .valuing import ask_value, check_failure, part, set_member
from .watches import Watch, address_of, again_anywhere

log = logging.getLogger(__name__)

_STEPS = {StepKind.OVER: "next", StepKind.INTO: "stepIn", StepKind.OUT: "stepOut"}


class DapBackend:
    """One debug adapter at work on one process. See `backends.backend.Backend`."""

    def __init__(
        self, adapter: Adapter, found: Found, config: Config, link: Link | None = None
    ) -> None:
        self._adapter = adapter
        self._found = found
        self._config = config
        self._link = link or Link(adapter, found, config)
        self._frame_places: dict[int, tuple[str, int, str]] = {}
        #: frames above the program's own that are none, by thread
        self._above: dict[int, int] = {}
        #: where the thread that was looked at last stands
        self._pc: str | None = None
        #: the innermost frames of the thread that was looked at last
        self._stack: tuple[int, Sequence[RawFrame]] = (0, ())
        #: the first of the threads, when they were asked for last
        self._first_thread: int | None = None
        self._optimized = Optimized()

    # --- who it is

    @property
    def tool(self) -> ToolInfo:
        name, version, link = self._adapter.name, self._found.version, self._link
        return ToolInfo(name, version, "dap", link.command, link.interpreter)

    @property
    def unfollowed(self) -> tuple[str, ...]:
        return self._link.ends.unfollowed

    @property
    def features(self) -> frozenset[Feature]:
        return self._link.wire.features

    @property
    def filters(self) -> tuple[ExceptionFilter, ...]:
        return self._link.marks.offered()

    @property
    def advertised(self) -> Mapping[str, object]:
        return dict(self._link.wire.capabilities)

    def unsupported_hint(self, feature: Feature) -> str | None:
        return self._adapter.hints.get(feature)

    # --- life

    async def start(
        self, target: Target, configuration: Configuration, sink: Sink
    ) -> Sequence[BoundBreakpoint]:
        return await self._link.start(target, configuration, sink, self._make_child)

    def _make_child(self, link: Link) -> DapBackend:
        return DapBackend(self._adapter, self._found, self._config, link)

    async def terminate(self) -> None:
        await self._link.ends.terminate()

    async def detach(self) -> None:
        await self._link.ends.detach()

    async def dispose(self) -> None:
        await self._link.ends.dispose()

    @property
    def lingering(self) -> bool:
        return self._link.ends.lingering

    def drain(self) -> None:
        self._link.drain()

    # --- breakpoints

    async def set_breakpoints(
        self, path: str, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        return await self._link.marks.set_lines(path, wanted)

    async def set_function_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        return await self._link.marks.set_functions(wanted)

    async def set_address_breakpoints(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> Sequence[BoundBreakpoint]:
        return await self._link.marks.set_addresses(wanted)

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        await self._link.marks.set_filters(filters)

    async def passed(self, breakpoints: Sequence[int]) -> Passed:
        adapter = self._adapter
        if adapter.breakpoints.ask_passed is None or not self._link.marks.conditional(breakpoints):
            return Passed(tuple(breakpoints))
        answer = await self.evaluate(adapter.breakpoints.ask_passed(breakpoints), None)
        return adapter.breakpoints.read_passed(answer.text, breakpoints)

    def check_condition(self, expression: str, path: str | None) -> str | None:
        return self._adapter.breakpoints.check_condition(expression)

    def check_log(self, message: str, path: str | None) -> str | None:
        return self._adapter.breakpoints.check_log(message)

    # --- execution

    async def resume(self, thread: int | None, *, only: bool = False) -> None:
        if not only and self._link.stops.tell_next():
            return
        await self._forget_steps()
        arguments: dict[str, Any] = {"threadId": await self._thread(thread)}
        if only and self._adapter.raw.resume_only is not None:
            await self._resume_only(arguments["threadId"], *self._adapter.raw.resume_only)
            return
        if only:
            arguments["singleThread"] = True
        await self._resuming("continue", arguments)

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        arguments: dict[str, Any] = {"threadId": thread}
        if instruction:
            arguments["granularity"] = "instruction"
        self._link.stops.check_step()
        if not self._link.stops.tell_next():
            # Out of a function every thread runs.
            alone = thread if kind is not StepKind.OUT else None
            await self._forget_steps()
            if kind is StepKind.OUT:
                await self._link.returns.expect(thread)
            self._link.stops.stepping = True
            await self._resuming(_STEPS[kind], arguments, alone)

    async def _forget_steps(self) -> None:
        stops, command = self._link.stops, self._adapter.raw.forget_steps
        if stops.stepping and command is not None:
            # An LLDB without Python has not learned the command.
            with contextlib.suppress(EvaluationFailed):
                await self.raw(command, None)
        stops.stepping = False

    async def _resuming(
        self, command: str, arguments: dict[str, Any], alone: int | None = None
    ) -> None:
        # Frame ids and references die here, and some adapters use the numbers again.
        self._frame_places.clear()
        self._link.stops.resuming(alone)
        try:
            await self._request(command, arguments)
        except DebuggerLost:
            # The program ran on and ended before its debugger could say so (os._exit under
            # debugpy 1.8.22). How it ended is told by an event, like every end.
            log.info("%s was not answered: the connection ended", command)

    async def _resume_only(
        self, thread: int, threads: str, command: Callable[[str, int], str | None]
    ) -> None:
        words = command(await self.raw(threads, None), thread)
        if words is None:
            raise DebuggerError(f"the debugger names no thread {thread}.", code="no-thread")
        self._frame_places.clear()
        self._link.stops.resuming(thread)
        await self.raw(words, None)

    async def pause(self, thread: int | None) -> None:
        async with self._link.brief_halt.turn:
            await self._link.brief_halt.prepare()
            self._link.stops.pausing = True
            await self._request("pause", {"threadId": await self._thread(thread)})

    async def jump(self, thread: int, path: str, line: int) -> None:
        await jump(self._link, thread, path, line)

    async def force_return(self, thread: int, value: str | None) -> None:
        self._frame_places.clear()
        await force_return(self._link, thread, value)

    async def restart_frame(self, thread: int, frame: int) -> None:
        await self._resuming("restartFrame", {"frameId": frame})

    async def _thread(self, thread: int | None) -> int:
        if thread is not None:
            return thread
        try:
            threads = await self.threads()
        except Refused:
            # lldb-dap 22 names the threads of a program that runs only until its first stop.
            first = self._link.thread if self._first_thread is None else self._first_thread
            if first is None:
                raise
            return first
        if not threads:
            raise DebuggerError("the debugger names no thread.", code="no-thread")
        return threads[0].id

    # --- seeing

    async def threads(self) -> Sequence[Thread]:
        body = await self._request("threads")
        threads = [translate.thread(each, self._adapter) for each in body.get("threads") or ()]
        if threads:
            self._first_thread = threads[0].id
        return threads

    async def snapshot(self, *, stacks: bool = True) -> Snapshot | None:
        return await snapshot(self._link.wire, self._link.pid, stacks=stacks)

    def halt_briefly(self) -> AbstractAsyncContextManager[bool | None]:
        return self._link.brief_halt.hold()

    async def _told_frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[Mapping[str, Any]], int | None]:
        above = self._above.get(thread, 0)
        body = await self._request(
            "stackTrace", {"threadId": thread, "startFrame": start + above, "levels": count}
        )
        total = body.get("totalFrames")
        return body.get("stackFrames") or (), None if total is None else total - above

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        is_none = self._adapter.frames.is_none
        if not start:
            self._above.pop(thread, None)
        told, total = await self._told_frames(thread, start, count)
        if not start and (above := sum(1 for _ in takewhile(is_none, told))):
            self._above[thread] = above
            told, total = await self._told_frames(thread, start, count)
        target = self._link.target
        shown = [frame for frame in told if not is_none(frame)]
        if self._adapter.frames.guesses_depth:
            total = start + len(told) if len(told) < count else None
        if len(shown) < len(told):
            total = start + len(shown)
        read = [
            translate.frame(frame, self._adapter, target, self._link.modules) for frame in shown
        ]
        frames = await self._optimized.mark(self._link.wire, target, thread, read, start)
        if frames and start == 0:
            self._pc = frames[0].address
            self._stack = (thread, frames)
        for frame in frames:
            if frame.path is not None and frame.line is not None:
                self._frame_places[frame.id] = (frame.path, frame.line, frame.function)
        return frames, total

    async def scopes(self, frame: int) -> Sequence[RawScope]:
        body = await self._request("scopes", {"frameId": frame})
        scopes = [translate.scope(scope) for scope in body.get("scopes") or ()]
        thread, frames = self._stack
        if frames and frames[0].id == frame:
            self._link.returns.found_scopes(thread, scopes)
        self._optimized.found_scopes(frame, scopes)
        return scopes

    async def children(
        self, ref: int, *, start: int = 0, count: int | None = None
    ) -> Sequence[RawValue]:
        shown = await part(self._link.wire, ref, start, count)
        absent, target = self._adapter.values.absent, self._link.target
        found = [translate.value(v, self._adapter) for v in shown if not absent(v, target)]
        values = self._adapter.values.visible(found)
        return [*self._optimized.children(ref, values), *self._link.returns.within(ref)]

    async def evaluate(
        self, expression: str, frame: int | None, *, statement: bool = False
    ) -> RawValue:
        adapter = self._adapter
        # What a statement's context answers for an expression may be less than its value.
        runs = statement and not adapter.expressions.is_expression(expression)
        context = adapter.expressions.statement_context if runs else adapter.expressions.context
        written = adapter.expressions.written(self._link.target, expression)
        arguments: dict[str, Any] = {"expression": written, "context": context}
        if frame is not None:
            arguments["frameId"] = frame
        try:
            body = await self._evaluated(arguments, slow=statement)
        except Refused as error:
            raise EvaluationFailed(adapter.expressions.brief_error(error.message)) from None
        return self._optimized.result(frame, translate.value(body, adapter, expression))

    async def _evaluated(self, arguments: dict[str, Any], *, slow: bool) -> dict[str, Any]:
        try:
            return await self._value_request("evaluate", arguments, slow=slow)
        except Refused as error:
            again = self._adapter.expressions.again(arguments["expression"], error.message)
            if again is None:
                raise
        called = {**arguments, "expression": again}
        body = await self._value_request("evaluate", called, slow=True)
        await check_failure(self._link.wire, body)
        return body

    async def assign(self, target: str, value: str, frame: int | None) -> RawValue:
        adapter = self._adapter
        assignment = adapter.expressions.assignment
        if assignment is not None:
            await self.evaluate(assignment(target, value), frame, statement=True)
            return await self.evaluate(target, frame)
        if not self._link.wire.capabilities.get("supportsSetExpression"):
            await set_member(self._link.wire, target, value, frame)
            return await self.evaluate(target, frame)
        arguments: dict[str, Any] = {"expression": target, "value": value}
        if frame is not None:
            arguments["frameId"] = frame
        try:
            await self._request("setExpression", arguments)
        except Refused as error:
            raise EvaluationFailed(adapter.expressions.brief_error(error.message)) from None
        return await self.evaluate(target, frame)

    async def in_hex(
        self, expression: str, frame: int | None
    ) -> tuple[RawValue, Sequence[RawValue]] | None:
        if not self._link.wire.capabilities.get("supportsValueFormattingOptions"):
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
            shown = await part(self._link.wire, value.ref, 0, None, format=format)
        except Refused as error:
            raise EvaluationFailed(adapter.expressions.brief_error(error.message)) from None
        return value, [translate.value(v, adapter) for v in shown]

    async def argument_names(self, frame: int) -> Sequence[str] | None:
        command = self._adapter.raw.arguments
        if command is not None:
            try:
                return self._adapter.raw.read_arguments(await self.raw(command, frame))
            except EvaluationFailed:
                return None
        place = self._frame_places.get(frame)
        return None if place is None else self._adapter.frames.argument_names(*place)

    def slice_expression(self, expression: str, start: int, end: int) -> str | None:
        hook = self._adapter.expressions.slice
        return None if hook is None else hook(expression, start, end)

    async def exception(self, thread: int) -> ExceptionInfo | None:
        stops = self._link.stops
        if stops.exception is not None or not stops.may_tell_more:
            return stops.exception
        body = stops.words
        if self._link.wire.capabilities.get("supportsExceptionInfoRequest"):
            # delve refuses for a fatal error beside all goroutines: a deadlock.
            with contextlib.suppress(Refused):
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
        await self._link.stdin().write(data)

    async def close_stdin(self) -> None:
        self._link.stdin().end()

    # --- machine level

    async def read_memory(self, address: str, count: int) -> tuple[str, bytes, int]:
        return await machine.read_memory(self._link.wire, address, count)

    async def write_memory(self, address: str, data: bytes) -> int:
        return await machine.write_memory(self._link.wire, address, data)

    async def disassemble(self, address: str, count: int, offset: int = 0) -> Sequence[Instruction]:
        return await machine.disassemble(self._link.wire, address, count, offset, self._pc)

    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint:
        adapter, wire = self._adapter, self._link.wire
        value = await self.evaluate(expression, frame)
        how: dict[str, Any] = {"name": expression}
        how |= {"frameId": frame} if frame is not None else {}
        again = address = None
        if adapter.breakpoints.watch_by_address:
            how["name"] = f"&({expression})"
            # Of a pointer some adapters tell the address that it holds (codelldb 1.11).
            address = await address_of(wire, expression, frame) or value.address
            if address is None:
                raise DebuggerError(f"{expression} has no address, so it cannot be watched.")
            if wire.capabilities.get("supportsDataBreakpointBytes"):
                size = await self.evaluate(f"sizeof({expression})", frame)
                how = {"name": address, "asAddress": True, "bytes": int(size.text, 0)}
            again = adapter.breakpoints.value_at(value.type or "", address)
        elif frame is not None:
            again = await again_anywhere(wire, value, frame)
        shown = None if value.opaque else value.text
        watch = Watch(expression, {"accessType": access}, again, shown)
        bound = await self._link.watches.add(watch, how, condition)
        if address is not None:
            await self._scope(bound.id, address)
        return bound

    async def _scope(self, watch: int, address: str) -> None:
        """Let a watchpoint on a variable end with the function that it is in."""
        thread, stack = self._stack
        back = await self._link.watches.returns_to(watch, address, thread, stack)
        if back is not None:
            condition = self._adapter.breakpoints.stack_from(back[1])
            await self._link.marks.set_scope(watch, back[0], condition)

    async def unwatch(self, id: int) -> None:
        await self._link.watches.remove(id)
        await self._link.marks.forget_scope(id)

    async def save_core(self, path: str) -> None:
        if self._adapter.raw.save_core is None:
            raise Unsupported(f"{self.tool} has no {Feature.SAVE_CORE.value}.")
        await self.raw(self._adapter.raw.save_core(path), None)

    async def raw(self, command: str, frame: int | None) -> str:
        return await machine.command(self._link.wire, command, frame)

    # --- requests

    async def _request(
        self, command: str, arguments: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        return await self._link.wire.request(command, arguments)

    async def _value_request(
        self, command: str, arguments: dict[str, Any], *, slow: bool = False
    ) -> dict[str, Any]:
        return await ask_value(self._link.wire, command, arguments, slow=slow)
