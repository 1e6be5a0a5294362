"""A session with debugpy's server inside the program, and with those in its children."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    Launch,
    ProcessStarted,
    Target,
)
from freezeframe.backends.dap.adapter_channel import AdapterChannel
from freezeframe.backends.dap.backend import DapBackend
from freezeframe.backends.dap.debuggee import Debuggee
from freezeframe.backends.dap.messages import ErrorResponse
from freezeframe.backends.dap.termination import DISCONNECT_S, Termination
from freezeframe.errors import DebuggerError, DebuggerLost, DebuggerTimeout, EvaluationFailed
from freezeframe.model.stops import Exit

from . import conditions, exceptions, unfollowed_children
from .options import options
from .watchpoints import DebugpyStops, PythonWatchpoints

log = logging.getLogger(__name__)

Answer = asyncio.Future[dict[str, Any]]

#: Whether pydevd passes our port to the processes that the program starts.
_FOLLOW = (
    "(lambda m: m.__dict__.update(_get_apply_arg_patching={}))"
    "(__import__('sys').modules['_pydev_bundle.pydev_monkey'])"
)
_FOLLOW_AGAIN = _FOLLOW.format("lambda: getattr(m._arg_patch, 'apply_arg_patching', True)")


def is_expression(code: str) -> bool:
    """Return whether the code is an expression, so that it has a value to show."""
    return syntax_error(code) is None


def syntax_error(expression: str) -> str | None:
    """Return why the text is no expression of Python."""
    try:
        compile(expression.strip(), "<condition>", "eval")
    except (SyntaxError, ValueError) as error:
        return error.msg if isinstance(error, SyntaxError) else str(error)
    return None


class DebugpyChannel(AdapterChannel):
    """The channel to pydevd, which can interrupt the code that shows a value."""

    #: a thread is blocked in the evaluation of a value
    _blocked = False

    async def value_request(
        self, command: str, arguments: dict[str, Any], *, slow: bool = False
    ) -> dict[str, Any]:
        """Return the answer; after the time limit the request is interrupted once."""
        timeouts = self.config.timeouts
        limit_s = timeouts.request_s if slow else timeouts.value_s
        elsewhere = self._blocked and bool(await self._blocked_at())
        if elsewhere:
            arguments = self._in_other_thread(command, arguments)
        waiting = self.send(command, arguments)
        done, _ = await asyncio.wait({waiting}, timeout=limit_s)
        in_time = bool(done)
        if not done:
            log.info("%s takes longer than %g s; interrupting it", command, limit_s)
            context = self.adapter.expressions.statement_context
            interrupt = {"expression": conditions.unstick(), "context": context}
            with contextlib.suppress(DebuggerTimeout):
                await self.request("evaluate", interrupt, timeout_s=limit_s)
            done, _ = await asyncio.wait({waiting}, timeout=limit_s)
        if not done:
            waiting.cancel()
            raise await self._not_interrupted(limit_s)
        try:
            body = waiting.result()
        except ErrorResponse as error:
            if in_time or elsewhere:
                raise
            # The error of the interrupted code is a consequence of the interrupt.
            text = f"it took longer than {limit_s:g} s and was interrupted."
            raise EvaluationFailed(text) from error
        self.sizes.note(body)
        return body

    async def _not_interrupted(self, limit_s: float) -> DebuggerTimeout:
        at = await self._blocked_at()
        self._blocked = bool(at)
        return DebuggerTimeout(
            f"showing it took longer than {limit_s:g} s and could not be interrupted"
            + (f": {at} is blocked in C. Other expressions can still be printed." if at else "."),
            next="dbg print EXPR" if at else "dbg stop",
        )

    async def _blocked_at(self) -> str:
        """Return which thread is blocked where; empty if none is, or that is unknown."""
        context = self.adapter.expressions.context
        arguments = {"expression": conditions.blocked(), "context": context}
        try:
            body = await self.request("evaluate", arguments, timeout_s=self.config.timeouts.value_s)
        except DebuggerError:
            return ""
        return str(body.get("result") or "").strip("'")

    def _in_other_thread(self, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return a request that another thread answers for a frame of a blocked thread."""
        frame, context = arguments.get("frameId"), self.adapter.expressions.context
        if command != "evaluate" or frame is None:
            return arguments
        if arguments.get("context") != context:
            raise DebuggerTimeout(
                "a thread is blocked while it shows a value, so no statement can run there.",
                next="dbg print EXPR",
            )
        expression = conditions.beside(int(frame), str(arguments["expression"]))
        return {"expression": expression, "context": context}


class DebugpyTermination(Termination):
    async def _before_detach(self) -> None:
        debuggee = self._debuggee
        arguments = {
            "expression": detach_expression(debuggee.target),
            "context": debuggee.adapter.expressions.context,
        }
        with contextlib.suppress(DebuggerError):
            await debuggee.channel.request("evaluate", arguments, timeout_s=DISCONNECT_S)

    def _report(self, exit: Exit) -> None:
        resources = self._debuggee.resources
        if resources is not None and self._debuggee.parent is None:
            self.unfollowed = unfollowed_children.read(resources.directory)
        super()._report(exit)


def detach_expression(target: Target) -> str:
    """Return the expression that makes the program run as if it had not been debugged."""
    parts = [_FOLLOW.format("lambda: False"), conditions.leave()]
    if isinstance(target, Launch) and sys.platform == "linux":
        # PR_SET_PDEATHSIG made it die with Freezeframe; undo that.
        parts.append("__import__('ctypes').CDLL(None).prctl(1, 0)")
    return f"[{', '.join(parts)}]"


class DebugpyDebuggee(Debuggee):
    channel_class = DebugpyChannel
    termination_class = DebugpyTermination
    stops_class = DebugpyStops

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.watchpoints = PythonWatchpoints()

    async def _identify_peer(self) -> None:
        endpoint = self.resources.endpoint if self.resources is not None else None
        if endpoint is None:
            return
        token = await self.channel.request("pydevdAuthorize", {"debugServerAccessToken": None})
        if token.get("clientAccessToken") != endpoint.token:
            raise DebuggerLost("a process that is not ours called the debugger's port")
        process = (await self.channel.request("pydevdSystemInfo", {})).get("process") or {}
        self.pid = process.get("pid") or self.pid
        self.ppid = process.get("ppid") or self.ppid

    def start_request(self) -> tuple[str, dict[str, Any]]:
        assert isinstance(self.target, Launch | Attach)
        arguments = options(self.target)
        # pydevd respects stopOnEntry in a launch only.
        entered = arguments["stopOnEntry"] and self.parent is not None
        return "launch" if entered else "attach", arguments

    def inject(self) -> list[Answer]:
        """Install the agent."""
        if self.launch_environment is None:
            return []
        expressions = [conditions.install(os.path.basename(self.launch_environment.directory))]
        if isinstance(self.target, Attach):
            # An earlier debugger may have detached from the process.
            expressions.append(_FOLLOW_AGAIN)
        context = self.adapter.expressions.context
        answers = [
            self.channel.send("evaluate", {"expression": each, "context": context})
            for each in expressions
        ]
        for answer in answers:
            answer.add_done_callback(_note_failure)
        return answers

    def injected(self, answers: Sequence[Answer]) -> None:
        """Report the command line of a child, which only the child knows."""
        answer = answers[0]
        unknown = not answer.done() or answer.cancelled() or answer.exception()
        if self.parent is None or unknown:
            return
        command = command_line(str(answer.result().get("result", "")))
        if command:
            self.emit(ProcessStarted(self.pid, command=command))

    def on_exited(self, body: Mapping[str, Any]) -> None:
        if is_replaced(body):
            self.replaced = True
        else:
            super().on_exited(body)


def is_replaced(body: Mapping[str, Any]) -> bool:
    """Return whether the process of an `exited` event continues as another program (exec)."""
    return body.get("pydevdReason") == "processReplaced"


def command_line(text: str) -> tuple[str, ...]:
    """Return the command line of a child; for an internal process of multiprocessing, its role."""
    try:
        facts = json.loads(text)
        is_internal = facts["role"] in ("worker", "forkserver", "tracker")
        return ("multiprocessing", facts["role"]) if is_internal else tuple(facts["argv"])
    except (ValueError, KeyError, TypeError):
        return ()


def _note_failure(answer: Answer) -> None:
    if not answer.cancelled() and (error := answer.exception()) is not None:
        log.info("the agent could not be injected: %s", error)


class DebugpyBackend(DapBackend):
    debuggee_class = DebugpyDebuggee

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        #: thread → number of artificial frames above the program's innermost frame
        self._above: dict[int, int] = {}

    async def watch(
        self, expression: str, access: str, condition: str | None, frame: int | None
    ) -> BoundBreakpoint:
        debuggee = self._debuggee
        assert isinstance(debuggee, DebugpyDebuggee)
        return await debuggee.watchpoints.add(
            debuggee.channel, expression, access, condition, frame
        )

    async def unwatch(self, id: int) -> None:
        debuggee = self._debuggee
        assert isinstance(debuggee, DebugpyDebuggee)
        await debuggee.watchpoints.remove(debuggee.channel, id)

    async def _request_frames(
        self, thread: int, start: int, count: int
    ) -> tuple[Sequence[Mapping[str, Any]], int | None]:
        """Return the frames without the artificial ones above or below the program's."""
        if not start:
            self._above.pop(thread, None)
        above = self._above.get(thread, 0)
        bodies, total = await super()._request_frames(thread, start + above, count)
        if not start and (above := sum(1 for _ in takewhile(exceptions.is_none, bodies))):
            self._above[thread] = above
            bodies, total = await super()._request_frames(thread, above, count)
        shown = [frame for frame in bodies if not exceptions.is_none(frame)]
        if len(shown) < len(bodies):
            return shown, start + len(shown)
        return shown, None if total is None else total - above

    def _context(self, code: str, *, statement: bool) -> str:
        # In the context of statements pydevd returns less than the value of an expression.
        return super()._context(code, statement=statement and not is_expression(code))
