"""One isolate of V8: the main thread of a program, or one of its workers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from freezeframe.backends.backend import BoundBreakpoint
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import ExceptionFilter

from . import assertions, foresight
from .conditions import BINDING
from .connection import Event, Path
from .exceptions import RAISED, UNCAUGHT
from .frames import Stack
from .marks import Marks
from .protocol import fits
from .scripts import OURS, Script, Scripts
from .values import GROUP, KEPT, Values, realm_code
from .wire import Refused, Wire

#: how long a change waits for a thread that is busy elsewhere
_PATIENT_S = 86_400.0
#: how far back V8 remembers who started what runs asynchronously
_ASYNC_DEPTH = 16
#: runs inside: tells of what nobody caught, after the fact, where V8 did not see it coming
_MONITOR = """
const told=new Set();
function uncaught(error,origin){if(!told.has(error))debugger;told.clear()}
process.on('uncaughtExceptionMonitor',uncaught);
function tell(error){const first=!told.has(error);told.clear();told.add(error);return first}
function off(){process.off('uncaughtExceptionMonitor',uncaught)}
const active=process.getActiveResourcesInfo;
function resources(){return active?active.call(process):[]}
return {tell,off,resources};
"""
IDLE_CODE = f"(()=>{{}})()\n//# sourceURL={OURS}idle"


class Host(Protocol):
    """Who an isolate belongs to."""

    def work(self, what: Coroutine[Any, Any, None]) -> None: ...
    def printed(self, stream: str, text: str) -> None: ...
    def moved(self, bound: BoundBreakpoint) -> None: ...
    def paused(self, isolate: Isolate, params: dict[str, Any]) -> None: ...
    def worker_started(self, parent: Isolate, params: dict[str, Any]) -> None: ...
    def worker_ended(self, path: Path) -> None: ...
    def leaving(self, isolate: Isolate) -> None: ...
    def exiting(self, code: int) -> None: ...
    @property
    def root(self) -> str | None: ...


class Isolate:
    """The protocol's domains for one isolate, and what is known of it."""

    def __init__(
        self,
        wire: Wire,
        path: Path,
        id: int,
        name: str,
        host: Host,
        number: Callable[[], int],
    ) -> None:
        self.wire = wire
        self.path = path
        #: our number of the thread
        self.id = id
        self.name = name
        self._host = host
        self._number = number
        self.scripts = Scripts(self.ask, host.root)
        self.marks = Marks(self._ask_patiently, self.scripts, host.moved)
        self._turn = asyncio.Lock()
        self.values = Values(self.ask, number)
        #: the frames of the stop that it stands at; None while it runs
        self.stack: Stack | None = None
        #: by breakpoint: why a condition could not be evaluated, since the last stop
        self.failures: dict[int, str] = {}
        #: breakpoints whose code said that they hold, since the last stop
        self.said: list[int] = []
        self.filters: set[str] = set()
        #: exceptions that V8 takes for caught and that are looked at all the same
        self.patience = 0
        #: exceptions that a step out follows, for it may be one that ends the function
        self.throws = 0
        #: it runs tests
        self.testing = False
        self._monitor: str | None = None
        #: what must be in the program is there
        self.prepared = False
        self.gone = False
        self._stood = asyncio.Event()

    async def ask(
        self, method: str, *, timeout_s: float | None = None, **params: Any
    ) -> dict[str, Any]:
        return await self.wire.request(self.path, method, params, timeout_s)

    async def _ask_patiently(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask what has to be done some time, however long the isolate is busy."""
        return await self.ask(method, timeout_s=_PATIENT_S, **params)

    async def in_turn(self, change: Coroutine[Any, Any, None]) -> None:
        """Make a change after those before it."""
        async with self._turn:
            await change

    def send(self, method: str, **params: Any) -> None:
        """Ask, and let the answer go."""
        self.wire.send(self.path, method, params)

    def numbers(self, count: int) -> list[int]:
        return [self._number() for _ in range(count)]

    # --- start

    async def configure(self, *, follow: bool) -> None:
        """Switch on what is needed. Requests that do not depend on each other go together."""
        requests: list[tuple[str, dict[str, Any]]] = [
            ("Debugger.enable", {}),
            ("Debugger.setAsyncCallStackDepth", {"maxDepth": _ASYNC_DEPTH}),
            ("Runtime.addBinding", {"name": BINDING}),
        ]
        if not self.path:
            requests += [
                ("NodeRuntime.enable", {}),
                ("NodeRuntime.notifyWhenWaitingForDisconnect", {"enabled": True}),
            ]
        if follow:
            requests.append(("NodeWorker.enable", {"waitForDebuggerOnStart": True}))
        answers = await asyncio.gather(
            *(self.ask(method, **params) for method, params in requests), return_exceptions=True
        )
        for (method, _), answer in zip(requests, answers, strict=True):
            # Workers of node 18 have no NodeWorker domain of their own, and none below them.
            if isinstance(answer, Refused) and method.startswith("Node"):
                continue
            if isinstance(answer, BaseException):
                raise answer

    async def settle_in(self, more: str = "") -> dict[str, Any]:
        """Put into the program what must be there before its code, and run *more* there.

        Returns its `pid` and `version`; nothing where that is done, or cannot be done yet.
        """
        if self.prepared:
            return {}
        code = (
            f"((load)=>{{const module=load('module').prototype._compile,"
            f"func=load('vm').compileFunction;{realm_code(_MONITOR)};{more};"
            "return {api,monitor:beside,module,func,pid:process.pid,version:process.version,"
            "tests:'NODE_TEST_CONTEXT' in process.env}})"
        )
        found = await self._with_require(code)
        if found is None:
            return {}  # too early: the runtime is not there yet
        answer = await self.ask("Runtime.getProperties", objectId=found, ownProperties=True)
        made = {each["name"]: each.get("value") or {} for each in answer.get("result") or ()}
        pid, version = (made.get(name, {}).get("value") for name in ("pid", "version"))
        if not fits([pid, version], (int, str)) or not all(
            "objectId" in made.get(name, {}) for name in ("api", "monitor")
        ):
            return {}  # the program has changed what it is made of
        self.prepared = True
        self.values.use(made["api"]["objectId"])
        self._monitor = made["monitor"]["objectId"]
        if made.get("tests", {}).get("value") is True:
            self.testing = True
            await self.foresee(assertions.PATIENCE)
        compilers = [made.get(name, {}).get("objectId") for name in ("module", "func")]
        self.marks.gates.use([str(each) for each in compilers if each is not None])
        await self.marks.guard()
        return {"pid": pid, "version": version}

    async def _with_require(self, code: str) -> str | None:
        """Return what a function gives for `require`, as an object of V8's."""
        # The inspector has one in the main thread; newer runtimes have a way to it everywhere.
        load = "typeof require==='function'?require:process.getBuiltinModule"
        url = f"\n//# sourceURL={OURS}monitor"
        answer = await self.evaluate_global(f"{code}({load}){url}", keep=True)
        calls = self.stack.calls if self.stack is not None else []
        if "exceptionDetails" in answer and calls:
            # A module of CommonJS has its own.
            own = await self.ask(
                "Debugger.evaluateOnCallFrame",
                callFrameId=calls[0]["callFrameId"],
                expression="require",
                silent=True,
            )
            if own["result"]["type"] == "function" and "objectId" in own["result"]:
                answer = await self.ask(
                    "Runtime.callFunctionOn",
                    functionDeclaration=f"function(){{return {code}(this)}}{url}",
                    objectId=own["result"]["objectId"],
                    objectGroup=KEPT,
                    silent=True,
                )
        if "exceptionDetails" in answer:
            return None
        found = answer["result"].get("objectId")
        return str(found) if found is not None else None

    async def read_maps(self) -> None:
        """Read the source maps of everything on the stack."""
        stack = self.stack
        if stack is not None:
            places = [call["location"] for call in stack.calls]
            places += [call for _, call in stack.callers]
            await self.scripts.read_maps(
                {
                    id: self.scripts.get(id) for id in (str(place["scriptId"]) for place in places)
                }.values()
            )

    async def look_at_scripts(self) -> None:
        """Set what is wanted in scripts that were read before there was a way to look at them."""
        for script in self.scripts:
            await self.marks.about_to_run(script)

    async def evaluate_global(self, code: str, *, keep: bool = False) -> dict[str, Any]:
        return await self.ask(
            "Runtime.evaluate",
            expression=code,
            objectGroup=KEPT if keep else GROUP,
            includeCommandLineAPI=True,
            silent=True,
        )

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        self.filters = {filter.name for filter in filters}
        state = "all" if RAISED in self.filters else UNCAUGHT if self.filters else "none"
        if (state == UNCAUGHT and self.patience) or self.throws:
            state = "all"
        await self.ask("Debugger.setPauseOnExceptions", state=state)

    async def foresee(self, patience: int) -> None:
        """Look at exceptions ourselves from now on, or no longer."""
        self.patience = patience
        await self.set_filters([ExceptionFilter(name, name) for name in self.filters])

    async def watch_throws(self, count: int) -> None:
        """Pause at so many exceptions, caught or not, that a step out may meet."""
        before, self.throws = self.throws, count
        if bool(before) != bool(count):
            await self.set_filters([ExceptionFilter(name, name) for name in self.filters])

    async def foresee_in(self, first: Script | None) -> None:
        """Look at exceptions ourselves where V8 cannot tell in a program that begins so."""
        if first is not None and assertions.TESTS in await self.scripts.text_of(first):
            self.testing = True
        if self.testing:
            await self.foresee(assertions.PATIENCE)
        elif first is not None and first.module:
            await self.foresee(foresight.PATIENCE)

    async def _look_for_assertions(self) -> None:
        with contextlib.suppress(DebuggerError):
            await self.foresee(assertions.PATIENCE)

    # --- what V8 reports

    def hear(self, event: Event) -> None:
        params = event.params
        match event.method:
            case "Debugger.scriptParsed":
                script = self.scripts.parsed(params)
                if not self.testing and assertions.is_runner(script.url):
                    self.testing = True
                    self._host.work(self._look_for_assertions())
            case "Debugger.paused":
                self.stack = Stack.of(params, self._number)
                self._stood.set()
                self._host.paused(self, params)
            case "Debugger.resumed":
                self._stood.clear()
            case "Debugger.breakpointResolved":
                self.marks.resolved(params)
            case "Runtime.bindingCalled":
                if params.get("name") == BINDING:
                    self._said(params["payload"])
            case "NodeWorker.attachedToWorker":
                self._host.worker_started(self, params)
            case "NodeWorker.detachedFromWorker":
                self._host.worker_ended((*self.path, str(params["sessionId"])))
            case "NodeRuntime.waitingForDisconnect":
                self._host.leaving(self)

    def _said(self, payload: str) -> None:
        """Take in what our own code told; the program can call the function too."""
        try:
            said = json.loads(payload)
        except (ValueError, RecursionError):
            return
        if fits(said, {"log": int, "text": str}):
            self._host.printed("log", f"{said['text']}\n")
        elif fits(said, {"failed": int, "why": str}):
            self.failures[said["failed"]] = said["why"]
        elif fits(said, {"exit": int}):
            self._host.exiting(said["exit"])
        elif fits(said, {"hit": [int]}):
            self.said += said["hit"]

    async def stands(self, timeout_s: float) -> bool:
        """Wait until it stands still; False when it does not."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._stood.wait()
        except TimeoutError:
            return False
        return self.stack is not None

    # --- moving

    async def go(self, method: str = "Debugger.resume", **params: Any) -> None:
        """Let it run; everything that was handed out dies."""
        self.release()
        try:
            await self.ask(method, **params)
        except Refused as error:
            # It was resumed by somebody else, or its stop was over already.
            if "paused" not in error.message:
                raise

    def release(self) -> None:
        self.stack = None
        self._stood.clear()
        self.said = []
        self.values.forget()
        self.send("Runtime.releaseObjectGroup", objectGroup=GROUP)

    async def tell(self, thrown: dict[str, Any]) -> bool:
        """Note that an exception is told to the user; False when it was told before.

        What nobody catches comes by more than once: thrown again by the runtime, and at last.
        """
        if self._monitor is None:
            return True
        argument = {"objectId": thrown["objectId"]} if "objectId" in thrown else {}
        for key in ("value", "unserializableValue"):
            if key in thrown:
                argument = {key: thrown[key]}
        try:
            answer = await self.ask(
                "Runtime.callFunctionOn",
                functionDeclaration="function(e){return this.tell(e)}",
                objectId=self._monitor,
                arguments=[argument],
                returnByValue=True,
                silent=True,
            )
        except DebuggerError:
            return True  # at worst it is told twice
        return bool(answer.get("result", {}).get("value", True))

    async def resources(self) -> list[str]:
        """Return what keeps the event loop alive, by the runtime's names; [] where unknown."""
        if self._monitor is None:
            return []
        answer = await self.ask(
            "Runtime.callFunctionOn",
            functionDeclaration="function(){return this.resources()}",
            objectId=self._monitor,
            returnByValue=True,
            silent=True,
        )
        told = answer.get("result", {}).get("value")
        return told if fits(told, [str]) else []

    async def leave(self) -> None:
        """Take out of the program what was put into it."""
        if self._monitor is not None:
            await self.ask(
                "Runtime.callFunctionOn",
                functionDeclaration="function(){this.off()}",
                objectId=self._monitor,
                silent=True,
            )
        await self.ask("Debugger.disable")
        await self.ask("Runtime.removeBinding", name=BINDING)
        await self.evaluate_global(f"delete globalThis.{BINDING}")
