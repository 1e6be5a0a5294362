"""What happens in the sessions of the workspace, for clients that want to be told unasked.

The daemon is asked once for what comes next, and answers when it comes: nothing goes to and fro
while nothing happens. A daemon that was ended is not started again by who only watches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from freezeframe.errors import FreezeframeError

from .bridge import Bridge
from .documents import address

#: a program that prints without end is told of this often
PAUSE_S = 0.2
#: of what a program printed, in one message: the last of it
MOST_LINES, MOST_CHARACTERS = 100, 4000

#: kind of an event → what of its session reads differently now, next to the transcript
_CHANGES = {"output": ("output",), "stop": ("source",)}
#: these make or end a session
_LISTED = frozenset({"start", "exit"})
_LEVELS = {"resume": "debug", "breakpoint": "debug", "child": "debug"}
_GRAVE = ("exception", "signal")


@dataclass(frozen=True, slots=True)
class Happening:
    session: str
    #: the session at the top, whose output it is
    root: str
    kind: str
    text: str

    @property
    def level(self) -> str:
        """How much it matters, in the words of syslog."""
        if self.kind == "stop" and self.text.startswith(_GRAVE):
            return "warning"
        return _LEVELS.get(self.kind, "info")

    @property
    def lists(self) -> bool:
        """Whether there may be other resources now."""
        return self.kind in _LISTED

    def data(self) -> dict[str, str]:
        return {"session": self.session, "event": self.kind, "text": self.text}


Tell = Callable[[list[Happening]], Awaitable[None]]


def changed(news: Iterable[Happening]) -> list[str]:
    """Return the addresses of what reads differently now, each once."""
    found: dict[str, None] = {}
    for each in news:
        found[address(each.session, "transcript")] = None
        for part in _CHANGES.get(each.kind, ()):
            found[address(each.root if part == "output" else each.session, part)] = None
    return list(found)


class Watch:
    """Tells one listener, from `begin` to `end`."""

    def __init__(self, bridge: Bridge, tell: Tell, *, output: bool = False) -> None:
        self._bridge = bridge
        self._tell = tell
        #: whether what was printed is told, not only how much
        self.output = output
        self._cursor = 0
        self._roots: dict[str, str] = {}
        #: session → up to where its output was told
        self._printed: dict[str, int] = {}
        self._telling = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Watch from now on. Raises FreezeframeError."""
        answer = await self._bridge.ask({"command": "events", "args": {"tail": 0}})
        self._cursor = answer["result"]["end"]
        sessions = await self._bridge.ask({"command": "sessions"})
        for session in sessions["result"].get("sessions", ()):
            await self._known(session["name"], since_now=True)
        self._task = asyncio.create_task(self._follow())

    async def end(self, *, tell_rest: bool = False) -> None:
        """Watch no more; first tell what happened up to now, if that is wanted."""
        if self._task is None:
            return
        try:
            if tell_rest:  # after what is being told just now
                await self._telling.acquire()
                self._telling.release()
        finally:  # also when we are cancelled while we wait for that
            self._task.cancel()
        if tell_rest:
            with suppress(FreezeframeError):
                await self._take(await self._events(wait=False))

    async def _follow(self) -> None:
        while True:
            try:
                answer = await self._events(wait=True)
            except FreezeframeError:
                await self._bridge.met.wait()
                self._cursor = 0
                self._roots.clear()
                self._printed.clear()
                continue
            async with self._telling:
                told = await self._take(answer)
            if told:
                await asyncio.sleep(PAUSE_S)

    async def _events(self, *, wait: bool) -> dict[str, Any]:
        args = {"since": self._cursor, "wait": wait}
        answer = await self._bridge.ask({"command": "events", "args": args})
        result: dict[str, Any] = answer["result"]
        return result

    async def _take(self, answer: dict[str, Any]) -> bool:
        since, self._cursor = self._cursor, answer["end"]
        news = []
        for event in answer["events"]:
            if event["cursor"] < since:
                continue
            name, kind, text = event["session"], event["kind"], event["text"]
            root = await self._known(name)
            if kind == "output" and self.output:
                text = await self._text(root) or text
            news.append(Happening(name, root, kind, text))
        if news:
            await self._tell(news)
        return bool(news)

    async def _known(self, session: str, *, since_now: bool = False) -> str:
        """Return the name of the session at the top of *session*."""
        if session not in self._roots:
            output = await self._read(session, {"tail": 0})
            if output is None:  # it is gone already
                return session
            self._roots[session] = root = output["session"]
            self._printed.setdefault(root, _end(output) if since_now else 0)
        return self._roots[session]

    async def _text(self, session: str) -> str:
        """Return what a session printed since it was last told."""
        since = self._printed.get(session, 0)
        answer = await self._read(session, {"since": since, "tail": MOST_LINES})
        if answer is not None and _end(answer) < since:  # another one of that name
            answer = await self._read(session, {"since": 0, "tail": MOST_LINES})
        if answer is None:
            return ""
        self._printed[session] = _end(answer)
        output = answer["output"]
        text = "".join(chunk["text"] for chunk in output.get("chunks", ()))
        cut = len(text) > MOST_CHARACTERS or output.get("skipped") or output.get("dropped")
        return f"…{text[-MOST_CHARACTERS:]}" if cut else text

    async def _read(self, session: str, args: dict[str, object]) -> dict[str, Any] | None:
        request = {"command": "output", "session": session, "args": {**args, "peek": True}}
        try:
            answer = await self._bridge.ask(request)
        except FreezeframeError:
            return None
        result: dict[str, Any] = answer["result"]
        return result


def _end(answer: dict[str, Any]) -> int:
    end: int = answer["output"].get("end", 0)  # what is at its default is left out
    return end
