"""The queue of every console: order, time limits, late answers, death with last words."""

from __future__ import annotations

import asyncio
import sys

import pytest

from backends.aio import on_loop, until
from freezeframe.backends.console.queue import Console
from freezeframe.errors import DebuggerLost, DebuggerTimeout, LaunchFailed

#: answers `TOKEN WORDS` with `TOKEN:WORDS`; obeys a few words
ECHO = r"""
import sys
held = []
for line in sys.stdin:
    token, _, words = line.strip().partition(" ")
    if words == "hold":
        held.append(token)
    elif words == "die":
        sys.stderr.write("out of memory\n")
        sys.exit(3)
    else:
        for late in held:
            print(f"{late}:late")
        held.clear()
        print(f"{token}:{words}")
        print(f"saw {words}")
    sys.stdout.flush()
"""


class Plain:
    def __init__(self, pipelined: bool = True) -> None:
        self.pipelined = pipelined
        self.rest = b""
        self.sent: list[int] = []

    def spell(self, token: int, command: str) -> bytes:
        self.sent.append(token)
        return f"{token} {command}\n".encode()

    def feed(self, data: bytes) -> list[tuple[int | None, str] | str]:
        *lines, self.rest = (self.rest + data).split(b"\n")
        found: list[tuple[int | None, str] | str] = []
        for line in lines:
            token, colon, words = line.decode().partition(":")
            found.append((int(token), words) if colon else token)
        return found


class Room:
    def __init__(self, pipelined: bool = True, timeout_s: float = 10.0) -> None:
        self.heard: list[str] = []
        self.lost: list[DebuggerLost] = []
        self.dialect = Plain(pipelined)
        self.console: Console[str, str] = Console(
            "echo",
            self.dialect,
            hear=self.heard.append,
            on_lost=self.lost.append,
            timeout_s=timeout_s,
        )

    async def __aenter__(self) -> Room:
        self.console.spawn((sys.executable, "-c", ECHO), cwd="/", env={}, tap=None)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.console.process is not None:
            await self.console.process.kill_tree()
        self.console.close()


@on_loop
async def test_answers_belong_to_their_commands_in_any_order_of_waiting():
    async with Room() as room:
        first, second = room.console.send("one"), room.console.send("two")
        assert await second == "two"
        assert await first == "one"
        await until(lambda: room.heard == ["saw one", "saw two"])


@on_loop
async def test_a_late_answer_is_never_taken_for_another_s():
    async with Room() as room:
        with pytest.raises(DebuggerTimeout, match=r"`hold` within 0\.05 s"):
            await room.console.ask("hold", timeout_s=0.05)
        assert await room.console.ask("two") == "two"
        assert await room.console.ask("three") == "three"


@on_loop
async def test_whoever_awaits_an_answer_goes_on_before_what_stands_behind_it():
    async with Room() as room:
        for word in ("one", "two", "three"):
            await room.console.ask(word)
            assert f"saw {word}" not in room.heard
            await until(lambda word=word: f"saw {word}" in room.heard)


@on_loop
async def test_a_console_that_is_not_pipelined_gets_one_command_at_a_time():
    async with Room(pipelined=False) as room:
        asked = [asyncio.ensure_future(room.console.ask(str(n))) for n in range(20)]
        assert await asyncio.gather(*asked) == [str(n) for n in range(20)]


@on_loop
async def test_death_fails_what_is_pending_with_its_last_words():
    async with Room() as room:
        pending = asyncio.ensure_future(room.console.ask("hold"))
        with pytest.raises(DebuggerLost, match="echo ended; its last words: out of memory"):
            await room.console.ask("die")
        with pytest.raises(DebuggerLost):
            await pending
        assert len(room.lost) == 1
        with pytest.raises(DebuggerLost):
            await room.console.ask("more")


@on_loop
async def test_a_console_that_is_closed_tells_nobody_and_answers_nobody():
    async with Room() as room:
        pending = room.console.send("hold")
        room.console.close()
        with pytest.raises(DebuggerLost):
            await pending
        assert not room.lost


@on_loop
async def test_a_debugger_that_is_not_there_is_told():
    room = Room()
    with pytest.raises(LaunchFailed):
        room.console.spawn(("/nowhere/debugger",), cwd="/", env={}, tap=None)
    with pytest.raises(DebuggerLost, match="was not started"):
        await room.console.ask("one")
