"""The server through the official SDK: what an agent's host gets."""

from __future__ import annotations

import asyncio
import json
import os

import pytest
from jsonschema import Draft202012Validator
from mcp import MCPError

from freezeframe.frontends.mcp.bridge import Bridge
from frontends.mcp.talking import HANDSHAKE, STATELESS, Raw, call, connected, on_loop, refusal
from harness import facts

BYTES_PER_TOKEN = 3


@pytest.mark.parametrize("mode", [HANDSHAKE, STATELESS])
@on_loop
async def test_a_program_is_debugged_in_both_eras_of_the_protocol(dbg, program, mode):
    p = program("loop.py")
    async with connected(dbg, mode=mode) as client:
        text, data = await call(
            client, "debug_start", program="loop.py", breakpoints=[p.at("loop")]
        )
        assert data["state"] == "stopped"
        assert f"{p.at('loop')} in total_of" in text
        text, data = await call(client, "debug_evaluate", expression="amount")
        assert (text, data["value"]["text"]) == ("amount = 6\n", "6")
        text, data = await call(client, "debug_step", kind="over")
        assert data["stop"]["thread"]["frame"]["line"] == p.line("done")
        assert "* total = 6 (was 0)" in text
        await call(client, "debug_stop")


@on_loop
async def test_the_list_of_tools_costs_little(dbg):
    async with connected(dbg) as client:
        listed = await client.list_tools()
    whole = listed.model_dump_json(by_alias=True, exclude_none=True)

    assert len(listed.tools) <= 15
    assert len(whole.encode()) <= 2500 * BYTES_PER_TOKEN


@on_loop
async def test_all_tools_are_offered_when_asked_for(dbg, program):
    program("loop.py")
    async with connected(dbg, "--tools", "all") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"debug_start", "debug_watch", "debug_memory_read", "debug_hits"} <= names
        await call(client, "debug_start", program="loop.py", stop_on_entry=True)
        text, _ = await call(client, "debug_threads")
        assert "MainThread" in text


@on_loop
async def test_an_answer_s_data_keeps_to_the_whole_schema(dbg, program):
    p = program("loop.py")
    async with connected(dbg) as client:
        _, data = await call(client, "debug_start", program="loop.py", breakpoints=[p.at("loop")])
        document = await client.read_resource("freezeframe://schema/start")
    Draft202012Validator(json.loads(document.contents[0].text)).validate(data)


@on_loop
async def test_client_and_command_line_share_sessions(dbg, program):
    p = program("loop.py")
    await asyncio.to_thread(dbg, "start", "loop.py", "-b", p.at("loop"))
    async with connected(dbg) as one, connected(dbg, mode=STATELESS) as two:
        text, _ = await call(one, "debug_variables")
        assert "amount = 6" in text
        await call(two, "debug_step", session="loop")
        text, _ = await call(one, "debug_status")
        assert p.at("done") in text
    answer = await asyncio.to_thread(dbg, "print", "total")
    assert answer.out == "total = 6\n"


@on_loop
async def test_a_session_is_named_by_who_starts_it(dbg, program):
    program("loop.py")
    async with connected(dbg) as client:
        for name in ("one", "two"):
            await call(client, "debug_start", program="loop.py", session=name, stop_on_entry=True)
        _, data = await call(client, "debug_status")
        assert {session["name"] for session in data["sessions"]} == {"one", "two"}
        await call(client, "debug_stop", session="one")
        _, error = await refusal(client, "debug_stack", session="one")
        assert error["code"] in ("no-session", "not-running")


@on_loop
async def test_a_wrong_argument_is_told_with_its_path_and_a_next_step(dbg):
    async with connected(dbg) as client:
        text, error = await refusal(client, "debug_start", program=3)
        assert "`args.program`" in text
        assert error["code"] == "usage"
        assert error["next"] == "dbg help start"
        _, error = await refusal(client, "debug_breakpoint_add", wher="a.py:1")
        assert "`args.wher`; the nearest is `where`" in error["message"]
        _, error = await refusal(client, "debug_step", kind="sideways")
        assert "`args.kind` takes over, in, out, until" in error["message"]
        _, error = await refusal(client, "debug_lldb_command", command="'open")
        assert "`args.command`" in error["message"]
        _, error = await refusal(client, "debug_stack", session="nobody")
        assert error["code"] == "no-session"
        with pytest.raises(MCPError, match="there is no tool nothing"):
            await client.call_tool("nothing", {})


@on_loop
async def test_any_command_line_is_within_reach(dbg, program):
    program("loop.py")
    async with connected(dbg) as client:
        await call(client, "debug_start", program="loop.py", stop_on_entry=True)
        text, data = await call(client, "debug_lldb_command", command="dbg batch next locals")
        assert len(data["items"]) == 2
        text, _ = await call(client, "debug_lldb_command", command="print 6 * 7")
        assert text == "6 * 7 = 42\n"
        _, error = await refusal(client, "debug_lldb_command", command="mcp")
        assert error["code"] == "usage"


@on_loop
async def test_a_program_that_runs_on_is_told_and_waited_for_again(dbg, program):
    program("endless.py")
    seen = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(message)

    async with connected(dbg) as client:
        started = await client.call_tool(
            "debug_start", {"program": "endless.py", "timeout": 3}, progress_callback=progress
        )
        assert started.structured_content["state"] == "running"
        assert "dbg await" in started.content[0].text
        _, data = await call(client, "debug_continue", mode="wait", timeout=0.1)
        assert data["state"] == "running"
        _, data = await call(client, "debug_continue", mode="pause")
        assert data["state"] == "stopped"
    assert seen
    assert seen[0].startswith("running for")


@on_loop
async def test_a_wait_ends_before_the_host_s_patience_whatever_was_asked_for(dbg, program):
    program("endless.py")
    bridge = Bridge(str(dbg.project), dbg.env, limit_s=8, budget=None)
    await bridge.ask({"argv": ["start", "endless.py", "--no-wait"]})

    answer = await bridge.ask({"argv": ["await", "--timeout", "300"]})
    also = await bridge.ask({"command": "await"})

    assert answer["result"]["state"] == also["result"]["state"] == "running"
    bridge.close()


@on_loop
async def test_a_cancelled_wait_leaves_the_session_sound(dbg, program):
    program("endless.py")
    async with connected(dbg) as client:
        await call(client, "debug_start", program="endless.py", timeout=0)
        await asyncio.to_thread(facts.wait_for_file, dbg.project / "spinning.txt")
        under_way = asyncio.Event()

        async def progress(done: float, total: float | None, message: str | None) -> None:
            under_way.set()

        waiting = asyncio.create_task(
            client.call_tool("debug_continue", {"mode": "wait"}, progress_callback=progress)
        )
        await under_way.wait()
        waiting.cancel()
        await asyncio.wait({waiting})
        _, data = await call(client, "debug_continue", mode="pause")
        assert data["state"] == "stopped"
        _, data = await call(client, "debug_evaluate", expression="turns > 0")
        assert data["value"]["text"] == "True"


@on_loop
async def test_a_client_that_leaves_while_the_program_runs_leaves_it_running(dbg, program):
    program("endless.py")
    async with connected(dbg) as client:
        await call(client, "debug_start", program="endless.py", timeout=0)
        waiting = asyncio.create_task(client.call_tool("debug_continue", {"mode": "wait"}))
        await asyncio.to_thread(facts.wait_for_file, dbg.project / "spinning.txt")
    waiting.cancel()
    await asyncio.wait({waiting})
    answer = await asyncio.to_thread(dbg, "pause")
    assert answer.code == 0, answer
    assert not [command for command in dbg.processes().values() if " mcp" in command]


@on_loop
async def test_the_daemon_s_end_is_survived(dbg, program):
    program("loop.py")
    async with connected(dbg) as client:
        await call(client, "debug_start", program="loop.py", stop_on_entry=True)
        _, data = await call(client, "debug_status")
        await asyncio.to_thread(dbg, "daemon", "stop")
        await asyncio.to_thread(facts.wait_for_exit, data["daemon_pid"])
        _, error = await refusal(client, "debug_stack")
        assert error["code"] == "no-session"


def test_malformed_messages_are_refused_and_the_next_one_is_answered(dbg):
    raw = Raw(dbg)
    raw.greet()
    for line in (
        "no json",
        "[]",
        "{}",
        '{"jsonrpc": "2.0"}',
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}',
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": 3}}',
        '{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"arguments": []}}',
        '{"jsonrpc": "2.0", "id": 4, "method": "no/such"}',
        '{"jsonrpc": "1.0", "id": 5, "method": "ping"}',
    ):
        raw.send(line)
    for id in (1, 2, 3, 4):
        assert raw.answer(id)["error"]["code"] in (-32600, -32601, -32602)
    raw.send({"jsonrpc": "2.0", "id": 9, "method": "ping"})
    assert raw.answer(9)["result"] == {}
    assert raw.close() == 0


def test_a_thousand_calls_in_a_row_leave_nothing_behind(dbg):
    raw = Raw(dbg)
    raw.greet()
    daemon = 0
    before = 0
    for id in range(1, 1001):
        raw.send(
            {
                "jsonrpc": "2.0",
                "id": id,
                "method": "tools/call",
                "params": {"name": "debug_status", "arguments": {}},
            }
        )
        data = raw.answer(id)["result"]["structuredContent"]
        if id == 10:
            daemon = data["daemon_pid"]
            before = _open_files(daemon)
    assert _open_files(daemon) <= before
    assert raw.close() == 0


def _open_files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except FileNotFoundError:  # a system that does not tell
        return 0
