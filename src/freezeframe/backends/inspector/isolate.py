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

from . import assertions, uncaught_prediction
from .async_functions import read_generator
from .breakpoint_conditions import BINDING
from .breakpoints import V8Breakpoints
from .channel import InspectorChannel, InspectorRefused
from .connection import InspectorEvent, Path
from .error_stacks import RAISED, UNCAUGHT
from .frames import V8Stack
from .protocol import fits
from .scripts import INTERNAL_URL, Script, Scripts
from .variables import GROUP, KEPT, V8Variables, realm_code

#: how long a change waits for a busy thread
_BUSY_TIMEOUT_S = 86_400.0
#: how many async callers V8 remembers
_ASYNC_DEPTH = 16
#: the function that pauses once all microtasks that were queued have run
LEFT = "afterMicrotasks"
#: runs inside the program: reports uncaught exceptions that V8 did not predict, after the fact
_MONITOR = """
const reported=new Set();
function uncaught(error,origin){if(!reported.has(error))debugger;reported.clear()}
process.on('uncaughtExceptionMonitor',uncaught);
function isFirstReport(error){
const first=!reported.has(error);reported.clear();reported.add(error);return first}
function off(){process.off('uncaughtExceptionMonitor',uncaught)}
const active=process.getActiveResourcesInfo;
function resources(){return active?active.call(process):[]}
Error.stackTraceLimit=1000;Error.prepareStackTrace=(error,sites)=>sites;
function isAwaited(){const site=new Error().stack.find(each=>each.isAsync());
return site!==undefined&&site.getPromiseIndex()===null}
function afterMicrotasks(){debugger}
function stopLater(){Promise.resolve().then(afterMicrotasks)}
return {isFirstReport,off,resources,isAwaited,stopLater};
"""
IDLE_CODE = f"(()=>{{}})()\n//# sourceURL={INTERNAL_URL}idle"


class IsolateHost(Protocol):
    """The program that an isolate belongs to."""

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> None: ...
    def on_output(self, stream: str, text: str) -> None: ...
    def breakpoint_changed(self, bound: BoundBreakpoint) -> None: ...
    def paused(self, isolate: Isolate, params: dict[str, Any]) -> None: ...
    def worker_started(self, parent: Isolate, params: dict[str, Any]) -> None: ...
    def worker_ended(self, path: Path) -> None: ...
    def waiting_for_disconnect(self, isolate: Isolate) -> None: ...
    def exiting(self, code: int) -> None: ...
    @property
    def root(self) -> str | None: ...


class Isolate:
    """The protocol's domains for one isolate, and the state of the isolate."""

    def __init__(
        self,
        channel: InspectorChannel,
        path: Path,
        id: int,
        name: str,
        host: IsolateHost,
        number: Callable[[], int],
    ) -> None:
        self.channel = channel
        self.path = path
        #: our number of the thread
        self.id = id
        self.name = name
        self._host = host
        self._number = number
        self.scripts = Scripts(self.request, host.root)
        self.breakpoints = V8Breakpoints(
            self._request_patiently, self.scripts, host.breakpoint_changed
        )
        self._turn = asyncio.Lock()
        self.values = V8Variables(self.request, number)
        #: the frames of the current stop; None while the isolate runs
        self.stack: V8Stack | None = None
        #: by breakpoint: why a condition could not be evaluated, since the last stop
        self.failures: dict[int, str] = {}
        #: breakpoints whose condition code reported a hit, since the last stop
        self.reported_hits: list[int] = []
        self.filters: set[str] = set()
        #: how many exceptions that V8 predicts to be caught are still scanned
        self.scan_limit = 0
        #: how many exceptions a step out still follows, because one may end the function
        self.throws = 0
        #: whether it runs tests
        self.testing = False
        self._monitor: str | None = None
        #: whether our agent is installed in the program
        self.prepared = False
        self.gone = False
        self._stopped = asyncio.Event()

    async def request(
        self, method: str, *, timeout_s: float | None = None, **params: Any
    ) -> dict[str, Any]:
        return await self.channel.request(self.path, method, params, timeout_s)

    async def _request_patiently(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request that must be done some time, however long the isolate is busy."""
        return await self.request(method, timeout_s=_BUSY_TIMEOUT_S, **params)

    async def in_turn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Apply a change after all earlier ones."""
        async with self._turn:
            await coroutine

    def send(self, method: str, **params: Any) -> None:
        """Send a request, and ignore the answer."""
        self.channel.send(self.path, method, params)

    def numbers(self, count: int) -> list[int]:
        return [self._number() for _ in range(count)]

    # --- start

    async def configure(self, *, follow: bool) -> None:
        """Enable what is needed. Requests that do not depend on each other are sent together."""
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
            *(self.request(method, **params) for method, params in requests), return_exceptions=True
        )
        for (method, _), answer in zip(requests, answers, strict=True):
            # Workers of node 18 have no NodeWorker domain, and no workers below them are visible.
            if isinstance(answer, InspectorRefused) and method.startswith("Node"):
                continue
            if isinstance(answer, BaseException):
                raise answer

    async def install_agent(self, more: str = "") -> dict[str, Any]:
        """Install our agent in the program before its code runs, and run *more* there.

        Return its `pid` and `version`; nothing if the agent is installed already, or cannot be yet.
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
            return {}  # too early: the runtime is not initialized yet
        answer = await self.request("Runtime.getProperties", objectId=found, ownProperties=True)
        made = {each["name"]: each.get("value") or {} for each in answer.get("result") or ()}
        pid, version = (made.get(name, {}).get("value") for name in ("pid", "version"))
        if not fits([pid, version], (int, str)) or not all(
            "objectId" in made.get(name, {}) for name in ("api", "monitor")
        ):
            return {}  # the program has changed its built-in objects
        self.prepared = True
        self.values.use(made["api"]["objectId"])
        self._monitor = made["monitor"]["objectId"]
        if made.get("tests", {}).get("value") is True:
            self.testing = True
            await self.set_exception_scan(assertions.SCAN_LIMIT)
        compilers = [made.get(name, {}).get("objectId") for name in ("module", "func")]
        self.breakpoints.script_load.use([str(each) for each in compilers if each is not None])
        await self.breakpoints.guard()
        return {"pid": pid, "version": version}

    async def _with_require(self, code: str) -> str | None:
        """Return the object id of what a function returns for `require`."""
        # The inspector has `require` in the main thread; newer runtimes have getBuiltinModule
        # everywhere.
        load = "typeof require==='function'?require:process.getBuiltinModule"
        url = f"\n//# sourceURL={INTERNAL_URL}monitor"
        answer = await self.evaluate_global(f"{code}({load}){url}", keep=True)
        calls = self.stack.calls if self.stack is not None else []
        if "exceptionDetails" in answer and calls:
            # A CommonJS module has its own.
            module_require = await self.request(
                "Debugger.evaluateOnCallFrame",
                callFrameId=calls[0]["callFrameId"],
                expression="require",
                silent=True,
            )
            if (
                module_require["result"]["type"] == "function"
                and "objectId" in module_require["result"]
            ):
                answer = await self.request(
                    "Runtime.callFunctionOn",
                    functionDeclaration=f"function(){{return {code}(this)}}{url}",
                    objectId=module_require["result"]["objectId"],
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
            locations = [call["location"] for call in stack.calls]
            locations += [call for _, call in stack.callers]
            await self.scripts.read_maps(
                {
                    id: self.scripts.get(id)
                    for id in (str(location["scriptId"]) for location in locations)
                }.values()
            )

    async def set_in_loaded_scripts(self) -> None:
        """Set the requested breakpoints in scripts that were parsed before we could handle them."""
        for script in self.scripts:
            await self.breakpoints.about_to_run(script)

    async def evaluate_global(self, code: str, *, keep: bool = False) -> dict[str, Any]:
        return await self.request(
            "Runtime.evaluate",
            expression=code,
            objectGroup=KEPT if keep else GROUP,
            includeCommandLineAPI=True,
            silent=True,
        )

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        self.filters = {filter.name for filter in filters}
        state = "all" if RAISED in self.filters else UNCAUGHT if self.filters else "none"
        if (state == UNCAUGHT and self.scan_limit) or self.throws:
            state = "all"
        await self.request("Debugger.setPauseOnExceptions", state=state)

    async def set_exception_scan(self, scan_limit: int) -> None:
        """Scan exceptions ourselves from now on (*scan_limit* of them), or stop doing so (0)."""
        self.scan_limit = scan_limit
        await self.set_filters([ExceptionFilter(name, name) for name in self.filters])

    async def watch_throws(self, count: int) -> None:
        """Pause at the next *count* exceptions, caught or not, which a step out may meet."""
        before, self.throws = self.throws, count
        if bool(before) != bool(count):
            await self.set_filters([ExceptionFilter(name, name) for name in self.filters])

    async def choose_exception_scan(self, first: Script | None) -> None:
        """Scan exceptions ourselves where V8 cannot predict in a program whose first script is
        *first*."""
        if first is not None and assertions.TESTS in await self.scripts.text_of(first):
            self.testing = True
        if self.testing:
            await self.set_exception_scan(assertions.SCAN_LIMIT)
        elif first is not None and first.module:
            await self.set_exception_scan(uncaught_prediction.SCAN_LIMIT)

    async def _scan_assertions(self) -> None:
        with contextlib.suppress(DebuggerError):
            await self.set_exception_scan(assertions.SCAN_LIMIT)

    # --- V8's events

    def on_event(self, event: InspectorEvent) -> None:
        params = event.params
        match event.method:
            case "Debugger.scriptParsed":
                script = self.scripts.parsed(params)
                if not self.testing and assertions.is_runner(script.url):
                    self.testing = True
                    self._host.start_task(self._scan_assertions())
            case "Debugger.paused":
                self.stack = V8Stack.of(params, self._number)
                self._stopped.set()
                self._host.paused(self, params)
            case "Debugger.resumed":
                self._stopped.clear()
            case "Debugger.breakpointResolved":
                self.breakpoints.resolved(params)
            case "Runtime.bindingCalled":
                if params.get("name") == BINDING:
                    self._on_binding_call(params["payload"])
            case "NodeWorker.attachedToWorker":
                self._host.worker_started(self, params)
            case "NodeWorker.detachedFromWorker":
                self._host.worker_ended((*self.path, str(params["sessionId"])))
            case "NodeRuntime.waitingForDisconnect":
                self._host.waiting_for_disconnect(self)

    def _on_binding_call(self, payload: str) -> None:
        """Handle a report of our own code; the program can call the function too."""
        try:
            message = json.loads(payload)
        except (ValueError, RecursionError):
            return
        if fits(message, {"log": int, "text": str}):
            self._host.on_output("log", f"{message['text']}\n")
        elif fits(message, {"failed": int, "why": str}):
            self.failures[message["failed"]] = message["why"]
        elif fits(message, {"exit": int}):
            self._host.exiting(message["exit"])
        elif fits(message, {"hit": [int]}):
            self.reported_hits += message["hit"]

    async def wait_stopped(self, timeout_s: float) -> bool:
        """Wait until the isolate is stopped; return False if it does not stop."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._stopped.wait()
        except TimeoutError:
            return False
        return self.stack is not None

    # --- execution

    async def resume(self, method: str = "Debugger.resume", **params: Any) -> None:
        """Resume the isolate; all frames and values become invalid."""
        frames = self.stack.calls[:1] if self.stack is not None else []
        if method == "Debugger.stepOut":
            for call in frames:
                if await read_generator(self.scripts, call):
                    method = "Debugger.stepOver"  # V8 cannot step out of one
        self.release()
        try:
            await self.request(method, **params)
        except InspectorRefused as error:
            # The isolate was resumed otherwise, or its stop was over already.
            if "paused" not in error.message:
                raise

    def release(self) -> None:
        self.stack = None
        self._stopped.clear()
        self.reported_hits = []
        self.values.forget()
        self.send("Runtime.releaseObjectGroup", objectGroup=GROUP)

    async def note_reported(self, thrown: dict[str, Any]) -> bool:
        """Note that an exception is reported to the user; return False if it was reported before.

        An uncaught exception is seen several times: when the runtime rethrows it, and at the end.
        """
        if self._monitor is None:
            return True
        argument = {"objectId": thrown["objectId"]} if "objectId" in thrown else {}
        for key in ("value", "unserializableValue"):
            if key in thrown:
                argument = {key: thrown[key]}
        try:
            answer = await self.request(
                "Runtime.callFunctionOn",
                functionDeclaration="function(e){return this.isFirstReport(e)}",
                objectId=self._monitor,
                arguments=[argument],
                returnByValue=True,
                silent=True,
            )
        except DebuggerError:
            return True  # at worst it is reported twice
        return bool(answer.get("result", {}).get("value", True))

    async def resources(self) -> list[str]:
        """Return what keeps the event loop alive, by the runtime's names; [] where unknown."""
        names = await self._call_monitor("resources")
        return names if fits(names, [str]) else []

    async def is_awaited(self) -> bool:
        """Return whether an async function awaits the one that is paused, after an await of it."""
        return await self._call_monitor("isAwaited") is True

    async def stop_after_microtasks(self) -> None:
        """Pause, in a function called LEFT, when the microtasks that are queued now have run."""
        await self._call_monitor("stopLater")

    async def _call_monitor(self, name: str) -> Any:
        if self._monitor is None:
            return None
        answer = await self.request(
            "Runtime.callFunctionOn",
            functionDeclaration=f"function(){{return this.{name}()}}",
            objectId=self._monitor,
            returnByValue=True,
            silent=True,
        )
        return answer.get("result", {}).get("value")

    async def uninstall_agent(self) -> None:
        """Remove our agent from the program."""
        await self._call_monitor("off")
        await self.request("Debugger.disable")
        await self.request("Runtime.removeBinding", name=BINDING)
        await self.evaluate_global(f"delete globalThis.{BINDING}")
