"""The channel to a process handles messages in the order of arrival."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from backends.async_tests import on_loop, until
from freezeframe.backends.inspector.channel import InspectorChannel


class Mute:
    """A WebSocket that the test speaks through."""

    def open(self, on_message: Any, on_eof: Any) -> None:
        self.say = on_message

    def send(self, text: str) -> None:
        self.sent = json.loads(text)

    close = pause = resume = lambda self: None


@on_loop
async def test_an_event_directly_after_an_answer_is_handled_after_it():
    seen: list[str] = []
    socket: Any = Mute()
    channel = InspectorChannel(
        socket,
        name="mute",
        on_event=lambda event: seen.append(event.method),
        on_lost=lambda error: None,
        tap=None,
        timeout_s=10,
    )

    async def request() -> None:
        await channel.request((), "Debugger.pause", {})
        seen.append("answer")

    pending = asyncio.ensure_future(request())
    await until(lambda: hasattr(socket, "sent"))
    # Two messages that are read in one turn of the loop.
    socket.say(json.dumps({"id": socket.sent["id"], "result": {}}))
    socket.say(json.dumps({"method": "Debugger.resumed", "params": {}}))
    await pending
    await until(lambda: len(seen) == 2)
    channel.close()

    assert seen == ["answer", "Debugger.resumed"]


@on_loop
async def test_a_flood_of_stops_ends_the_connection():
    seen: list[str] = []
    lost: list[Any] = []
    socket: Any = Mute()
    channel = InspectorChannel(
        socket,
        name="mute",
        on_event=lambda event: seen.append(event.method),
        on_lost=lost.append,
        tap=None,
        timeout_s=10,
    )
    paused = json.dumps(
        {"method": "Debugger.paused", "params": {"callFrames": [], "reason": "other"}}
    )
    for _ in range(3):  # as many as one likes, each after a request
        for _ in range(600):
            socket.say(paused)
        await until(lambda: not channel._inbox)
        channel.send((), "Debugger.resume", {}).cancel()
    assert (len(seen), lost) == (1800, [])
    for _ in range(1001):
        socket.say(paused)
    await until(lambda: lost)

    assert lost[0].message == "mute reported 1,001 stops after one request to resume."
    assert len(seen) == 2800
