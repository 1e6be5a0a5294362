"""The server through the official SDK: what an agent's host gets."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys

import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ListRootsResult, Root

from freezeframe.errors import FreezeframeError
from freezeframe.frontends.daemon_client import DaemonClient
from frontends.mcp.talking import HANDSHAKE, STATELESS, Raw, call, connected, on_loop, refusal
from harness import waits
from harness.client import CLIENT

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
    async with connected(dbg, structured=False) as client:
        listed = await client.list_tools()
    whole = listed.model_dump_json(by_alias=True, exclude_none=True)

    assert len(listed.tools) <= 18
    assert len(whole.encode()) <= 2500 * BYTES_PER_TOKEN


@on_loop
async def test_a_model_reads_text_and_may_name_frame_and_thread_of_a_call(dbg, program):
    p = program("recursion.py")
    async with connected(dbg, structured=False) as client:
        assert all(tool.output_schema is None for tool in (await client.list_tools()).tools)
        started = await client.call_tool(
            "debug_start", {"program": p.name, "breakpoints": p.at("bottom")}
        )
        assert started.structured_content is None
        inner = (await client.call_tool("debug_variables", {})).content[0].text
        outer = (await client.call_tool("debug_variables", {"frame": 1})).content[0].text
        assert inner != outer
        assert (await client.call_tool("debug_variables", {})).content[0].text == inner
        threads = {"thread": 1, "limit": 1}
        assert not (await client.call_tool("debug_stack", threads)).is_error
        config = await client.call_tool("debug_command", {"command": "config"})
        assert "await_s = 300" in config.content[0].text


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
async def test_the_caller_names_the_session(dbg, program):
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
async def test_a_wrong_argument_is_reported_with_its_path_and_a_next_step(dbg):
    async with connected(dbg) as client:
        text, error = await refusal(client, "debug_start", program=[3])
        assert "`program`" in text
        assert error["code"] == "usage"
        assert error["next"] == 'debug_command {"command": "help start"}'
        _, error = await refusal(client, "debug_breakpoint_add", wher="a.py:1")
        assert "`wher`; the nearest is `where`" in error["message"]
        assert "; it takes where, condition, hit_count, log, " in error["message"]
        _, error = await refusal(client, "debug_step", kind="sideways")
        assert "`kind` takes over, in, out, until" in error["message"]
        _, error = await refusal(client, "debug_command", command="'open")
        assert "`command`" in error["message"]
        _, error = await refusal(client, "debug_stack", limit=-1)
        assert error["message"] == "`limit` takes 0 or more, not -1."
        _, error = await refusal(client, "debug_stack", session="nobody")
        assert error["code"] == "no-session"
        with pytest.raises(MCPError, match="there is no tool nothing; there are debug_test, "):
            await client.call_tool("nothing", {})


@on_loop
async def test_any_command_line_is_within_reach(dbg, program):
    program("loop.py")
    async with connected(dbg) as client:
        await call(client, "debug_start", program="loop.py", stop_on_entry=True)
        text, data = await call(client, "debug_command", command="dbg batch next locals")
        assert len(data["items"]) == 2
        text, _ = await call(client, "debug_command", command="print 6 * 7")
        _, error = await refusal(client, "debug_lldb_command", command="thread backtrace")
        assert error["next"] == 'debug_command {"command": "help"}'
        assert text == "6 * 7 = 42\n"
        _, error = await refusal(client, "debug_command", command="mcp")
        assert error["code"] == "usage"


@on_loop
async def test_a_program_that_keeps_running_is_reported_and_waited_for_again(dbg, program):
    program("endless.py")
    seen = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(message)

    async with connected(dbg) as client:
        started = await client.call_tool(
            "debug_start", {"program": "endless.py", "timeout": 3}, progress_callback=progress
        )
        assert started.structured_content["state"] == "running"
        assert 'debug_continue {"mode": "wait"}' in started.content[0].text
        _, data = await call(client, "debug_continue", mode="wait", timeout=0.1)
        assert data["state"] == "running"
        _, data = await call(client, "debug_continue", mode="pause")
        assert data["state"] == "stopped"
    assert seen
    assert seen[0].startswith("under way for")


@on_loop
async def test_a_wait_ends_before_the_host_s_time_limit_whatever_was_requested(dbg, program):
    program("endless.py")
    await asyncio.to_thread(dbg, "start", "endless.py", "--no-wait")
    daemon = DaemonClient(str(dbg.project), dbg.env, limit_s=3, budget=None)

    answer = await daemon.call({"line": "await --timeout 300"})
    also = await daemon.call({"command": "await"})

    assert answer["result"]["state"] == also["result"]["state"] == "running"
    daemon.close()


@on_loop
async def test_a_cancelled_wait_leaves_the_session_sound(dbg, program):
    program("endless.py")
    async with connected(dbg) as client:
        await call(client, "debug_start", program="endless.py", timeout=0)
        await asyncio.to_thread(waits.wait_for_file, dbg.project / "spinning.txt")
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
        await asyncio.to_thread(waits.wait_for_file, dbg.project / "spinning.txt")
    waiting.cancel()
    await asyncio.wait({waiting})
    answer = await asyncio.to_thread(dbg, "pause")
    assert answer.code == 0, answer
    assert not [command for command in dbg.processes().values() if " mcp" in command]


@on_loop
async def test_the_server_survives_the_daemon_s_end_and_reports_lost_sessions(dbg, program):
    program("loop.py")
    async with connected(dbg) as client:
        await call(client, "debug_start", program="loop.py", stop_on_entry=True)
        _, data = await call(client, "debug_status")
        os.kill(data["daemon_pid"], signal.SIGKILL)
        await asyncio.to_thread(waits.wait_for_exit, data["daemon_pid"])
        text, error = await refusal(client, "debug_stack")
        assert error["code"] == "no-session"
        assert text.startswith("note: ")
        assert "loop" in text.splitlines()[0]


@on_loop
async def test_a_server_that_was_started_in_no_project_takes_the_client_s_folder(dbg, program):
    """Hosts with windows start their servers in the user's home."""
    p = program("loop.py")
    home = dbg.home / "user"
    home.mkdir()
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(CLIENT), "mcp"],
        cwd=str(home),
        env={**dbg.env, "HOME": str(home)},
    )

    async def roots(context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=dbg.project.as_uri())])

    async with Client(stdio_client(server), mode=HANDSHAKE, list_roots_callback=roots) as client:
        text, _ = await call(client, "debug_start", program="loop.py", breakpoints=[p.at("loop")])
    assert f"{p.at('loop')} in total_of" in text
    assert "amount = 6" in (await asyncio.to_thread(dbg, "locals")).out


@on_loop
async def test_paths_count_from_the_directory_that_is_named_where_only_that_has_the_program(dbg):
    (dbg.project / "below").mkdir()
    (dbg.project / "below" / "two.py").write_text("a = 1\nb = 2\n")
    async with connected(dbg) as client:
        text, _ = await call(
            client, "debug_start", program="two.py", cwd="below", breakpoints=["two.py:2"]
        )
    assert text.startswith("stopped: breakpoint 1 at below/two.py:2")


@on_loop
async def test_a_build_that_outlasts_the_host_s_time_limit_continues_and_is_waited_for(dbg):
    """The compiler here takes as long as it must: until it is released."""
    compiler = dbg.home / "bin" / "gcc"
    compiler.parent.mkdir()
    compiler.write_text(f'#!/bin/sh\necho begun >>begun\ncat go\nexec {shutil.which("gcc")} "$@"\n')
    compiler.chmod(0o755)
    os.mkfifo(dbg.project / "go")
    (dbg.project / "main.c").write_text("int main(void) {\n    return 3;\n}\n")
    env = {**dbg.env, "PATH": f"{compiler.parent}{os.pathsep}{dbg.env['PATH']}"}
    impatient = DaemonClient(str(dbg.project), env, limit_s=3, budget=None)
    patient = DaemonClient(str(dbg.project), env, budget=None)
    start = {"command": "start", "args": {"program": "main.c", "breakpoints": ["main.c:2"]}}
    await patient.call({"command": "status"})

    with pytest.raises(FreezeframeError, match="still being built") as caught:
        await impatient.call(start)
    assert caught.value.error_code == "building"
    assert caught.value.next == "dbg start main.c"
    again = asyncio.create_task(patient.call(start))
    await asyncio.to_thread((dbg.project / "go").write_text, "")

    assert (await again)["result"]["state"] == "stopped"
    assert (dbg.project / "begun").read_text() == "begun\n", "built once"
    impatient.close()
    patient.close()


@on_loop
async def test_an_installation_that_outlasts_the_time_limit_is_reported_to_the_next_call(dbg):
    command = "sh -c 'echo begun >>begun; cat go; echo done >ended; exit 3'"
    dbg.configure(
        "[adapters.mine]\n"
        'command = ["no-such-adapter"]\n'
        'languages = ["Python"]\n'
        f'install = ["{command}"]\n'
    )
    os.mkfifo(dbg.project / "go")
    impatient = DaemonClient(str(dbg.project), dbg.env, limit_s=2, budget=None)
    setup = {"command": "setup", "args": {"name": "mine", "run": True}}
    await impatient.call({"command": "status"})

    with pytest.raises(FreezeframeError, match="setting up mine is not done after") as caught:
        await impatient.call(setup)
    assert caught.value.error_code == "under-way"
    assert caught.value.next == "dbg setup mine --run"
    await asyncio.to_thread((dbg.project / "go").write_text, "")
    await asyncio.to_thread(waits.wait_for_file, dbg.project / "ended")

    [told] = (await impatient.call(setup))["result"]["setups"]
    assert told["steps"][0]["why"] == "it exited with status 3"
    assert (dbg.project / "begun").read_text() == "begun\n", "run once"
    impatient.close()


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
    raw.process.stdout.close()  # as when a client is killed that a message is on its way to
    raw.send({"jsonrpc": "2.0", "id": 10, "method": "ping"})
    assert raw.close() == 0


def test_a_thousand_calls_in_a_row_leave_nothing_behind(dbg, program):
    """Neither open files nor memory grow, of the server or of the daemon, with a live session."""
    program("loop.py")
    raw = Raw(dbg)
    raw.greet()
    calls = (
        ("debug_status", {}),
        ("debug_variables", {}),
        ("debug_evaluate", {"expression": "1 + 1"}),
        ("debug_evaluate", {"expression": "no_such_name"}),
    )
    raw.call(1, "debug_start", program="loop.py", stop_on_entry=True)
    pids = [raw.process.pid, raw.call(2, "debug_status")["structuredContent"]["daemon_pid"]]
    before: list[tuple[int, float]] = []
    for id in range(10, 1010):
        if id == 210:  # what is loaded or made once has been
            before = [_weight(pid) for pid in pids]
        name, arguments = calls[id % len(calls)]
        raw.call(id, name, **arguments)
    for (files, memory_mb), pid in zip(before, pids, strict=True):
        # The link of the last call may be closed a moment after its answer.
        waits.wait_until(lambda pid=pid, files=files: _weight(pid)[0] <= files, "no file is left")
        assert _weight(pid)[1] - memory_mb < 6, "per 800 calls"
    assert raw.close() == 0


def _weight(pid: int) -> tuple[int, float]:
    """Return how many files a process has open, and its memory in MB."""
    try:
        files = len(os.listdir(f"/proc/{pid}/fd"))
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return files, int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except FileNotFoundError:  # a system that does not report it
        return 0, 0.0


@on_loop
async def test_the_conformance_suite_finds_an_error_progress_and_log_messages(dbg):
    reported, logged = [], []

    async def progress(done, total, message):
        reported.append((done, total))

    async def log(params):
        logged.append(params.level)

    async with connected(dbg, "--conformance", structured=False, logging_callback=log) as client:
        await client.set_logging_level("info")
        failed = await client.call_tool("test_error_handling", {})
        await client.call_tool("test_tool_with_progress", {}, progress_callback=progress)
        await client.call_tool("test_tool_with_logging", {})

    assert failed.is_error
    assert reported == [(0, 100), (50, 100), (100, 100)]
    assert logged == ["info"] * 3
