"""A session with LLDB, whichever adapter serves it: what LLDB does only by its own commands."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, cast

from freezeframe.backends import lldb, lock_waits
from freezeframe.backends.backend import (
    BoundBreakpoint,
    BreakpointRequest,
    RawFrame,
    RawValue,
    Stopped,
    Target,
)
from freezeframe.backends.dap import translate
from freezeframe.backends.dap.adapter_channel import AdapterChannel
from freezeframe.backends.dap.backend import DapBackend
from freezeframe.backends.dap.breakpoints import AdapterBreakpoints
from freezeframe.backends.dap.debuggee import Debuggee
from freezeframe.backends.dap.messages import ErrorResponse
from freezeframe.backends.dap.return_values import ReturnValues
from freezeframe.backends.dap.stop_events import StopHandler
from freezeframe.backends.dap.stop_queries import evaluate_text, innermost, run_raw_command
from freezeframe.backends.native import is_rust
from freezeframe.backends.transport.streams import Stream
from freezeframe.errors import DebuggerError, EvaluationFailed
from freezeframe.model.answers import Instruction

from . import _lldb

log = logging.getLogger(__name__)


class LldbChannel(AdapterChannel):
    #: the program was compiled by rustc
    is_rust = False

    async def reread(self, arguments: Mapping[str, Any]) -> str | None:
        if not self.is_rust or not lldb.is_misread(str(arguments["expression"])):
            return None
        return await self._query(arguments, lldb.read_resolved, only_rust=True)

    async def resolve(self, arguments: Mapping[str, Any]) -> str | None:
        return await self._query(arguments, lldb.read_resolved)

    async def lvalue(self, arguments: Mapping[str, Any]) -> str | None:
        """Return an expression for the memory of a value of Rust; None if LLDB's is right."""
        if not self.is_rust or not lldb.is_misread(str(arguments["expression"])):
            return None
        return await self._query(arguments, lldb.read_lvalue, only_rust=True)

    async def _query(
        self,
        arguments: Mapping[str, Any],
        read: Callable[[str], str | None],
        *,
        only_rust: bool = False,
    ) -> str | None:
        command = lldb.resolve_command(str(arguments["expression"]), only_rust=only_rust)
        if "frameId" not in arguments:
            return None
        raw = self.adapter.raw
        request = {"expression": raw.prefix + command, "context": raw.context}
        try:
            body = await self.request("evaluate", {**arguments, **request})
        except ErrorResponse:
            return None
        return read(str(body.get("result", "")))

    def command_error(self, answer: str) -> str | None:
        return _lldb.brief_error(answer) if answer.lstrip().startswith("error:") else None


class LldbBreakpoints(AdapterBreakpoints):
    """Breakpoints of LLDB, which may bind one line to several locations, or to wrong ones."""

    #: breakpoints of other numbers have replaced some
    _has_replacements = False

    def _hooked(self, requests: Mapping[int, Sequence[BreakpointRequest]]) -> Set[int]:
        """Return the numbers of the breakpoints whose callbacks the adapter uses itself."""
        return frozenset()

    async def _merge_locations(self, bound: Sequence[BoundBreakpoint]) -> Set[int]:
        ids = {each.id for each in bound}
        by_number = {
            number: [self._requests[id] for id in own_ids]
            for number, own_ids in self._ids.items()
            if not ids.isdisjoint(own_ids)
        }
        command = lldb.once_a_pass(by_number, self._has_replacements, self._hooked(by_number))
        moved: set[int] = set()
        if command is not None:
            # An LLDB built without Python does not have the command.
            with contextlib.suppress(EvaluationFailed):
                replaced = lldb.read_replaced(await self._by_command.raw(command))
                self._has_replacements |= bool(replaced)
                for number, others in replaced.items():
                    moved.update(self._ids[number])
                    self._ids.update((other, self._ids[number]) for other in others)
        return moved


class LldbStops(StopHandler):
    """Stops of LLDB: one event for each thread that stops at the same time."""

    #: modules were unloaded since the last stop
    _modules_unloaded = False
    #: the program was resumed from the entry breakpoint to the address where it begins
    _redirected = False

    async def _logged(self, code: str, frame: int | None) -> str | None:
        text = await super()._logged(code, frame)
        if not cast("LldbChannel", self._debuggee.channel).is_rust or not lldb.is_address(text):
            return text
        return await super()._logged(f"*({code})", frame) or text

    def on_module_unloaded(self) -> None:
        self._modules_unloaded = True

    def _handle(self, stopped: Stopped, watch: int | None, *, first: bool) -> None:
        if self._modules_unloaded:
            self._debuggee.spawn_task(self._refresh_frames(stopped, watch, first=first))
        else:
            super()._handle(stopped, watch, first=first)

    async def _refresh_frames(self, stopped: Stopped, watch: int | None, *, first: bool) -> None:
        """Make LLDB read the stack again: unloaded modules leave an outdated one."""
        # A stop of another thread that arrives meanwhile waits here too, behind this one.
        await run_raw_command(self._debuggee.channel, lldb.FRESH_FRAMES, stopped.thread)
        self._modules_unloaded = False
        super()._handle(stopped, watch, first=first)

    def _queue(self, stopped: Stopped, watch: int | None, *, first: bool) -> None:
        self.queue.add(stopped, watch, first=first)

    def _runs_to_entry(self, stopped: Stopped) -> bool:
        address = _lldb.entry_address(self._debuggee.target)
        if address is None or self._redirected:
            return False
        self._redirected = True
        self._debuggee.spawn_task(self._run_to_entry(address, stopped))
        return True

    async def _run_to_entry(self, expression: str, stopped: Stopped) -> None:
        """Resume to the entry point, whose address is known only now."""
        channel, breakpoints = self._debuggee.channel, self._debuggee.breakpoints
        frame = await innermost(channel, stopped.thread)
        found = await evaluate_text(channel, expression, frame["id"]) if frame is not None else None
        await breakpoints.move_entry(found)
        await self._resume(stopped)

    def _on_signal(self, stopped: Stopped) -> None:
        command = lldb.siginfo_command(stopped.description or "")
        if command is None:
            super()._on_signal(stopped)
        else:
            self._debuggee.spawn_task(self._with_siginfo(stopped, command))

    async def _with_siginfo(self, stopped: Stopped, command: str) -> None:
        """Report a signal with the address that LLDB gives only on request."""
        answer = await run_raw_command(self._debuggee.channel, command, stopped.thread)
        if answer is not None:
            text = lldb.with_address(stopped.description or "", answer)
            stopped = replace(stopped, description=text)
        await self._report(stopped)


class LldbReturns(ReturnValues):
    """Return values, from one command before the step out and one at the thread's next stop."""

    async def expect(self, thread: int) -> None:
        # An LLDB built without Python does not have the command.
        answer = await run_raw_command(self._debuggee.channel, lldb.EXPECT_RETURNED, thread)
        self._thread = thread if answer is not None else None

    async def on_stop(self, stopped: Stopped) -> bool:
        if stopped.thread == self._thread:
            self._thread = None
            value = await self._read_returned(stopped.thread)
            self._returned = (stopped.thread, value) if value is not None else None
        return False

    async def _read_returned(self, thread: int | None) -> RawValue | None:
        channel, adapter = self._debuggee.channel, self._debuggee.adapter
        name = (await run_raw_command(channel, lldb.RETURNED, thread) or "").strip()
        if name == lldb.UNKNOWN_RETURNED:
            return RawValue("returned", "<in registers that cannot be read>", returned=True)
        frame = await innermost(channel, thread) if name else None
        if frame is None:
            return None
        context = adapter.expressions.context
        arguments = {"expression": name, "context": context, "frameId": frame["id"]}
        try:
            body = await channel.value_request("evaluate", arguments)
        except DebuggerError as error:
            log.info("the returned value cannot be shown: %s", error)
            return None
        value = translate.value(body, adapter, name)
        return replace(value, name="returned", expression=name, returned=True)


class LldbDebuggee(Debuggee):
    channel_class = LldbChannel
    breakpoints_class = LldbBreakpoints
    returns_class = LldbReturns
    stops_class = LldbStops
    channel: LldbChannel

    async def _start_adapter(self, target: Target) -> Stream:
        self.channel.is_rust = target.program is not None and is_rust(target.program)
        return await super()._start_adapter(target)


class LldbBackend(DapBackend):
    debuggee_class = LldbDebuggee

    async def _resume_only(self, thread: int) -> None:
        command = _lldb.thread_to_resume(await self.raw("thread list", None), thread)
        if command is None:
            raise DebuggerError(f"the debugger has no thread {thread}.", code="no-thread")
        self._invalidate_frames(thread)
        await self.raw(command, None)

    async def _forget_steps(self) -> None:
        if self._debuggee.stops.stepping:
            # An LLDB built without Python does not have the command.
            with contextlib.suppress(EvaluationFailed):
                await self.raw(lldb.FORGET_STEPS, None)
        await super()._forget_steps()

    async def frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[RawFrame], int | None]:
        frames, total = await super().frames(thread, start, count)
        return frames if start else await self._with_lock_holder(thread, frames), total

    async def _with_lock_holder(
        self, thread: int, frames: Sequence[RawFrame]
    ) -> Sequence[RawFrame]:
        """Return a thread's frames; one that waits for a mutex names the thread that holds it."""
        index = lock_waits.locking_frame(frames)
        if index is None:
            return frames
        owner = ""
        if lock_waits.has_owner(frames[index]):
            command = f"{lldb.LOCK_OWNER} {thread}"
            owner = await run_raw_command(self._debuggee.channel, command, thread) or ""
        found = owner.strip()
        holder = lock_waits.holder_name(int(found), thread) if found.isdecimal() else None
        return lock_waits.with_lock(frames, index, holder)

    def _read_frame(self, body: Mapping[str, Any]) -> RawFrame:
        frame = super()._read_frame(body)
        own = frame.library and frame.path is None and _lldb.is_own(frame, self._debuggee.target)
        return replace(frame, library=False) if own else frame

    def _read_variables(self, variables: Sequence[Mapping[str, Any]]) -> Sequence[RawValue]:
        target = self._debuggee.target
        return _lldb.visible(
            super()._read_variables([v for v in variables if not _lldb.absent(v, target)])
        )

    async def _lvalue(self, expression: str, frame: int | None) -> str:
        arguments: dict[str, Any] = {"expression": self._written(expression)}
        if frame is not None:
            arguments["frameId"] = frame
        channel = cast("LldbChannel", self._debuggee.channel)
        return await channel.lvalue(arguments) or expression

    def _written(self, expression: str) -> str:
        return lldb.written(self._debuggee.target, expression)

    async def argument_names(self, frame: int) -> Sequence[str] | None:
        try:
            return _lldb.read_arguments(await self.raw(_lldb.ARGUMENTS, frame))
        except EvaluationFailed:
            return None

    async def disassemble(self, address: str, count: int, offset: int = 0) -> Sequence[Instruction]:
        try:
            return await super().disassemble(address, count, offset)
        except ErrorResponse:
            # Instructions that the adapters' request does not reach.
            text = await self.raw(_lldb.disassemble_command(address, count), None)
            return translate.instructions(_lldb.read_disassembly(text), self._pc)
