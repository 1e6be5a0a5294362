"""The channel against the fake adapter, a real process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from backends.async_tests import on_loop, until
from dap_schema import validate
from fake_adapter import command
from freezeframe.backends.dap.channel import Channel, Handler
from freezeframe.backends.dap.messages import Body, DapEvent, ErrorResponse
from freezeframe.backends.transport.fd_reader import Tail, TextReader
from freezeframe.backends.transport.process import PIPE, Process
from freezeframe.backends.transport.streams import StdioStream, Stream
from freezeframe.backends.transport.tcp import Listener
from freezeframe.errors import DebuggerLost, DebuggerTimeout, UserError


class Client:
    """A channel and what it reported, in order."""

    def __init__(
        self, stream: Stream, tail: TextReader, output: Tail, handlers: dict[str, Handler]
    ):
        self.events: list[DapEvent] = []
        self.lost: list[DebuggerLost] = []
        self.sent: list[Any] = []
        self.log: list[str] = []
        self.process: Process

        def last_output() -> str:
            tail.drain_now()
            return str(output)

        self.channel = Channel(
            stream,
            name="fake",
            on_event=self.on_event,
            handlers=handlers,
            on_lost=self.lost.append,
            last_output=last_output,
            observe=self.observe,
            timeout_s=10,
        )

    def on_event(self, event: DapEvent) -> None:
        self.events.append(event)
        self.log.append(event.event)

    def observe(self, direction: str, message: Any) -> None:
        if direction == "send":
            validate(message)
            self.sent.append(message)

    async def ask(self, name: str, arguments: Any = None, **more: Any) -> Body:
        body = await self.channel.request(name, arguments, **more)
        self.log.append(f"<{name}>")
        return body

    async def event(self, name: str) -> DapEvent:
        await until(lambda: any(event.event == name for event in self.events))
        return next(event for event in self.events if event.event == name)


@contextlib.asynccontextmanager
async def adapter(
    script: dict[str, Any], *, reverse: bool = False, handlers: dict[str, Handler] | None = None
) -> AsyncIterator[Client]:
    listener = await Listener.open() if reverse else None
    if listener is None:
        process = Process.spawn(command(script), stdin=PIPE, stdout=PIPE, stderr=PIPE)
    else:
        process = Process.spawn(
            command(script, "--connect", f"{listener.host}:{listener.port}"), stderr=PIPE
        )
    output = Tail()
    tail = TextReader(process.take_stderr(), output.feed)
    tail.start()
    try:
        stream: Stream
        if listener is None:
            stream = StdioStream(process)
        else:
            stream = await listener.accept(timeout_s=10)
        client = Client(stream, tail, output, handlers or {})
        client.process = process
        yield client
        client.channel.close()
    finally:
        await process.kill_tree()
        tail.close()
        if listener is not None:
            listener.close()


INITIALIZE = {"adapterID": "fake"}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("initialized", ["initialize", "launch", "answer"])
@on_loop
async def test_the_one_start_up_order_serves_every_order_of_the_adapter(
    initialized: str, reverse: bool
) -> None:
    launch = "at once" if initialized == "answer" else "configured"
    script = {
        "initialized": initialized,
        "launch": launch,
        "stops": [{"line": 7, "variables": {"x": "1"}}],
    }
    async with adapter(script, reverse=reverse) as client:
        capabilities = await client.ask("initialize", INITIALIZE)
        assert capabilities["supportsConfigurationDoneRequest"] is True
        launched = client.channel.send_nowait("launch", {"program": "p"})
        await client.event("initialized")
        await client.ask("setBreakpoints", {"source": {"path": "/p"}, "breakpoints": [{"line": 7}]})
        await client.ask("configurationDone")
        assert await launched == {}
        stopped = await client.event("stopped")
        frames = await client.ask("stackTrace", {"threadId": stopped.body["threadId"]})
        assert frames["stackFrames"][0]["line"] == 7
        await client.ask("continue", {"threadId": 1})
        assert (await client.event("exited")).body == {"exitCode": 0}


class Mute:
    """A stream that the test writes to, chunk by chunk."""

    def open(self, on_data: Any, on_eof: Any) -> None:
        self.say = on_data

    def write(self, data: bytes) -> None:
        pass

    close = pause = resume = lambda self: None


def _framed(message: dict[str, Any]) -> bytes:
    data = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


@on_loop
async def test_an_event_that_comes_right_behind_an_answer_is_seen_after_it() -> None:
    seen: list[str] = []
    stream: Any = Mute()
    channel = Channel(stream, name="mute", on_event=lambda event: seen.append(event.event))

    async def ask() -> None:
        await channel.request("threads")
        seen.append("<threads>")

    asking = asyncio.ensure_future(ask())
    await asyncio.sleep(0)
    answer = {"seq": 1, "type": "response", "request_seq": 1, "command": "threads", "success": True}
    # Two pieces that are read in one turn of the loop.
    stream.say(_framed(answer))
    stream.say(_framed({"seq": 2, "type": "event", "event": "output"}))
    await asking
    await until(lambda: len(seen) == 2)
    channel.close()

    assert seen == ["<threads>", "output"]


@on_loop
async def test_events_and_answers_are_seen_in_the_order_of_the_wire() -> None:
    event = {"event": "output", "body": {"output": "x"}}
    script = {"before": {"threads": [event, event]}, "after": {"threads": [event, event]}}
    async with adapter(script) as client:
        await asyncio.gather(*(client.ask("threads") for _ in range(20)))
        await until(lambda: len(client.events) == 80)
        assert client.log == ["output", "output", "<threads>", "output", "output"] * 20


@on_loop
async def test_a_refusal_is_raised_with_the_adapters_message() -> None:
    refusal = {"body": {"error": {"id": 2, "format": "no {what}", "variables": {"what": "frame"}}}}
    async with adapter({"refuse": {"scopes": refusal}}) as client:
        with pytest.raises(ErrorResponse, match="no frame") as caught:
            await client.ask("scopes", {"frameId": 1})
        assert caught.value.command == "scopes"
        assert caught.value.code == "debugger"
        assert await client.ask("threads")


@on_loop
async def test_silence_is_bounded_and_the_late_answer_harms_nobody() -> None:
    script = {"silent": ["pause"], "after": {"threads": [{"respond": 1}]}}
    async with adapter(script) as client:
        with pytest.raises(DebuggerTimeout, match="fake did not answer `pause` within"):
            await client.ask("pause", {"threadId": 1}, timeout_s=0.05)
        assert client.channel.pending == ()
        await client.ask("threads")
        await until(lambda: client.channel.ignored == 1)


@pytest.mark.parametrize(
    ("action", "fact"),
    [
        ({"die": 3}, "fake ended; its last output:"),
        ({"die": -9}, "fake ended; its last output:"),
        ({"half": True}, "fake ended in the middle of a message; its last output:"),
        ({"garbage": "<html>"}, "not JSON (Expecting value: line 1 column 1 (char 0)): '<html>'"),
        ({"header": "Content-Length: 99999999999"}, "'99999999999'"),
    ],
)
@on_loop
async def test_when_the_adapter_breaks_everything_pending_fails_with_its_last_output(
    action: dict[str, Any], fact: str
) -> None:
    script = {
        "silent": ["launch", "evaluate"],
        "after": {"threads": [{"stderr": "boom: out of cheese\n"}, action, {"die": 1}]},
    }
    async with adapter(script) as client:
        launched = client.channel.send_nowait("launch", {})
        waiting = asyncio.ensure_future(client.ask("evaluate", {"expression": "1"}))
        await client.ask("threads")
        for pending in (launched, waiting):
            with pytest.raises(DebuggerLost) as caught:
                await pending
            assert fact in caught.value.message
            assert "boom: out of cheese" in caught.value.message
        later = asyncio.ensure_future(client.ask("threads"))
        await asyncio.sleep(0)
        assert later.done()  # refused without waiting for anything
        with pytest.raises(DebuggerLost, match="out of cheese"):
            later.result()
        assert len(client.lost) == 1


@on_loop
async def test_an_adapter_that_dies_at_once_is_reported_with_its_output() -> None:
    async with adapter({"start": [{"stderr": "usage: fake\n"}, {"die": 2}]}) as client:
        with pytest.raises(DebuggerLost, match="usage: fake"):
            await client.ask("initialize", INITIALIZE)
        assert await client.process.wait(5) == 2


@on_loop
async def test_text_on_stdout_is_the_last_output_when_stderr_has_none() -> None:
    async with adapter({"start": [{"noise": "bad option\n"}, {"die": 2}]}) as client:
        with pytest.raises(DebuggerLost, match="its last output: bad option"):
            await client.ask("initialize", INITIALIZE)


@on_loop
async def test_text_before_the_first_header_is_skipped() -> None:
    async with adapter({"banner": "DEBUGGER: Session start (pid: 1)\nout"}) as client:
        assert await client.ask("initialize", INITIALIZE)


@on_loop
async def test_an_adapter_that_numbers_nothing_is_understood() -> None:
    async with adapter({"seq_zero": True, "after": {"initialize": [{"flood": 3}]}}) as client:
        await asyncio.gather(client.ask("initialize", INITIALIZE), client.ask("threads"))


@on_loop
async def test_reverse_requests_are_served_refused_or_unknown() -> None:
    async def run_in_terminal(arguments: Body) -> Body:
        return {"processId": len(arguments["args"])}

    async def start_debugging(arguments: Body) -> Body:
        raise UserError("not in this test.")

    asked = [
        {"request": "runInTerminal", "arguments": {"args": ["a", "b"], "cwd": "/"}},
        {"request": "startDebugging", "arguments": {"request": "attach", "configuration": {}}},
        {"request": "makeCoffee"},
    ]
    handlers: dict[str, Handler] = {
        "runInTerminal": run_in_terminal,
        "startDebugging": start_debugging,
    }
    async with adapter({"after": {"initialize": asked}}, handlers=handlers) as client:
        await client.ask("initialize", INITIALIZE)
        await until(lambda: len(client.events) == 3)
        texts = sorted(event.body["output"] for event in client.events)
        assert texts[0].startswith('makeCoffee answered: {"success": false')
        assert "`makeCoffee` is not supported" in texts[0]
        assert '"processId": 2' in texts[1]
        assert texts[2].startswith('startDebugging answered: {"success": false')
        assert "not in this test" in texts[2]


@on_loop
async def test_a_handler_with_a_bug_is_logged_and_the_adapter_gets_an_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(arguments: Body) -> Body:
        raise KeyError("args")

    script = {"after": {"initialize": [{"request": "runInTerminal", "arguments": {"args": ["x"]}}]}}
    with caplog.at_level(logging.ERROR):
        async with adapter(script, handlers={"runInTerminal": broken}) as client:
            await client.ask("initialize", INITIALIZE)
            assert '"success": false' in (await client.event("output")).body["output"]
    assert "KeyError" in caplog.text


@on_loop
async def test_a_flood_of_events_loses_none_and_leaves_the_loop_alive() -> None:
    count = 20_000
    async with adapter({"before": {"threads": [{"flood": count, "text": "line\n"}]}}) as client:
        seen: list[int] = []

        async def beat() -> None:
            while True:
                seen.append(len(client.events))
                await asyncio.sleep(0)

        heart = asyncio.ensure_future(beat())
        await client.ask("threads", timeout_s=20)
        heart.cancel()
        assert len(client.events) == count
        # Others get their turn after a part of them, however fast the machine is.
        assert max(b - a for a, b in itertools.pairwise(seen)) < count * 3 / 4


@on_loop
async def test_closing_fails_what_is_pending_and_reports_no_loss() -> None:
    async with adapter({"silent": ["threads"]}) as client:
        pending = client.channel.send_nowait("threads")
        client.channel.close()
        client.channel.close()
        with pytest.raises(DebuggerLost, match="was closed"):
            await pending
        assert client.lost == []


@on_loop
async def test_a_cancelled_request_is_forgotten() -> None:
    async with adapter({"silent": ["pause"]}) as client:
        task = asyncio.ensure_future(client.ask("pause", {"threadId": 1}))
        await until(lambda: client.channel.pending == ("pause",))
        task.cancel()
        await until(lambda: client.channel.pending == ())
        assert await client.ask("threads")
