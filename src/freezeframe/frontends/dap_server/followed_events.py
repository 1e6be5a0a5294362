"""What happens in a session, whoever does it, as events of the protocol.

The daemon answers a request for the next events when there are some; nothing is polled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from freezeframe.errors import FreezeframeError

from .connection import Body

#: lines of earlier output that an editor is shown when it joins
_EARLIER_LINES = 100
_CATEGORIES = {"stdout": "stdout", "stderr": "stderr"}
_REASONS = {
    "watchpoint": "data breakpoint",
    "signal": "exception",
    "jump": "goto",
    "attach": "pause",
    "other": "pause",
}

Call = Callable[..., Awaitable[dict[str, Any]]]
Event = Callable[[str, Mapping[str, Any]], None]


class Observer(Protocol):
    """Who is told; requests of the editor that resume the program hold `resuming` meanwhile."""

    resuming: asyncio.Lock

    def on_resumed(self, command: str) -> None: ...

    async def on_stopped(self) -> None: ...

    async def on_ended(self) -> bool:
        """Return whether the session is over: it was not restarted."""

    async def on_breakpoints(self) -> None: ...

    def on_child(self) -> Awaitable[None]: ...


class FollowedEvents:
    """Follows one session from `begin` to its end."""

    def __init__(self, call: Call, event: Event, observer: Observer) -> None:
        self._call = call
        self._event = event
        self._observer = observer
        self._cursor = 0
        self._output_cursor = 0
        self.session = ""

    async def mark(self) -> None:
        """Take the events from now on."""
        answer = await self._call("events", {"tail": 0})
        self._cursor = answer.get("end", 0)

    async def follow(self) -> None:
        """Report what happens until the session is over."""
        while True:
            args = {"since": self._cursor, "wait": True}
            answer = await self._call("events", args)
            since, self._cursor = self._cursor, answer.get("end", 0)
            for each in answer.get("events", ()):
                if each["cursor"] >= since and not await self._take(each):
                    return

    async def _take(self, event: Mapping[str, Any]) -> bool:
        """Report one event; return False at the end of the session."""
        kind, name = event["kind"], event["session"]
        if kind == "breakpoint":
            await self._observer.on_breakpoints()
        elif kind == "output" and name.partition("/")[0] == self.session.partition("/")[0]:
            await self.show_output()
        elif kind == "child" and name == self.session:
            await self._observer.on_child()
        elif name == self.session:
            async with self._observer.resuming:
                if kind == "resume":
                    self._observer.on_resumed(event.get("text", ""))
                elif kind == "stop":
                    await self.show_output()
                    await self._observer.on_stopped()
                elif kind == "exit":
                    await self.show_output()
                    return not await self._observer.on_ended()
        return True

    async def show_output(self, *, earlier: bool = False) -> None:
        """Send the output since the last time; with *earlier*, the last lines before now."""
        args: Body = {"peek": True, "since": self._output_cursor}
        if earlier:
            args["tail"] = _EARLIER_LINES
        try:
            output = (await self._call("output", args)).get("output", {})
        except FreezeframeError:
            return  # the session is gone
        end = output.get("end", 0)
        if end < self._output_cursor:  # the program was started again
            self._output_cursor = 0
            await self.show_output()
            return
        self._output_cursor = end
        for chunk in output.get("chunks", ()):
            category = _CATEGORIES.get(chunk["stream"], "console")
            self._event("output", {"category": category, "output": chunk["text"]})


def stopped(stop: Mapping[str, Any]) -> Body:
    """Return the body of the event for a stop."""
    reason = str(stop.get("reason", "pause"))
    found: Body = {
        "reason": _REASONS.get(reason, reason),
        "threadId": stop["thread"]["id"],
        "allThreadsStopped": stop.get("all_threads", True),
        "preserveFocusHint": False,
    }
    error = stop.get("exception")
    if error:
        found["text"] = f"{error.get('type', '')}: {error.get('message', '')}".strip(": ")
    if stop.get("description") or reason == "signal":
        found["description"] = stop.get("description") or "Paused on a signal"
    if stop.get("breakpoints"):
        found["hitBreakpointIds"] = list(stop["breakpoints"])
    return found
