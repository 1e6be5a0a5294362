"""Stops and steps: classify V8's pauses and decide which of them are reported.

Theory of operation. Each isolate runs and pauses on its own; to the user a program is one thing.
When one isolate stops for the user the others are paused too, if they run any code; when it
resumes, all resume. What was requested of the program is the table of `backends/thread_stops.py`.
A pause passes these stages, each a method; a stage returns the stop to report, hands the pause to
the next one, or resumes the isolate (`_resume_silently` continues a step), and nothing is reported:

    _classify                before a script runs, before one is compiled; our code in the program
    _enter                   the pause before an isolate's first line, if it has not begun
    _classify_program_pause  exceptions that the filters name, then breakpoints
    _classify_other_pause    in this order: a brief pause, a step to a breakpoint, a restarted
                             function, a step, a pause along with another isolate, the user's pause
    report                   at once, or after the stop that is reported already
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from freezeframe.backends import backend as events
from freezeframe.backends.backend import StepKind
from freezeframe.backends.thread_stops import ProgramEvent, ThreadStops
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import StopReason

from . import return_values, script_load_breakpoints, step_out
from .async_functions import read_generator
from .exception_stops import ExceptionStops
from .frames import find_return, has_entered, is_debugger
from .frames import function_of as _function
from .isolate import IDLE_CODE, LEFT, Isolate, IsolateHost
from .protocol import fits
from .scripts import INTERNAL_URL
from .step_out import Step, forget_exits
from .step_to_breakpoint import RESUME, StepTargets

log = logging.getLogger(__name__)

_STEPS = {
    StepKind.OVER: "Debugger.stepOver",
    StepKind.INTO: "Debugger.stepInto",
    StepKind.OUT: "Debugger.stepOut",
}
#: how long a program may take to pause before it is assumed to be idle
_IDLE_S = 0.05
#: V8's reasons of a pause that a statement or a step made
_PLAIN_REASONS = {"other", "step", "debugCommand"}
#: pauses during one step, after which it ends where it is
_MAX_PAUSES = 500
#: the same for a step out of an async function
_MAX_ASYNC_PAUSES = 10_000
#: pauses in internal code of the runtime on the way into a function
_MAX_DETOURS = 40


#: prepares an isolate before its first line; returns the stop to report, if any
Enter = Callable[[Isolate], Awaitable[events.Stopped | None]]


class Owner(IsolateHost, Protocol):
    """The program that the isolates belong to."""

    isolates: dict[tuple[str, ...], Isolate]
    target: events.Target

    def emit(self, event: events.Event) -> None: ...
    def drain(self) -> None: ...


class V8Execution:
    """The stops and steps of one program."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._steps: dict[Isolate, Step] = {}
        #: the isolate whose stop was reported to the user
        self.stopped_isolate: Isolate | None = None
        #: isolates whose exceptions are not scanned during a step, and their scan limit
        self._scans_off: dict[Isolate, int] = {}
        #: isolates that were restarted at the beginning of a function
        self._restarted: set[Isolate] = set()
        self._unreported: list[tuple[Isolate, events.Stopped]] = []
        #: what was requested of the program
        self.program = ThreadStops()
        #: isolates that were requested to pause because another one is stopped
        self.pause_requested: set[Isolate] = set()
        #: isolates of a brief pause, and whether they have paused
        self.briefly_paused: dict[Isolate, asyncio.Event] = {}
        self.exception_stops = ExceptionStops()
        self._step_targets = StepTargets()
        #: library code is stepped over
        self.just_my_code = False
        #: isolates that have not begun, and the handler of the pause before their first line
        self.entering: dict[Isolate, Enter] = {}

    # --- commands of the user

    async def resume(self) -> None:
        if self._unreported:
            isolate, stopped = self._unreported.pop(0)
            self._owner.emit(events.Continued(stopped.thread))
            self.stopped_isolate = isolate
            self._owner.emit(stopped)
            return
        await self._resume_all()

    async def step(self, kind: StepKind, isolate: Isolate) -> None:
        stack = isolate.stack
        if stack is None or stack.idle or not stack.calls:
            await self._resume_all()
            return
        call = stack.calls[0]
        step = Step(kind, stack.depth, isolate.scripts.position(call["location"]), _function(call))
        method = await step_out.begin(isolate, stack, step)
        if step.kind is StepKind.OUT:
            await isolate.watch_throws(return_values.MAX_THROWS)
        elif isolate.scan_limit and not isolate.testing:
            # A pause at an exception would end the step: V8's own prediction must be enough.
            self._scans_off[isolate] = isolate.scan_limit
            await isolate.set_exception_scan(0)
        self._steps[isolate] = step
        await self._resume_all(isolate, method)

    async def restart_frame(self, isolate: Isolate, call: str) -> None:
        self._restarted.add(isolate)
        await self._resume_all(isolate, "Debugger.restartFrame", callFrameId=call, mode="StepInto")

    async def _resume_all(
        self, stepping: Isolate | None = None, method: str = "", **params: str
    ) -> None:
        """Resume all stopped isolates, one of them possibly for a step only."""
        self.stopped_isolate = None
        self.program.on(ProgramEvent.RESUMED)
        self.exception_stops.infos.clear()
        for isolate, scan_limit in [] if stepping is not None else list(self._scans_off.items()):
            del self._scans_off[isolate]
            await isolate.set_exception_scan(scan_limit)
        for isolate in self._owner.isolates.values():
            if isolate.throws and isolate not in self._steps:
                await isolate.watch_throws(0)
        # The main thread comes last: it forwards messages to the others, and cannot do so while it
        # waits for one of them to end.
        for isolate in reversed(list(self._owner.isolates.values())):
            isolate.failures = {}
            if isolate is not stepping and isolate.stack is not None:
                await isolate.resume(self._step_targets.resume_method(isolate))
        if stepping is not None:
            await stepping.resume(method, **params)

    async def pause(self) -> None:
        self.program.on(ProgramEvent.PAUSE)
        self._send_pause()
        if self._owner.isolates[()].stack is None:
            self._owner.start_task(self._nudge(self._owner.isolates[()]))

    def _send_pause(self) -> None:
        for isolate in list(self._owner.isolates.values()):
            if isolate.stack is None:
                isolate.send("Debugger.pause")

    async def _nudge(self, main: Isolate) -> None:
        """Run some code in a program that waits in its event loop: it has none to pause in."""
        if not await main.wait_stopped(_IDLE_S) and self.program.pausing:
            # V8 ignores a pause that it reads together with a resume.
            self._send_pause()
            main.send("Runtime.evaluate", expression=IDLE_CODE, silent=True)

    @property
    def _program(self) -> str | None:
        """The file that the program was started with."""
        target = self._owner.target
        return target.program if isinstance(target, events.Launch) else None

    @property
    def has_pending_command(self) -> bool:
        """Whether the user's step or pause has not ended yet."""
        return self.program.pausing or bool(self._steps)

    def ended(self, isolate: Isolate) -> None:
        """Forget a worker that has ended, and its unreported stops."""
        self._steps.pop(isolate, None)
        self.pause_requested.discard(isolate)
        self._scans_off.pop(isolate, None)
        self._step_targets.forget(isolate)
        self._unreported = [each for each in self._unreported if each[0] is not isolate]

    # --- V8's events

    def paused(self, isolate: Isolate, params: dict[str, Any]) -> None:
        self._owner.start_task(self._handle_pause(isolate, params))

    async def _handle_pause(self, isolate: Isolate, params: dict[str, Any]) -> None:
        try:
            await isolate.read_maps()
            stopped = await self._classify(isolate, params)
        except DebuggerError:
            if isolate.gone or isolate.channel.lost is not None:
                return  # it ended meanwhile, which is reported elsewhere
            stopped = events.Stopped(StopReason.OTHER, isolate.id)
        except Exception:
            # The isolate is paused all the same, and the stop must be reported.
            log.exception("a pause of %s could not be classified", isolate.name)
            stopped = events.Stopped(StopReason.OTHER, isolate.id)
        if stopped is not None:
            self.report(isolate, stopped)
        elif self.program.pausing and isolate.stack is None:
            # V8 ignores a pause of an isolate that is paused, and this one was, unseen.
            isolate.send("Debugger.pause")

    def report(self, isolate: Isolate, stopped: events.Stopped) -> None:
        """Report a stop now, or after the one that is reported already."""
        self._steps.pop(isolate, None)
        self._restarted.discard(isolate)
        self.pause_requested.discard(isolate)
        # What was printed before the stop is reported before it.
        self._owner.drain()
        if self.stopped_isolate is not None:
            self._unreported.append((isolate, stopped))
            return
        self.stopped_isolate = isolate
        self.program.on(ProgramEvent.REPORTED)
        for other in list(self._owner.isolates.values()):
            if other is not isolate and other.stack is None:
                self.pause_requested.add(other)
                other.send("Debugger.pause")
        self._owner.emit(stopped)

    async def _classify(self, isolate: Isolate, params: dict[str, Any]) -> events.Stopped | None:
        """Return the stop to report; None if the isolate was resumed."""
        reasons = {str(params.get("reason"))}
        if "ambiguous" in reasons:
            reasons |= {each["reason"] for each in (params.get("data") or {}).get("reasons") or ()}
        hits = [str(id) for id in params.get("hitBreakpoints") or ()]
        reported_hits, isolate.reported_hits = isolate.reported_hits, []
        url = self._url(isolate)
        if isolate.stack is None or not isolate.stack.calls:
            return events.Stopped(StopReason.OTHER, isolate.id)
        if "instrumentation" in reasons:
            await self._before_script(isolate, params)
            if isolate in self.entering and not url.startswith(("node:", INTERNAL_URL)):
                return await self._enter(isolate, url, [], before_script=True)
            if reasons == {"instrumentation"}:
                await isolate.resume()
                return None
        if isolate.breakpoints.script_load.compiles(hits):
            await self._before_compiling(isolate)
            return None
        if url == f"{INTERNAL_URL}monitor":
            if isolate.stack.calls[0]["functionName"] == LEFT:
                return await self._left(isolate)
            return await self._stop_or_resume(isolate, await self.exception_stops.unwound(isolate))
        ids = isolate.breakpoints.hit(hits, reported_hits)
        return await self._classify_program_pause(isolate, params, reasons, hits, ids)

    async def _classify_program_pause(
        self,
        isolate: Isolate,
        params: dict[str, Any],
        reasons: set[str],
        hits: list[str],
        ids: list[int],
    ) -> events.Stopped | None:
        """Return the stop of a pause in the program's own code; *ids*: the breakpoints it hit."""
        url = self._url(isolate)
        if isolate.stack is not None:
            await find_return(isolate.stack, isolate.scripts)
            await return_values.fix_constructor_return(isolate)
        self._step_targets.note(isolate, hits)
        entered = isolate.breakpoints.script_load.enters(hits) or "Break on start" in reasons
        if entered and isolate in self.entering:
            return await self._enter(isolate, url, ids)
        if entered and not ids:
            await isolate.resume()  # its start was handled before
            return None
        if reasons & {"exception", "promiseRejection"}:
            stopped = await self.exception_stops.classify(isolate, params, reasons)
            if stopped is None and await self._follows_exception(isolate, reasons):
                return None
            return await self._stop_or_resume(isolate, stopped)
        ids += await self._step_targets.arrived(isolate)
        if ids:
            step, stack = self._steps.get(isolate), isolate.stack
            if step is not None and stack is not None and stack.depth < step.depth:
                return_values.set_return_value(stack, step.returned)
            await forget_exits(isolate, self._steps.get(isolate))
            return events.Stopped(StopReason.BREAKPOINT, isolate.id, breakpoints=tuple(ids))
        if "OOM" in reasons:
            return events.Stopped(StopReason.OTHER, isolate.id, "almost out of memory")
        return await self._classify_other_pause(isolate, url, hits, reasons)

    async def _enter(
        self, isolate: Isolate, url: str, ids: list[int], *, before_script: bool = False
    ) -> events.Stopped | None:
        """Handle the pause before the program's first line, or the runtime's before the module.

        *before_script*: V8 cannot step from here, so a stop must be at the first statement.
        """
        if url.startswith("node:"):
            await isolate.resume()  # the module itself begins later
            return None
        stopped = await self.entering.pop(isolate)(isolate)
        script_load = isolate.breakpoints.script_load
        is_before = (
            stopped is not None
            and not ids
            and isolate.stack is not None
            and await script_load.expect_program(
                isolate.stack.calls[0]["location"], url, self._program, before_script=before_script
            )
        )
        await script_load.forget_entry(keep_last=is_before)
        await isolate.breakpoints.guard()
        if ids:
            return events.Stopped(StopReason.BREAKPOINT, isolate.id, breakpoints=tuple(ids))
        if stopped is None:
            await isolate.resume()
        elif is_before:

            async def arrived(isolate: Isolate) -> events.Stopped | None:
                return stopped

            self.entering[isolate] = arrived
            await isolate.resume()
            return None
        return stopped

    async def _classify_other_pause(
        self, isolate: Isolate, url: str, hits: list[str], reasons: set[str]
    ) -> events.Stopped | None:
        """Classify a pause that no breakpoint and no exception caused."""
        step, pausing = self._steps.get(isolate), self.program.pausing
        if url == f"{INTERNAL_URL}idle":
            assert isolate.stack is not None
            isolate.stack.idle = True
        if isolate in self.briefly_paused and not self.has_pending_command:
            self.briefly_paused[isolate].set()
            return None
        if (
            not pausing
            and isolate not in self.pause_requested
            and self._step_targets.is_on_the_way(isolate)
        ):
            assert isolate.stack is not None
            if step is None or isolate.stack.depth > step.depth:
                await self._resume_silently(isolate)
                return None
        if isolate in self._restarted and not pausing:
            return events.Stopped(StopReason.STEP, isolate.id)
        if step is not None and not pausing and url != f"{INTERNAL_URL}idle":
            return await self._stepped(isolate, step, hits)
        if isolate in self.pause_requested and not pausing:
            self.pause_requested.discard(isolate)
            if self.stopped_isolate is None:
                await isolate.resume()  # too late: the program has been resumed already
            return None
        if pausing or (isolate.stack is not None and isolate.stack.idle):
            return events.Stopped(StopReason.PAUSE, isolate.id)
        if reasons <= _PLAIN_REASONS and not await is_debugger(isolate.stack, isolate.scripts):
            await self._resume_silently(isolate)  # the rest of a step that a breakpoint ended
            return None
        return events.Stopped(StopReason.OTHER, isolate.id, "debugger statement")

    @staticmethod
    def _url(isolate: Isolate) -> str:
        calls = isolate.stack.calls if isolate.stack is not None else []
        script = isolate.scripts.get(str(calls[0]["location"]["scriptId"])) if calls else None
        return script.url if script else ""

    async def _stop_or_resume(
        self, isolate: Isolate, stopped: events.Stopped | None
    ) -> events.Stopped | None:
        if stopped is None:
            await self._resume_silently(isolate)
        else:
            await forget_exits(isolate, self._steps.get(isolate))
        return stopped

    async def _resume_silently(self, isolate: Isolate) -> None:
        """Resume from a pause that is not reported; continue a step that it interrupted."""
        step, stack = self._steps.get(isolate), isolate.stack
        resume_method = self._step_targets.resume_method(isolate)
        if step is None or stack is None or (stack.depth > step.depth and resume_method != RESUME):
            await isolate.resume(resume_method)
        elif step.kind is StepKind.OUT:
            await isolate.resume(step_out.method(step, stack))
        elif stack.depth > step.depth:
            # Deeper than the step began: return to that depth first.
            step.stepping_back = True
            await isolate.resume("Debugger.stepOut")
        else:
            await isolate.resume(_STEPS[step.kind])

    # --- scripts that are about to run

    async def _before_script(self, isolate: Isolate, params: dict[str, Any]) -> None:
        data = params.get("data") or {}
        for reason in data.get("reasons") or ():
            data = reason.get("auxData") or data
        script = isolate.scripts.get(str(data.get("scriptId")))
        if script is not None:
            await isolate.breakpoints.about_to_run(script)
            await isolate.breakpoints.guard()

    async def _before_compiling(self, isolate: Isolate) -> None:
        assert isolate.stack is not None
        call = isolate.stack.calls[0]
        answer = await isolate.request(
            "Debugger.evaluateOnCallFrame",
            callFrameId=call["callFrameId"],
            expression=f"[String(arguments[0]),String({script_load_breakpoints.FILE_NAME})]",
            returnByValue=True,
            silent=True,
        )
        if fits(compiled := answer.get("result", {}).get("value"), (str, str)):
            await isolate.breakpoints.about_to_compile(compiled[1], compiled[0])
            await isolate.breakpoints.guard()
        await self._resume_silently(isolate)

    # --- steps

    async def _stepped(
        self, isolate: Isolate, step: Step, hits: list[str]
    ) -> events.Stopped | None:
        """Return the end of a step; None if the step continues because the line is not over yet."""
        stack = isolate.stack
        assert stack is not None
        step.tries += 1
        if step.tries > (_MAX_PAUSES if step.async_call is None else _MAX_ASYNC_PAUSES):
            await forget_exits(isolate, self._steps.get(isolate))
            return events.Stopped(StopReason.STEP, isolate.id)
        if step.kind is StepKind.OUT:
            outcome = await step_out.paused(isolate, stack, step, hits)
            if outcome is not StepKind.INTO:
                return outcome
            step.kind = StepKind.INTO
        call = stack.calls[0]
        if step.kind is StepKind.OVER and step.exits & set(hits):
            step.stepping_back = True  # of a recursive call of the caller: no end of the step
        over = (step.over_calls and step.called(stack)) or (
            step.stepping_back and stack.depth > step.depth
        )
        if over and not await read_generator(isolate.scripts, call):
            await isolate.resume("Debugger.stepOut")
            return None
        script = isolate.scripts.get(str(call["location"]["scriptId"]))
        position = isolate.scripts.position(call["location"])
        generated = script is not None and isolate.scripts.map_of(script) and not position.mapped
        if script is not None and (script.internal or (self.just_my_code and script.library)):
            # V8 cannot skip internal code of the runtime, which is in its snapshot. That code may
            # call the user's: a few steps are worth it, not those through all of `console.log`. It
            # also runs hooks inside an async function that was called, before its first line.
            entered = step.kind is StepKind.INTO and has_entered(stack, isolate.scripts, step.depth)
            inward = step.kind is StepKind.INTO and not entered and step.detours < _MAX_DETOURS
            step.detours += 1
            step.stepping_back = not inward and not entered
            await isolate.resume("Debugger.stepInto" if inward else "Debugger.stepOut")
            return None
        same_line = (position.path, position.line) == (step.position.path, step.position.line)
        same_function = same_line and _function(call) == step.function
        # After an await the function continues on another stack.
        same_frame = same_function and (
            stack.depth == step.depth
            or await isolate.scripts.has_on_line("await", call["location"])
        )
        step.stepping_back = False
        if generated or same_frame:
            await isolate.resume(_STEPS[StepKind.OVER if generated else step.kind])
            return None
        await forget_exits(isolate, step)
        return_values.set_return_value(stack, step.returned)
        return events.Stopped(StopReason.STEP, isolate.id)

    async def _left(self, isolate: Isolate) -> events.Stopped | None:
        """Return the end of a step out of an async function that nothing waited for."""
        if isolate not in self._steps:
            await isolate.resume()  # the step has ended before
            return None
        assert isolate.stack is not None
        isolate.stack.idle = True
        return events.Stopped(StopReason.STEP, isolate.id)

    async def _follows_exception(self, isolate: Isolate, reasons: set[str]) -> bool:
        """Step to the handler of an exception; return False unless a step is in progress."""
        step, stack = self._steps.get(isolate), isolate.stack
        if step is None or stack is None or self._step_targets.resume_method(isolate) != RESUME:
            return False
        return await step_out.follow_exception(isolate, stack, step, reasons)
