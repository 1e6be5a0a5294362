"""Stops and steps: what a pause of V8's means, and whether anybody is to know of it.

Isolates run and pause each for itself; a program is one thing to its user. When one isolate stops
for the user the others are paused too, as far as they run any code; when it goes on, all do.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from freezeframe.backends import backend as events
from freezeframe.backends.backend import StepKind
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import StopReason

from . import exits, gates
from .frames import Stack, find_return, is_debugger
from .frames import function_of as _function
from .isolate import IDLE_CODE, Host, Isolate
from .nearing import RESUME, Nearings
from .protocol import fits
from .scripts import OURS, Spot
from .thrown import Thrown

log = logging.getLogger(__name__)

_STEPS = {
    StepKind.OVER: "Debugger.stepOver",
    StepKind.INTO: "Debugger.stepInto",
    StepKind.OUT: "Debugger.stepOut",
}
#: how long a program may take to pause before it is taken to be idle
_IDLE_S = 0.05
#: what V8 says of a pause that a statement or a step of its own made
_PLAIN_REASONS = {"other", "step", "debugCommand"}
#: pauses on the way of one step before it ends where it is
_MOST_TRIES = 500
#: pauses in the runtime's own code on the way into a function
_MOST_DETOURS = 40


@dataclass(slots=True)
class Step:
    kind: StepKind
    depth: int
    spot: Spot
    function: object
    #: how often it was taken up again
    tries: int = 0
    #: V8's breakpoints where the function returns
    exits: set[str] = field(default_factory=set)
    returned: dict[str, Any] | None = None
    #: pauses in the runtime's own code
    detours: int = 0
    #: it was interrupted within a call, and is on its way back out of it
    strayed: bool = False
    #: an exception is on its way to whoever catches it
    unwinding: bool = False

    def holds(self, stack: Stack) -> bool:
        """Whether the function that the step began in is still on the stack."""
        above = stack.depth - self.depth
        return 0 <= above < len(stack.calls) and _function(stack.calls[above]) == self.function


#: prepares an isolate that is about to begin; returns what to tell of it, if anything
Enter = Callable[[Isolate], Awaitable[events.Stopped | None]]


class Owner(Host, Protocol):
    """Who the program belongs to."""

    isolates: dict[tuple[str, ...], Isolate]

    def emit(self, event: events.Event) -> None: ...
    def drain(self) -> None: ...


class Motion:
    """The stops and steps of one program."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._steps: dict[Isolate, Step] = {}
        #: whose stop the user is looking at
        self.standing: Isolate | None = None
        #: isolates whose exceptions are left to V8 for a step, and the patience that they had
        self._muted: dict[Isolate, int] = {}
        #: isolates that were sent back to the beginning of a function
        self._restarted: set[Isolate] = set()
        self._untold: list[tuple[Isolate, events.Stopped]] = []
        self._pausing = False
        #: isolates that were asked to pause because another one stands
        self.asked: set[Isolate] = set()
        #: isolates that are to stand only to be looked at, and whether they do
        self.glanced: dict[Isolate, asyncio.Event] = {}
        self.thrown = Thrown()
        self._nearings = Nearings()
        #: code of libraries is stepped over
        self.just_my_code = False
        #: isolates that are about to begin, and who takes the pause before their first line
        self.entering: dict[Isolate, Enter] = {}

    # --- the user's

    async def resume(self) -> None:
        if self._untold:
            isolate, stopped = self._untold.pop(0)
            self._owner.emit(events.Continued(stopped.thread))
            self.standing = isolate
            self._owner.emit(stopped)
            return
        await self._let_go()

    async def step(self, kind: StepKind, isolate: Isolate) -> None:
        stack = isolate.stack
        if stack is None or stack.idle or not stack.calls:
            await self._let_go()
            return
        call = stack.calls[0]
        step = Step(kind, stack.depth, isolate.scripts.spot(call["location"]), _function(call))
        if kind is StepKind.OUT:
            step.exits = await exits.watch(isolate, call)
            if stack.returning:
                # `return m;` is one place to V8: it will not stop there a second time.
                step.returned = await exits.keep(isolate, call["returnValue"])
        if kind is StepKind.OUT:
            await isolate.watch_throws(exits.MOST_THROWS)
        elif isolate.patience:
            # A pause at an exception on the way would end the step: V8's foresight has to do.
            self._muted[isolate] = isolate.patience
            await isolate.foresee(0)
        self._steps[isolate] = step
        await self._let_go(isolate, _STEPS[kind])

    async def restart_frame(self, isolate: Isolate, call: str) -> None:
        self._restarted.add(isolate)
        await self._let_go(isolate, "Debugger.restartFrame", callFrameId=call, mode="StepInto")

    async def _let_go(
        self, stepping: Isolate | None = None, method: str = "", **params: str
    ) -> None:
        """Let everything run that stands, one of them possibly for a step only."""
        self.standing = None
        self.thrown.infos.clear()
        for isolate, patience in [] if stepping is not None else list(self._muted.items()):
            del self._muted[isolate]
            await isolate.foresee(patience)
        for isolate in self._owner.isolates.values():
            if isolate.throws and isolate not in self._steps:
                await isolate.watch_throws(0)
        # The main thread comes last: it hands on what is said to the others, and cannot any more
        # when it waits for one of them to end.
        for isolate in reversed(list(self._owner.isolates.values())):
            isolate.failures = {}
            if isolate is not stepping and isolate.stack is not None:
                await isolate.go(self._nearings.way(isolate))
        if stepping is not None:
            await stepping.go(method, **params)

    async def pause(self) -> None:
        self._pausing = True
        for isolate in list(self._owner.isolates.values()):
            if isolate.stack is None:
                isolate.send("Debugger.pause")
        if self._owner.isolates[()].stack is None:
            self._owner.work(self._nudge(self._owner.isolates[()]))

    async def _nudge(self, main: Isolate) -> None:
        """Run some code in a program that waits in its event loop: there is none to pause in."""
        if not await main.stands(_IDLE_S) and self._pausing:
            main.send("Runtime.evaluate", expression=IDLE_CODE, silent=True)

    @property
    def moving(self) -> bool:
        """Whether the user has asked for a step or a pause that has not ended."""
        return self._pausing or bool(self._steps)

    def ended(self, isolate: Isolate) -> None:
        """A worker is gone, with whatever was to be told of it."""
        self._steps.pop(isolate, None)
        self.asked.discard(isolate)
        self._muted.pop(isolate, None)
        self._nearings.forget(isolate)
        self._untold = [each for each in self._untold if each[0] is not isolate]

    # --- V8's

    def paused(self, isolate: Isolate, params: dict[str, Any]) -> None:
        self._owner.work(self._sort(isolate, params))

    async def _sort(self, isolate: Isolate, params: dict[str, Any]) -> None:
        try:
            await isolate.read_maps()
            stopped = await self._meaning(isolate, params)
        except DebuggerError:
            if isolate.gone or isolate.wire.lost is not None:
                return  # it ended meanwhile, and that is told
            stopped = events.Stopped(StopReason.OTHER, isolate.id)
        except Exception:
            # It stands all the same, and whoever waits for it is told.
            log.exception("a pause of %s was not understood", isolate.name)
            stopped = events.Stopped(StopReason.OTHER, isolate.id)
        if stopped is not None:
            self.report(isolate, stopped)

    def report(self, isolate: Isolate, stopped: events.Stopped) -> None:
        """Tell of a stop; of a second one later."""
        self._steps.pop(isolate, None)
        self._restarted.discard(isolate)
        self.asked.discard(isolate)
        self._pausing = False
        # What was printed before the stop belongs to it.
        self._owner.drain()
        if self.standing is not None:
            self._untold.append((isolate, stopped))
            return
        self.standing = isolate
        for other in list(self._owner.isolates.values()):
            if other is not isolate and other.stack is None:
                self.asked.add(other)
                other.send("Debugger.pause")
        self._owner.emit(stopped)

    async def _meaning(self, isolate: Isolate, params: dict[str, Any]) -> events.Stopped | None:
        """Return what the user is to be told; None when the program was sent on its way."""
        reasons = {str(params.get("reason"))}
        if "ambiguous" in reasons:
            reasons |= {each["reason"] for each in (params.get("data") or {}).get("reasons") or ()}
        hits = [str(id) for id in params.get("hitBreakpoints") or ()]
        said, isolate.said = isolate.said, []
        url = self._url(isolate)
        if isolate.stack is None or not isolate.stack.calls:
            return events.Stopped(StopReason.OTHER, isolate.id)
        if "instrumentation" in reasons:
            await self._before_script(isolate, params)
            if isolate in self.entering and not url.startswith(("node:", OURS)):
                return await self._enter(isolate, url, [], moving=True)
            if reasons == {"instrumentation"}:
                await isolate.go()
                return None
        if isolate.marks.gates.compiles(hits):
            await self._before_compiling(isolate)
            return None
        if url == f"{OURS}monitor":
            return await self._or_go_on(isolate, await self.thrown.unforeseen(isolate))
        if isolate.stack is not None:
            await find_return(isolate.stack, isolate.scripts)
            await exits.tell_constructed(isolate)
        ids = isolate.marks.hit(hits, said)
        self._nearings.note(isolate, hits)
        entered = isolate.marks.gates.enters(hits) or "Break on start" in reasons
        if entered and isolate in self.entering:
            return await self._enter(isolate, url, ids)
        if entered and not ids:
            await isolate.go()  # its beginning was taken before
            return None
        if reasons & {"exception", "promiseRejection"}:
            met = await self.thrown.met(isolate, params, reasons)
            if met is None and await self._unwinds(isolate):
                return None
            return await self._or_go_on(isolate, met)
        ids += await self._nearings.arrived(isolate)
        if ids:
            await self._forget_exits(isolate)
            return events.Stopped(StopReason.BREAKPOINT, isolate.id, breakpoints=tuple(ids))
        if "OOM" in reasons:
            return events.Stopped(StopReason.OTHER, isolate.id, "almost out of memory")
        return await self._moved(isolate, url, hits, reasons)

    async def _enter(
        self, isolate: Isolate, url: str, ids: list[int], *, moving: bool = False
    ) -> events.Stopped | None:
        """The program stands before its first line; or the runtime does, before the module.

        *moving*: from here V8 takes no steps, so that a stop has to be at the first statement.
        """
        if url.startswith("node:"):
            await isolate.go()  # the module itself begins later
            return None
        stopped = await self.entering.pop(isolate)(isolate)
        await isolate.marks.gates.forget_entry()
        await isolate.marks.guard()
        if ids:
            return events.Stopped(StopReason.BREAKPOINT, isolate.id, breakpoints=tuple(ids))
        if stopped is not None and moving and isolate.stack is not None:

            async def arrived(isolate: Isolate) -> events.Stopped | None:
                return stopped

            self.entering[isolate] = arrived
            script = str(isolate.stack.calls[0]["location"]["scriptId"])
            await isolate.marks.gates.expect_start(script)
            await isolate.go()
            return None
        if stopped is None:
            await isolate.go()
        return stopped

    async def _moved(
        self, isolate: Isolate, url: str, hits: list[str], reasons: set[str]
    ) -> events.Stopped | None:
        """Sort out a pause that no breakpoint and no exception made."""
        step = self._steps.get(isolate)
        if url == f"{OURS}idle":
            assert isolate.stack is not None
            isolate.stack.idle = True
        if isolate in self.glanced and not self.moving:
            self.glanced[isolate].set()
            return None
        if (
            not self._pausing
            and isolate not in self.asked
            and self._nearings.is_on_the_way(isolate)
        ):
            assert isolate.stack is not None
            if step is None or isolate.stack.depth > step.depth:
                await self._go_on(isolate)
                return None
        if isolate in self._restarted and not self._pausing:
            return events.Stopped(StopReason.STEP, isolate.id)
        if step is not None and not self._pausing and url != f"{OURS}idle":
            return await self._stepped(isolate, step, hits)
        if isolate in self.asked and not self._pausing:
            self.asked.discard(isolate)
            if self.standing is None:
                await isolate.go()  # it is late: the program goes on already
            return None
        if self._pausing or (isolate.stack is not None and isolate.stack.idle):
            return events.Stopped(StopReason.PAUSE, isolate.id)
        if reasons <= _PLAIN_REASONS and not await is_debugger(isolate.stack, isolate.scripts):
            await self._go_on(isolate)  # the rest of a step that a breakpoint ended
            return None
        return events.Stopped(StopReason.OTHER, isolate.id, "debugger statement")

    @staticmethod
    def _url(isolate: Isolate) -> str:
        calls = isolate.stack.calls if isolate.stack is not None else []
        script = isolate.scripts.get(str(calls[0]["location"]["scriptId"])) if calls else None
        return script.url if script is not None else ""

    async def _or_go_on(
        self, isolate: Isolate, stopped: events.Stopped | None
    ) -> events.Stopped | None:
        if stopped is None:
            await self._go_on(isolate)
        else:
            await self._forget_exits(isolate)
        return stopped

    async def _go_on(self, isolate: Isolate) -> None:
        """Go on from a pause that nobody is to know of, a step included that it interrupted."""
        step, stack = self._steps.get(isolate), isolate.stack
        way = self._nearings.way(isolate)
        if step is None or stack is None or (stack.depth > step.depth and way != RESUME):
            await isolate.go(way)
        elif step.kind is not StepKind.OUT and stack.depth > step.depth:
            # Deeper than the step began: back to there first.
            step.strayed = True
            await isolate.go("Debugger.stepOut")
        else:
            await isolate.go(_STEPS[step.kind])

    # --- scripts that are about to run

    async def _before_script(self, isolate: Isolate, params: dict[str, Any]) -> None:
        data = params.get("data") or {}
        for reason in data.get("reasons") or ():
            data = reason.get("auxData") or data
        script = isolate.scripts.get(str(data.get("scriptId")))
        if script is not None:
            await isolate.marks.about_to_run(script)

    async def _before_compiling(self, isolate: Isolate) -> None:
        assert isolate.stack is not None
        call = isolate.stack.calls[0]
        answer = await isolate.ask(
            "Debugger.evaluateOnCallFrame",
            callFrameId=call["callFrameId"],
            expression=f"[String(arguments[0]),String({gates.WHAT})]",
            returnByValue=True,
            silent=True,
        )
        told = answer.get("result", {}).get("value")
        if fits(told, (str, str)):
            await isolate.marks.about_to_compile(told[1], told[0])
        await self._go_on(isolate)

    # --- steps

    async def _stepped(
        self, isolate: Isolate, step: Step, hits: list[str]
    ) -> events.Stopped | None:
        """Return the end of a step; None when it goes on: the line is not over yet."""
        stack = isolate.stack
        assert stack is not None
        step.tries += 1
        if step.tries > _MOST_TRIES:
            await self._forget_exits(isolate)
            return events.Stopped(StopReason.STEP, isolate.id)
        if step.kind is StepKind.OUT:
            return await self._stepped_out(isolate, stack, step, hits)
        if step.strayed and stack.depth > step.depth:
            await isolate.go("Debugger.stepOut")
            return None
        call = stack.calls[0]
        script = isolate.scripts.get(str(call["location"]["scriptId"]))
        spot = isolate.scripts.spot(call["location"])
        made_up = script is not None and isolate.scripts.map_of(script) and not spot.mapped
        if script is not None and (script.internal or (self.just_my_code and script.library)):
            # V8 cannot leave out the runtime's own code, which is from its snapshot. It may call
            # the user's: a few steps are worth it, not those through all of `console.log`.
            inward = step.kind is StepKind.INTO and step.detours < _MOST_DETOURS
            step.detours += 1
            step.strayed = not inward
            await isolate.go("Debugger.stepInto" if inward else "Debugger.stepOut")
            return None
        same_line = (spot.path, spot.line) == (step.spot.path, step.spot.line)
        same_function = same_line and _function(call) == step.function
        # What goes on after an await stands on another stack.
        same_frame = same_function and (
            stack.depth == step.depth
            or await isolate.scripts.has_on_line("await", call["location"])
        )
        step.strayed = False
        if made_up or same_frame:
            await isolate.go(_STEPS[StepKind.OVER if made_up else step.kind])
            return None
        if step.returned is not None:
            call["returnValue"] = step.returned
        return events.Stopped(StopReason.STEP, isolate.id)

    async def _unwinds(self, isolate: Isolate) -> bool:
        """Go on to whoever catches an exception; False where no step out is under way.

        V8's own step out passes by a handler in the very function that it is to arrive in.
        """
        step, stack = self._steps.get(isolate), isolate.stack
        if step is None or stack is None or step.kind is not StepKind.OUT or not isolate.throws:
            return False
        if self._nearings.way(isolate) != RESUME:
            return False
        await isolate.watch_throws(isolate.throws - 1)
        step.unwinding = True
        # A step into goes to whoever awaits an asynchronous function, too.
        await isolate.go("Debugger.stepInto")
        return True

    async def _stepped_out(
        self, isolate: Isolate, stack: Stack, step: Step, hits: list[str]
    ) -> events.Stopped | None:
        if step.unwinding:
            step.unwinding = False
            if step.holds(stack):
                await isolate.go("Debugger.stepOut")  # it was caught further in
                return None
            await self._forget_exits(isolate)
        at_exit = bool(step.exits & set(hits)) and "returnValue" in stack.calls[0]
        if at_exit and stack.depth == step.depth:
            step.returned = await exits.keep(isolate, stack.calls[0]["returnValue"])
            await self._forget_exits(isolate)
        elif not at_exit and stack.depth < step.depth:
            await self._forget_exits(isolate)
            if self._is_internal(isolate, stack) and stack.depth > 1:
                step.depth = stack.depth  # on to whoever called the runtime
                await isolate.go("Debugger.stepOut")
                return None
            if step.returned is not None:
                stack.calls[0]["returnValue"] = step.returned
            return events.Stopped(StopReason.STEP, isolate.id)
        elif not step.exits and stack.depth >= step.depth:
            # It was not a return that led here: the function was left, and something else runs.
            # The runtime calls nobody's code here: whoever waited for the function runs next.
            if self._is_internal(isolate, stack):
                step.kind = StepKind.INTO
                return await self._stepped(isolate, step, hits)
            if step.returned is not None:
                stack.calls[0]["returnValue"] = step.returned
            return events.Stopped(StopReason.STEP, isolate.id)
        await isolate.go("Debugger.stepOut")
        return None

    @staticmethod
    def _is_internal(isolate: Isolate, stack: Stack) -> bool:
        script = isolate.scripts.get(str(stack.calls[0]["location"]["scriptId"]))
        return script is not None and script.internal

    async def _forget_exits(self, isolate: Isolate) -> None:
        step = self._steps.get(isolate)
        ids: set[str] = set()
        if step is not None:
            ids, step.exits = step.exits, set()
        for id in ids:
            with contextlib.suppress(DebuggerError):
                await isolate.ask("Debugger.removeBreakpoint", breakpointId=id)
