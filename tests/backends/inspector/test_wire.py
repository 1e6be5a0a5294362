"""The wire to a process: what is said on it is seen in its order."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from backends.aio import on_loop, until
from freezeframe.backends.inspector.wire import Wire


class Mute:
    """A WebSocket that the test speaks through."""

    def open(self, on_message: Any, on_eof: Any) -> None:
        self.say = on_message

    def send(self, text: str) -> None:
        self.sent = json.loads(text)

    close = pause = resume = lambda self: None


@on_loop
async def test_an_event_that_comes_right_behind_an_answer_is_seen_after_it():
    seen: list[str] = []
    socket: Any = Mute()
    wire = Wire(
        socket,
        name="mute",
        on_event=lambda event: seen.append(event.method),
        on_lost=lambda error: None,
        tap=None,
        timeout_s=10,
    )

    async def ask() -> None:
        await wire.request((), "Debugger.pause", {})
        seen.append("answer")

    asking = asyncio.ensure_future(ask())
    await until(lambda: hasattr(socket, "sent"))
    # Two messages that are read in one turn of the loop.
    socket.say(json.dumps({"id": socket.sent["id"], "result": {}}))
    socket.say(json.dumps({"method": "Debugger.resumed", "params": {}}))
    await asking
    await until(lambda: len(seen) == 2)
    wire.close()

    assert seen == ["answer", "Debugger.resumed"]
