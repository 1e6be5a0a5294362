"""Follow the events of the workspace's sessions, for clients that want notifications.

A long poll: the daemon answers a request for the next event when there is one. A watcher does not
restart a daemon that has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from freezeframe.errors import FreezeframeError
from freezeframe.frontends.daemon_client import DaemonClient

from .resources import address

#: minimum time between notifications about a program that prints without end
PAUSE_S = 0.2
#: the end of the program's output that one message holds
MOST_LINES, MOST_CHARACTERS = 100, 4000

#: kind of an event → resources of its session that change, besides the transcript
_CHANGES = {"output": ("output",), "stop": ("source",)}
#: kinds of events that create or end a session
_LISTED = frozenset({"start", "exit"})
_LEVELS = {"resume": "debug", "breakpoint": "debug", "child": "debug"}
_GRAVE = ("exception", "signal")


@dataclass(frozen=True, slots=True)
class WatchedEvent:
    session: str
    #: the root session, which has the output
    root: str
    kind: str
    text: str

    @property
    def level(self) -> str:
        """The severity, as a syslog level."""
        if self.kind == "stop" and self.text.startswith(_GRAVE):
            return "warning"
        return _LEVELS.get(self.kind, "info")

    @property
    def lists(self) -> bool:
        """Whether the list of resources may have changed."""
        return self.kind in _LISTED

    def data(self) -> dict[str, str]:
        return {"session": self.session, "event": self.kind, "text": self.text}


OnEvents = Callable[[list[WatchedEvent]], Awaitable[None]]


def changed(events: Iterable[WatchedEvent]) -> list[str]:
    """Return the addresses of the changed resources, each once."""
    found: dict[str, None] = {}
    for each in events:
        found[address(each.session, "transcript")] = None
        for part in _CHANGES.get(each.kind, ()):
            found[address(each.root if part == "output" else each.session, part)] = None
    return list(found)


class EventWatcher:
    """Reports events to one listener, from `begin` to `end`."""

    def __init__(self, daemon: DaemonClient, on_events: OnEvents, *, output: bool = False) -> None:
        self._daemon = daemon
        self._on_events = on_events
        #: whether to report the output itself, not only its size
        self.output = output
        self._cursor = 0
        self._roots: dict[str, str] = {}
        #: session → cursor of its reported output
        self._printed: dict[str, int] = {}
        self._reporting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Watch from now on. Raises FreezeframeError."""
        answer = await self._request("events", {"tail": 0})
        self._cursor = answer["result"]["end"]
        sessions = await self._request("sessions", {})
        for session in sessions["result"].get("sessions", ()):
            await self._known(session["name"], since_now=True)
        self._task = asyncio.create_task(self._follow())

    async def end(self, *, report_rest: bool = False) -> None:
        """Stop watching; with *report_rest*, first report the events up to now."""
        if self._task is None:
            return
        try:
            if report_rest:  # after the report in progress
                await self._reporting.acquire()
                self._reporting.release()
        finally:  # also when cancelled during the wait
            self._task.cancel()
        if report_rest:
            with suppress(FreezeframeError):
                await self._take(await self._events(wait=False))

    async def _follow(self) -> None:
        while True:
            try:
                answer = await self._events(wait=True)
            except FreezeframeError:
                await self._daemon.reconnected.wait()
                self._cursor = 0
                self._roots.clear()
                self._printed.clear()
                continue
            async with self._reporting:
                reported = await self._take(answer)
            if reported:
                await asyncio.sleep(PAUSE_S)

    async def _events(self, *, wait: bool) -> dict[str, Any]:
        args = {"since": self._cursor, "wait": wait}
        answer = await self._request("events", args)
        result: dict[str, Any] = answer["result"]
        return result

    async def _request(
        self, command: str, args: dict[str, Any], session: str | None = None
    ) -> dict[str, Any]:
        # The notes of an answer are for the agent, which does not read these answers.
        request = {"command": command, "args": args, "session": session, "notes": False}
        return await self._daemon.call(request)

    async def _take(self, answer: dict[str, Any]) -> bool:
        since, self._cursor = self._cursor, answer["end"]
        events = []
        for event in answer["events"]:
            if event["cursor"] < since:
                continue
            name, kind, text = event["session"], event["kind"], event["text"]
            root = await self._known(name)
            if kind == "output" and self.output:
                text = await self._text(root) or text
            events.append(WatchedEvent(name, root, kind, text))
        if events:
            await self._on_events(events)
        return bool(events)

    async def _known(self, session: str, *, since_now: bool = False) -> str:
        """Return the name of the root session of *session*."""
        if session not in self._roots:
            output = await self._read(session, {"tail": 0})
            if output is None:  # the session is gone already
                return session
            self._roots[session] = root = output["session"]
            self._printed.setdefault(root, _end(output) if since_now else 0)
        return self._roots[session]

    async def _text(self, session: str) -> str:
        """Return the output of a session since the last report."""
        since = self._printed.get(session, 0)
        answer = await self._read(session, {"since": since, "tail": MOST_LINES})
        if answer is not None and _end(answer) < since:  # a new session of that name
            answer = await self._read(session, {"since": 0, "tail": MOST_LINES})
        if answer is None:
            return ""
        self._printed[session] = _end(answer)
        output = answer["output"]
        text = "".join(chunk["text"] for chunk in output.get("chunks", ()))
        cut = len(text) > MOST_CHARACTERS or output.get("skipped") or output.get("dropped")
        return f"…{text[-MOST_CHARACTERS:]}" if cut else text

    async def _read(self, session: str, args: dict[str, object]) -> dict[str, Any] | None:
        try:
            answer = await self._request("output", {**args, "peek": True}, session)
        except FreezeframeError:
            return None
        result: dict[str, Any] = answer["result"]
        return result


def _end(answer: dict[str, Any]) -> int:
    end: int = answer["output"].get("end", 0)  # fields with their default value are left out
    return end
