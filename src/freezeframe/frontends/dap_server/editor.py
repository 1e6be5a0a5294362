"""One editor: its requests, and the session that it has joined or started."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from freezeframe.dap_framing import Message, ProtocolError
from freezeframe.errors import FreezeframeError, NoSession, UserError
from freezeframe.frontends.daemon_client import DaemonClient

from . import capabilities, machine
from .breakpoints import EditorBreakpoints
from .connection import Body, EditorConnection
from .followed_events import FollowedEvents, stopped
from .inspection import Inspector, exception_info, runs_code
from .launching import directory, names_session, start_arguments

#: how long a program may take to stop when the editor pauses it
_PAUSE_S = 10.0
#: requests that are answered beside others: they change nothing, or must not wait
_CONCURRENT = frozenset(
    (
        *("threads", "stackTrace", "scopes", "variables", "evaluate", "source", "completions"),
        *("exceptionInfo", "readMemory", "disassemble", "cancel", "disconnect", "terminate"),
    )
)
#: requests that take the session over: the person at the editor has the wheel
_CHANGING = frozenset(
    (
        *("continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "pause"),
        *("restart", "restartFrame", "setVariable", "setExpression", "writeMemory", "terminate"),
    )
)
_STEPS = {"next": "next", "stepIn": "step", "stepOut": "finish"}
_REVERSE = {"stepBack": "back", "reverseContinue": "reverse_continue"}

Handler = Callable[[Mapping[str, Any]], Awaitable[Body | None]]


class Editor:
    """Serves one connection until the editor leaves."""

    def __init__(
        self, connection: EditorConnection, daemon: DaemonClient, token: str | None = None
    ) -> None:
        """With *token*, only an editor that gives it in `launch` or `attach` is served."""
        self._connection = connection
        self._daemon = daemon
        self._token = token
        self._owner = {"id": secrets.token_hex(8), "kind": "editor", "name": "an editor"}
        self._session: str | None = None
        self._launched = False
        self._is_stopped = False
        self._restarting = False
        self._stop: Mapping[str, Any] | None = None
        self._starts_children = False
        self._children: set[str] = set()
        self._threads: set[int] = set()
        self._start: Callable[[], Awaitable[None]] | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._in_order = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None
        self.resuming = asyncio.Lock()
        self._inspector = Inspector(self._call)
        self._breakpoints = EditorBreakpoints(self._call, connection.event)
        self._events = FollowedEvents(self._call, connection.event, self)
        self._handlers: dict[str, Handler] = self._table()

    async def serve(self) -> None:
        """Answer requests until the editor disconnects."""
        try:
            async for message in self._connection.messages():
                if message.get("type") == "request":
                    self._take(message)
        except ProtocolError:
            pass  # whoever sent that is not an editor
        finally:
            for task in [*self._tasks.values(), *filter(None, (self._following,))]:
                task.cancel()
            await self._release()
            await self._connection.close()

    def _take(self, request: Message) -> None:
        command, seq = request.get("command"), request.get("seq")
        if not isinstance(command, str) or not isinstance(seq, int):
            return
        task = asyncio.create_task(self._answer(request, command))
        self._tasks[seq] = task
        task.add_done_callback(lambda _: self._tasks.pop(seq, None))

    async def _answer(self, request: Message, command: str) -> None:
        arguments = request.get("arguments")
        arguments = arguments if isinstance(arguments, dict) else {}
        try:
            if command in ("launch", "attach"):
                await self._begin(request, command, arguments)
                return
            handler = self._handlers.get(command)
            if handler is None:
                self._connection.refuse(request, f"`{command}` is not supported.")
            elif command in _CONCURRENT:
                if command == "evaluate" and runs_code(arguments):
                    await self._take_over()
                self._connection.respond(request, await handler(arguments))
            else:
                async with self._in_order:
                    if command in _CHANGING:
                        await self._take_over()
                    self._connection.respond(request, await handler(arguments))
            await self._after(command)
        except FreezeframeError as error:
            self._connection.refuse(request, error.message, error.next)
        except asyncio.CancelledError:
            self._connection.refuse(request, "cancelled")
        except (KeyError, ValueError, TypeError) as error:
            self._connection.refuse(request, f"the arguments of `{command}` are wrong: {error!r}.")

    async def _after(self, command: str) -> None:
        """Do what follows the response to a request."""
        if command == "configurationDone" and self._start is not None:
            start, self._start = self._start, None
            await start()
        elif command == "disconnect":
            await self._connection.close()

    # --- the daemon

    async def _call(
        self,
        command: str | None,
        args: Body,
        *,
        thread: int | None = None,
        frame: int | None = None,
        line: str | None = None,
    ) -> dict[str, Any]:
        """Return the result of an operation, or the text of a command line."""
        request: Body = {
            "session": self._session,
            "owner": self._owner,
            "text": line is not None,
            "notes": False,
            "peek": True,
        }
        request |= {"line": line} if line is not None else {"command": command, "args": args}
        request |= {} if thread is None else {"thread": thread}
        request |= {} if frame is None else {"frame": frame}
        answer = await self._daemon.call(request)
        result: dict[str, Any] = answer if line is not None else answer["result"]
        return result

    async def _take_over(self) -> None:
        """Make the editor the owner of the session: others may not change it meanwhile."""
        if self._session is not None:
            await self._call("control", {"action": "take"})

    async def _release(self) -> None:
        if self._session is not None:
            try:
                await self._call("control", {"action": "release"})
            except FreezeframeError:
                pass  # the session or the daemon has ended

    # --- launch and attach

    async def _begin(self, request: Message, command: str, arguments: Mapping[str, Any]) -> None:
        """Find the session or the program; start it when the editor has set its breakpoints."""
        if self._token is not None:
            given = str(arguments.get("token", ""))
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                raise UserError("`token` is not the one that `dbg dap` has printed.", code="token")
        self._daemon.set_project(directory(arguments, self._daemon.cwd))
        attaches_session = names_session(command, arguments)
        if attaches_session:
            await self._join(arguments.get("session"))
        else:
            operation = start_arguments({**arguments, "request": command}, self._daemon.cwd)
        await self._events.mark()

        async def start() -> None:
            try:
                if not attaches_session:
                    report = await self._call(*operation)
                    self._launched = command == "launch"
                    self._session = report["session"]
                    await self._report_capabilities()
            except FreezeframeError as error:
                self._connection.refuse(request, error.message, error.next)
                self._connection.event("terminated", {})
                return
            self._connection.respond(request)
            await self._show_session()

        self._start = start
        self._connection.event("initialized")

    async def _join(self, name: object) -> None:
        """Join a session by its name, or the current one. Raises NoSession."""
        listed = (await self._call("sessions", {})).get("sessions", ())
        found = [
            each
            for each in listed
            if (each["name"] == name if name else each.get("current"))
            and each["state"] != "terminated"
        ]
        if not found:
            live = [each["name"] for each in listed if each["state"] != "terminated"]
            which = f"{name!r} " if name else ""
            there = f"there are {', '.join(live)}" if live else "there is none"
            raise NoSession(
                f"no session {which}runs in {self._daemon.cwd}; {there}.", next="dbg sessions"
            )
        self._session = found[0]["name"]
        await self._report_capabilities()

    async def _report_capabilities(self) -> None:
        can = (await self._call("tool", {})).get("can", ())
        self._inspector.features = frozenset(can)
        filters = list((await self._call("catch_list", {})).get("filters", ()))
        self._breakpoints.offer_filters(filters)
        found = capabilities.of_session(can, filters)
        self._connection.event("capabilities", {"capabilities": found})

    async def _show_session(self) -> None:
        """Tell the state of the session, and follow it from then on."""
        assert self._session is not None
        self._events.session = self._session
        await self._events.show_output(earlier=True)
        await self._breakpoints.announce()
        self._following = asyncio.create_task(self._follow())
        listed = (await self._call("sessions", {})).get("sessions", ())
        state = next((s["state"] for s in listed if s["name"] == self._session), "terminated")
        if state == "stopped" and not self._is_stopped:
            await self.on_stopped()
        elif state == "terminated":
            await self.on_ended()

    async def _follow(self) -> None:
        try:
            await self._events.follow()
        except FreezeframeError as error:  # the daemon has ended
            self._connection.event("output", {"category": "important", "output": f"{error}\n"})
            self._connection.event("terminated", {})

    # --- what happens in the session

    def on_resumed(self, command: str) -> None:
        self._inspector.forget()
        if not self._is_stopped:
            return  # the editor's own request
        self._is_stopped = False
        thread = self._inspector.current_thread or 0
        text = f"[dbg {command}]\n" if command else ""
        if text:
            self._connection.event("output", {"category": "console", "output": text})
        self._connection.event("continued", {"threadId": thread, "allThreadsContinued": True})

    async def on_stopped(self) -> None:
        report = await self._call("context", {"context": 0})
        stop = report.get("stop")
        if report["state"] != "stopped" or stop is None or report["session"] != self._session:
            return  # it runs again, and its next stop follows
        self._inspector.forget()
        self._stop, self._is_stopped = stop, True
        self._inspector.current_thread = stop["thread"]["id"]
        self._connection.event("stopped", stopped(stop))

    async def on_ended(self) -> bool:
        if self._restarting:
            self._restarting = False
            return False
        listed = (await self._call("sessions", {})).get("sessions", ())
        found = next((each for each in listed if each["name"] == self._session), None)
        if found is not None and found["state"] not in ("terminated", "idle"):
            return False  # the agent has started it again
        exit = (found or {}).get("exit") or {}
        self._connection.event("exited", {"exitCode": exit.get("code") or 0})
        self._connection.event("terminated", {})
        return True

    async def on_breakpoints(self) -> None:
        await self._breakpoints.announce()

    async def on_child(self) -> None:
        """Ask the editor to join new children, each in a debug session of its own."""
        if not self._starts_children:
            return
        listed = (await self._call("sessions", {})).get("sessions", ())
        for each in listed:
            name = each["name"]
            if each.get("parent") == self._session and name not in self._children:
                self._children.add(name)
                configuration = {"name": name, "session": name, "workspace": self._daemon.cwd}
                self._connection.request(
                    "startDebugging", {"request": "attach", "configuration": configuration}
                )

    # --- requests

    def _table(self) -> dict[str, Handler]:
        steps = dict.fromkeys((*_STEPS, "continue", *_REVERSE))
        return {
            "initialize": self._initialize,
            "configurationDone": self._nothing,
            "setBreakpoints": self._set_breakpoints,
            "setFunctionBreakpoints": self._set_function_breakpoints,
            "setExceptionBreakpoints": self._set_exception_breakpoints,
            "setDataBreakpoints": self._set_data_breakpoints,
            "dataBreakpointInfo": self._inspector.data_breakpoint,
            "threads": self._list_threads,
            "stackTrace": self._inspector.stack,
            "scopes": lambda a: _as("scopes", self._inspector.scopes(a["frameId"])),
            "variables": lambda a: _as("variables", self._inspector.variables(a)),
            "setVariable": self._inspector.set_variable,
            "setExpression": self._inspector.set_expression,
            "evaluate": self._inspector.evaluate,
            "completions": lambda a: _as("targets", self._inspector.completions(a)),
            "source": lambda a: _as("content", self._inspector.source(a)),
            "exceptionInfo": self._exception_info,
            "readMemory": lambda a: machine.read_memory(self._call, a),
            "writeMemory": lambda a: machine.write_memory(self._call, a),
            "disassemble": lambda a: _as("instructions", machine.disassemble(self._call, a)),
            "pause": self._pause,
            "restart": self._restart,
            "restartFrame": self._restart_frame,
            "terminate": self._terminate,
            "disconnect": self._disconnect,
            "cancel": self._cancel,
            **{name: self._resumer(name) for name in steps},
        }

    async def _initialize(self, arguments: Mapping[str, Any]) -> Body:
        self._owner["name"] = str(arguments.get("clientName") or "an editor")
        self._starts_children = bool(arguments.get("supportsStartDebuggingRequest"))
        return capabilities.general()

    async def _nothing(self, arguments: Mapping[str, Any]) -> None:
        return None

    async def _set_breakpoints(self, arguments: Mapping[str, Any]) -> Body:
        source = arguments["source"]
        path = source.get("path")
        requested = arguments.get("breakpoints") or [
            {"line": line} for line in arguments.get("lines") or ()
        ]
        if not path:
            message = "a breakpoint needs the path of a file"
            return {"breakpoints": [{"verified": False, "message": message} for _ in requested]}
        return {"breakpoints": await self._breakpoints.set_lines(str(path), requested)}

    async def _set_function_breakpoints(self, arguments: Mapping[str, Any]) -> Body:
        requested = arguments.get("breakpoints") or []
        return {"breakpoints": await self._breakpoints.set_functions(requested)}

    async def _set_data_breakpoints(self, arguments: Mapping[str, Any]) -> Body:
        requested = arguments.get("breakpoints") or []
        return {"breakpoints": await self._breakpoints.set_watchpoints(requested)}

    async def _set_exception_breakpoints(self, arguments: Mapping[str, Any]) -> None:
        await self._breakpoints.set_filters(arguments)

    async def _list_threads(self, arguments: Mapping[str, Any]) -> Body:
        try:
            found = await self._inspector.threads()
        except FreezeframeError:  # not while it runs, or before it is started
            found = [{"id": id, "name": "?"} for id in sorted(self._threads)]
        now = {each["id"] for each in found}
        for id in sorted(now - self._threads if self._threads else ()):
            self._connection.event("thread", {"reason": "started", "threadId": id})
        for id in sorted(self._threads - now):
            self._connection.event("thread", {"reason": "exited", "threadId": id})
        self._threads = now
        return {"threads": found}

    async def _exception_info(self, arguments: Mapping[str, Any]) -> Body:
        return exception_info(self._stop if self._is_stopped else None)

    def _resumer(self, request: str) -> Handler:
        async def resume(arguments: Mapping[str, Any]) -> Body | None:
            args: Body = {"wait": False}
            if request in _REVERSE:
                args, command = {}, _REVERSE[request]
            else:
                command = _STEPS.get(request, "continue")
            if arguments.get("granularity") == "instruction" and request in ("next", "stepIn"):
                args["instruction"] = True
            thread = arguments.get("threadId")
            other = thread if thread and thread != self._inspector.current_thread else None
            await self._resume(command, args, other)
            return {"allThreadsContinued": True} if request == "continue" else None

        return resume

    async def _resume(self, command: str, args: Body, thread: int | None = None) -> None:
        """Resume the program; its next stop is told after the response."""
        async with self.resuming:
            before, self._is_stopped = self._is_stopped, False
            try:
                if thread is not None:
                    await self._call("thread", {"id": thread})
                await self._call(command, args)
            except FreezeframeError:
                self._is_stopped = before
                raise
            self._inspector.forget()

    async def _pause(self, arguments: Mapping[str, Any]) -> None:
        async with self.resuming:
            await self._call("pause", {"timeout": _PAUSE_S})

    async def _restart(self, arguments: Mapping[str, Any]) -> None:
        async with self.resuming:
            self._restarting = True
            self._is_stopped = False
            try:
                await self._call("restart", {"wait": False})
            except FreezeframeError:
                self._restarting = False
                raise

    async def _restart_frame(self, arguments: Mapping[str, Any]) -> None:
        frame = self._inspector.frame(arguments["frameId"])
        await self._resume("restart_frame", {"index": frame.index})

    async def _terminate(self, arguments: Mapping[str, Any]) -> None:
        await self._call("stop", {})

    async def _disconnect(self, arguments: Mapping[str, Any]) -> None:
        """End a program that the editor has launched, or that it says to end; leave others."""
        ends = arguments.get("terminateDebuggee")
        if self._session is not None and (self._launched if ends is None else ends):
            try:
                await self._call("stop", {})
            except FreezeframeError:
                pass  # it has ended

    async def _cancel(self, arguments: Mapping[str, Any]) -> None:
        task = self._tasks.get(arguments.get("requestId") or 0)
        if task is not None:
            task.cancel()


async def _as(name: str, found: Awaitable[Any]) -> Body:
    return {name: await found}
