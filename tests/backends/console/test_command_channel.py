"""The queue of every console: order, time limits, late answers, death with last words."""

from __future__ import annotations

import asyncio
import sys

import pytest

from backends.async_tests import on_loop, until
from freezeframe.backends.console.command_channel import CommandChannel
from freezeframe.backends.console.prompt.codec import PromptCodec, UnsolicitedText
from freezeframe.backends.transport.process import DEVNULL, Process
from freezeframe.backends.transport.streams import OnData, OnEof
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

    def encode(self, token: int, command: str) -> bytes:
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
        self.codec = Plain(pipelined)
        self.console: CommandChannel[str, str] = CommandChannel(
            "echo",
            self.codec,
            on_notice=self.heard.append,
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
            await room.console.request("hold", timeout_s=0.05)
        assert await room.console.request("two") == "two"
        assert await room.console.request("three") == "three"


@on_loop
async def test_whoever_awaits_an_answer_goes_on_before_what_stands_behind_it():
    async with Room() as room:
        for word in ("one", "two", "three"):
            await room.console.request(word)
            assert f"saw {word}" not in room.heard
            await until(lambda word=word: f"saw {word}" in room.heard)


class ScriptedStream:
    """A stream whose input is whatever the test delivers; what is written to it is dropped."""

    peer = "a script"

    def open(self, on_data: OnData, on_eof: OnEof) -> None:
        self.deliver = on_data

    def write(self, data: bytes) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


@on_loop
async def test_a_caller_goes_on_before_a_notice_that_the_next_read_brings():
    room, stream = Room(), ScriptedStream()
    process = Process.spawn(("true",), cwd="/", env={}, stdin=DEVNULL, stdout=DEVNULL)
    room.console.open(process, stream, tap=None)

    async def query() -> list[str]:
        await room.console.request("one")
        return list(room.heard)

    querying = asyncio.ensure_future(query())
    await until(lambda: room.codec.sent)
    # Two reads within one turn of the loop: the caller cannot have run between them.
    stream.deliver(b"1:one\n")
    stream.deliver(b"saw one\n")
    assert await querying == []
    await until(lambda: room.heard == ["saw one"])
    room.console.close()


@on_loop
async def test_a_console_that_is_not_pipelined_gets_one_command_at_a_time():
    async with Room(pipelined=False) as room:
        asked = [asyncio.ensure_future(room.console.request(str(n))) for n in range(20)]
        assert await asyncio.gather(*asked) == [str(n) for n in range(20)]


#: a prompt that answers `TEXT` with `got TEXT`, and `mark TOKEN` with the token
PROMPT = r"""
import sys
print("> ", end="", flush=True)
for line in sys.stdin:
    verb, _, rest = line.strip().partition(" ")
    print(rest if verb == "mark" else f"got {line.strip()}")
    print("> ", end="", flush=True)
"""


@on_loop
async def test_a_prompt_answers_commands_that_were_given_before_the_last_answer():
    codec = PromptCodec(lambda token: f"mark {token}", prompt="> ", nonce="n")
    console: CommandChannel[str, UnsolicitedText] = CommandChannel(
        "prompt", codec, on_notice=lambda _: None, on_lost=lambda _: None, timeout_s=10.0
    )
    console.spawn((sys.executable, "-c", PROMPT), cwd="/", env={}, tap=None)
    asked = [console.send(each) for each in ("", "one", "two", "three")]
    assert [each.strip() for each in await asyncio.gather(*asked)] == [
        "",
        "got one",
        "got two",
        "got three",
    ]
    assert console.process is not None
    await console.process.kill_tree()
    console.close()


@on_loop
async def test_a_command_whose_caller_gave_up_before_it_was_sent_has_no_effect():
    async with Room(pipelined=False) as room:
        first = room.console.send("hold")
        with pytest.raises(DebuggerTimeout):
            await room.console.request("lost", timeout_s=0.05)
        # The first is answered now, as if it had taken that long.
        room.console._on_data(b"1:late\n")
        assert await first == "late"
        assert await room.console.request("two") == "two"
        assert "saw lost" not in room.heard


@on_loop
async def test_death_fails_what_is_pending_with_its_last_words():
    async with Room() as room:
        pending = asyncio.ensure_future(room.console.request("hold"))
        with pytest.raises(DebuggerLost, match="echo ended; its last output: out of memory"):
            await room.console.request("die")
        with pytest.raises(DebuggerLost):
            await pending
        assert len(room.lost) == 1
        with pytest.raises(DebuggerLost):
            await room.console.request("more")


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
        await room.console.request("one")
