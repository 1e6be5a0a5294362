"""The backend against an adapter that misbehaves on demand, a real process.

The adapter is registered as any other would be: a descriptor, and nothing else of ours knows it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from backends.async_tests import on_loop, until
from dap_schema import validate
from fake_adapter import CAPABILITIES, command
from freezeframe.backends import backend as events
from freezeframe.backends import lldb
from freezeframe.backends.backend import (
    BoundBreakpoint,
    BreakpointRequest,
    Configuration,
    Feature,
    Launch,
    StepKind,
)
from freezeframe.backends.dap.adapters._descriptor import (
    Adapter,
    Children,
    Found,
    LaunchEnvironment,
    Missing,
    Plan,
    Spawn,
    Stdio,
)
from freezeframe.backends.dap.adapters._lldb_backend import LldbBackend
from freezeframe.backends.dap.backend import DapBackend
from freezeframe.config import AdapterConfig, Config, Timeouts
from freezeframe.errors import (
    DebuggerError,
    DebuggerLost,
    DebuggerTimeout,
    EvaluationFailed,
    LaunchFailed,
)
from freezeframe.model.locations import Location

Script = dict[str, Any]
T = TypeVar("T", bound=events.Event)

#: short where a test waits for the end of a wait, generous against a loaded machine elsewhere
PATIENT = Timeouts(initialize_s=20, request_s=20)
HASTY = Timeouts(initialize_s=1, request_s=1, value_s=1)


def _find(env: Any, config: AdapterConfig) -> Found | Missing:
    return Found(sys.executable, "9.9")


def _plan(target: Any, around: LaunchEnvironment) -> Plan:
    argv = tuple(command(dict(target.options)["script"]))
    return Plan(Stdio(), "launch", {"program": target.program}, Spawn(argv, target.cwd, target.env))


FAKE = Adapter(
    name="fake",
    adapter_id="fake",
    languages=("nothing",),
    patterns=("*.fake",),
    shebangs=(),
    install=(),
    find=_find,
    plan=_plan,
    children=Children(event="fakeChild"),
)


class Debugged:
    """A program under the fake adapter: the backend and everything that it reported."""

    def __init__(self, tap: Path, script: Script, timeouts: Timeouts, adapter: Adapter) -> None:
        self.events: list[events.Event] = []
        found = adapter.find({}, AdapterConfig())
        assert isinstance(found, Found)
        self.backend = (adapter.backend or DapBackend)(adapter, found, Config(timeouts=timeouts))
        self._tap = tap
        env = {**os.environ, "FREEZEFRAME_DAP_TAP": str(tap)}
        self._target = Launch("/program", cwd=str(tap.parent), env=env, options={"script": script})

    async def start(self, *wanted: BreakpointRequest) -> list[BoundBreakpoint]:
        return list(
            await self.backend.start(self._target, Configuration(wanted), self.events.append)
        )

    async def event(self, kind: type[T]) -> T:
        """Wait for an event of that kind and return the first."""
        await until(lambda: any(isinstance(event, kind) for event in self.events))
        return next(event for event in self.events if isinstance(event, kind))

    def count(self, kind: type[events.Event]) -> int:
        return sum(isinstance(event, kind) for event in self.events)

    @property
    def printed(self) -> str:
        return "".join(e.text for e in self.events if isinstance(e, events.OutputEvent))

    def sent(self) -> list[Any]:
        """Return every message that the adapter was sent; each must keep to the protocol."""
        if not self._tap.exists():
            return []
        records = [json.loads(line) for line in self._tap.read_text().splitlines()]
        messages = [record["message"] for record in records if record["direction"] == "send"]
        for message in messages:
            validate(message)
        return messages

    def asked(self) -> list[str]:
        return [message["command"] for message in self.sent() if message["type"] == "request"]


@contextlib.asynccontextmanager
async def debugged(
    tmp_path: Path, script: Script, timeouts: Timeouts = PATIENT, adapter: Adapter = FAKE
) -> AsyncIterator[Debugged]:
    made = Debugged(tmp_path / "tap.jsonl", script, timeouts, adapter)
    try:
        yield made
    finally:
        await made.backend.terminate()
        await made.backend.dispose()
        made.sent()


def at_line(line: int, id: int = 1, **more: Any) -> BreakpointRequest:
    return BreakpointRequest(id, Location("/program", line), **more)


# --- the order of things


@pytest.mark.parametrize(
    ("initialized", "launch"),
    [("initialize", "configured"), ("launch", "configured"), ("answer", "at once")],
)
@on_loop
async def test_breakpoints_are_in_place_before_the_program_runs_whatever_the_adapters_order(
    tmp_path: Path, initialized: str, launch: str
) -> None:
    script = {"initialized": initialized, "launch": launch, "stops": [{"line": 7}]}
    async with debugged(tmp_path, script) as program:
        bound = await program.start(at_line(7))
        assert [(b.id, b.verified) for b in bound] == [(1, True)]
        await program.event(events.Stopped)
        assert program.asked()[:5] == [
            "initialize",
            "launch",
            "setBreakpoints",
            "setExceptionBreakpoints",
            "configurationDone",
        ]


@on_loop
async def test_the_exit_of_the_program_is_reported_once_with_its_exit_code(tmp_path: Path) -> None:
    async with debugged(tmp_path, {"exit_code": 3}) as program:
        await program.start()
        ended = await program.event(events.ExitedEvent)
        assert ended.exit.code == 3
    assert program.count(events.ExitedEvent) == 1


@on_loop
async def test_an_end_without_an_exit_code_is_an_end(tmp_path: Path) -> None:
    async with debugged(tmp_path, {"exit_code": None}) as program:
        await program.start()
        assert (await program.event(events.ExitedEvent)).exit.code is None


# --- starts that fail


@on_loop
async def test_a_launch_that_is_refused_fails_with_the_adapters_message(tmp_path: Path) -> None:
    script = {"refuse": {"launch": "no such program: /program"}}
    async with debugged(tmp_path, script) as program:
        with pytest.raises(LaunchFailed, match="no such program: /program"):
            await program.start()


@on_loop
async def test_a_launch_that_is_refused_after_the_configuration_fails_too(tmp_path: Path) -> None:
    script = {
        "launch": "never",
        "after": {
            "configurationDone": [
                {
                    "raw": {
                        "type": "response",
                        "request_seq": 2,
                        "command": "launch",
                        "success": False,
                        "message": "it does not run",
                    }
                }
            ]
        },
        "stops": [{"line": 1}],
    }
    async with debugged(tmp_path, script) as program:
        with pytest.raises(LaunchFailed, match="it does not run"):
            await program.start()


@pytest.mark.parametrize("stage", ["initialize", "launch", "setBreakpoints", "configurationDone"])
@on_loop
async def test_an_adapter_that_dies_while_it_starts_is_reported_with_its_last_output(
    tmp_path: Path, stage: str
) -> None:
    script = {
        "silent": [stage],
        "after": {stage: [{"stderr": "libfake.so.3: not found\n"}, {"die": 127}]},
    }
    async with debugged(tmp_path, script) as program:
        with pytest.raises(DebuggerError, match=r"libfake\.so\.3: not found"):
            await program.start(at_line(7))


@pytest.mark.parametrize("stage", ["initialize", "launch", "setBreakpoints", "configurationDone"])
@on_loop
async def test_silence_at_any_stage_of_the_start_is_bounded(tmp_path: Path, stage: str) -> None:
    script: Script = {"silent": [stage], "initialized": "launch"}
    async with debugged(tmp_path, script, HASTY) as program:
        with pytest.raises(DebuggerTimeout, match="fake"):
            await program.start(at_line(7))


@on_loop
async def test_an_adapter_that_never_gets_ready_is_given_up(tmp_path: Path) -> None:
    async with debugged(tmp_path, {"initialized": "never"}, HASTY) as program:
        with pytest.raises(DebuggerTimeout, match="did not get ready"):
            await program.start()


@on_loop
async def test_a_program_that_is_not_a_debugger_is_reported_with_its_output(tmp_path: Path) -> None:
    script = {"start": [{"stderr": "usage: fake FILE\n"}, {"die": 2}]}
    async with debugged(tmp_path, script) as program:
        with pytest.raises(DebuggerError, match="usage: fake FILE"):
            await program.start()


# --- adapters that break


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"garbage": "{nonsense"}, "nonsense"),
        ({"header": "Content-Length: many"}, "many"),
        ({"half": True}, "in the middle of a message"),
        ({"raw": {"type": "event"}}, None),
        ({"respond": 4711}, None),
    ],
    ids=["garbage", "header", "half", "nameless event", "answer to nothing"],
)
@on_loop
async def test_what_cannot_be_understood_ends_the_session_or_harms_nobody(
    tmp_path: Path, fault: Script, message: str | None
) -> None:
    actions = [fault, *([{"die": 1}] if "half" in fault else [])]
    script = {"stops": [{"line": 7, "variables": {"x": "1"}}], "before": {"threads": actions}}
    async with debugged(tmp_path, script) as program:
        await program.start()
        await program.event(events.Stopped)
        if message is None:
            assert [thread.name for thread in await program.backend.threads()] == ["main"]
            return
        with pytest.raises(DebuggerLost, match=message):
            await program.backend.threads()
        ended = await program.event(events.ExitedEvent)
        assert ended.exit.how == "lost"
        assert message in (ended.exit.reason or "")


@on_loop
async def test_everything_pending_fails_with_the_last_output_when_the_adapter_ends(
    tmp_path: Path,
) -> None:
    script = {
        "stops": [{"line": 7}],
        "silent": ["threads", "scopes", "evaluate"],
        "after": {"evaluate": [{"stderr": "assertion failed: frame\n"}, {"die": -6}]},
    }
    async with debugged(tmp_path, script) as program:
        await program.start()
        await program.event(events.Stopped)
        backend = program.backend
        answers = await asyncio.gather(
            backend.threads(), backend.scopes(1), backend.evaluate("x", 1), return_exceptions=True
        )
        for answer in answers:
            assert isinstance(answer, DebuggerLost)
            assert "assertion failed: frame" in str(answer)
        ended = await program.event(events.ExitedEvent)
        assert ended.exit.how == "lost"
        assert "assertion failed: frame" in (ended.exit.reason or "")
        with pytest.raises(DebuggerLost):
            await backend.threads()


@on_loop
async def test_a_question_that_is_never_answered_is_bounded_and_the_next_one_works(
    tmp_path: Path,
) -> None:
    script = {"stops": [{"line": 7, "variables": {"x": "1"}}], "silent": ["scopes"]}
    async with debugged(tmp_path, script, Timeouts(request_s=1)) as program:
        await program.start()
        await program.event(events.Stopped)
        with pytest.raises(DebuggerTimeout, match="`scopes`"):
            await program.backend.scopes(1)
        assert (await program.backend.evaluate("x", 1)).text == "1"


@on_loop
async def test_an_adapter_that_is_deaf_to_the_end_is_ended_all_the_same(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = {
        "start": [{"touch": str(pid_file)}],
        "stops": [{"line": 7}],
        "deaf": "threads",
    }
    async with debugged(tmp_path, script) as program:
        await program.start()
        await program.event(events.Stopped)
    pid = int(pid_file.read_text())
    await until(lambda: not os.path.exists(f"/proc/{pid}") or _is_zombie(pid))
    assert program.count(events.ExitedEvent) == 1


def _is_zombie(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@on_loop
async def test_a_flood_of_output_is_all_there_before_the_stop_that_follows_it(
    tmp_path: Path,
) -> None:
    flood = {"flood": 20_000, "text": "0123456789\n"}
    script = {"stops": [{"line": 7}], "before": {"configurationDone": [flood]}}
    async with debugged(tmp_path, script) as program:
        await program.start()
        await program.event(events.Stopped)
        stopped = next(
            index for index, e in enumerate(program.events) if isinstance(e, events.Stopped)
        )
        before = [e.text for e in program.events[:stopped] if isinstance(e, events.OutputEvent)]
        assert "".join(before) == "0123456789\n" * 20_000


@on_loop
async def test_messages_in_pieces_are_put_together(tmp_path: Path) -> None:
    script = {"split": 0.002, "stops": [{"line": 7, "variables": {"x": "1"}}]}
    async with debugged(tmp_path, script) as program:
        await program.start()
        await program.event(events.Stopped)
        frames, total = await program.backend.frames(1, 0, 20)
        assert (frames[0].line, total) == (7, 1)


@on_loop
async def test_a_stack_is_looked_at_anew_when_the_program_has_become_another(
    tmp_path: Path,
) -> None:
    gone = {"event": "module", "body": {"reason": "removed", "module": {"id": "1", "name": ""}}}
    script = {
        "stops": [{"line": 7}, {"line": 8}],
        "before": {"configurationDone": [gone]},
        "replies": {"evaluate": {"result": "", "variablesReference": 0}},
    }
    adapter = replace(FAKE, backend=LldbBackend)
    async with debugged(tmp_path, script, adapter=adapter) as program:
        await program.start()
        await program.event(events.Stopped)
        asked = [m["arguments"] for m in program.sent() if m.get("command") == "evaluate"]
        assert [each["expression"] for each in asked] == [lldb.FRESH_FRAMES]
        await program.backend.resume(1)
        await until(lambda: program.count(events.Stopped) == 2)
        assert program.asked().count("evaluate") == 1


# --- only what was advertised


@on_loop
async def test_nothing_is_asked_that_was_not_advertised(tmp_path: Path) -> None:
    script = {"capabilities": {}, "launch": "at once", "stops": [{"line": 7}]}
    function = BreakpointRequest(2, Location(function="main"))
    async with debugged(tmp_path, script) as program:
        bound = {b.id: b for b in await program.start(at_line(7), function)}
        assert bound[1].verified
        assert bound[2].rejected
        assert "function breakpoints" in (bound[2].message or "")
        assert await program.backend.exception(1) is None
        assert Feature.FUNCTION_BREAKPOINTS not in program.backend.features
        assert program.asked() == ["initialize", "launch", "setBreakpoints"]


@on_loop
async def test_capabilities_that_come_late_count(tmp_path: Path) -> None:
    late = {"event": "capabilities", "body": {"capabilities": {"supportsReadMemoryRequest": True}}}
    script = {"stops": [{"line": 7}], "after": {"configurationDone": [late]}}
    async with debugged(tmp_path, script) as program:
        await program.start()
        await program.event(events.CapabilitiesChanged)
        assert Feature.MEMORY_READ in program.backend.features
        assert Feature.FUNCTION_BREAKPOINTS in program.backend.features


@on_loop
async def test_a_refused_expression_is_an_evaluation_that_failed(tmp_path: Path) -> None:
    script = {"stops": [{"line": 7}], "refuse": {"evaluate": "no symbol `nope`"}}
    async with debugged(tmp_path, script) as program:
        await program.start()
        await program.event(events.Stopped)
        with pytest.raises(EvaluationFailed, match="no symbol `nope`"):
            await program.backend.evaluate("nope", 1)


@on_loop
async def test_a_step_that_ends_the_debugger_is_no_error_of_the_step(tmp_path: Path) -> None:
    script = {"stops": [{"line": 7}], "silent": ["next"], "after": {"next": [{"die": 0}]}}
    async with debugged(tmp_path, script) as program:
        await program.start()
        await program.event(events.Stopped)
        await program.backend.step(StepKind.OVER, 1)
        assert (await program.event(events.ExitedEvent)).exit.how == "lost"


# --- reverse requests of an adapter


@on_loop
async def test_a_program_that_the_adapter_wants_in_a_terminal_runs_on_our_pipes(
    tmp_path: Path,
) -> None:
    code = "import os, sys; print(os.environ['KEY'], os.getcwd()); print(sys.stdin.readline())"
    arguments = {
        "cwd": str(tmp_path),
        "args": [sys.executable, "-c", code],
        "env": {"KEY": "value", "FREEZEFRAME_DAP_TAP": None},
    }
    script = {
        "stops": [{"line": 7}],
        "before": {"configurationDone": [{"request": "runInTerminal", "arguments": arguments}]},
    }
    async with debugged(tmp_path, script) as program:
        await program.start()
        await until(lambda: f"value {tmp_path}" in program.printed)
        await until(lambda: "runInTerminal answered" in program.printed)
        assert '"processId"' in program.printed
        assert Feature.STDIN in program.backend.features
        await program.backend.write_stdin(b"typed\n")
        await until(lambda: "typed" in program.printed)


@on_loop
async def test_a_program_that_cannot_be_run_in_a_terminal_is_refused_to_the_adapter(
    tmp_path: Path,
) -> None:
    arguments = {"cwd": str(tmp_path), "args": [str(tmp_path / "nowhere")]}
    script = {
        "stops": [{"line": 7}],
        "before": {"configurationDone": [{"request": "runInTerminal", "arguments": arguments}]},
    }
    async with debugged(tmp_path, script) as program:
        await program.start()
        await until(lambda: "runInTerminal answered" in program.printed)
        assert '"success": false' in program.printed
        assert "nowhere" in program.printed


@on_loop
async def test_a_child_that_the_adapter_announces_gets_a_line_of_its_own(tmp_path: Path) -> None:
    child = {"request": "attach", "configuration": {"name": "worker", "port": 1}}
    script = {
        "stops": [{"line": 7}],
        "before": {"configurationDone": [{"request": "startDebugging", "arguments": child}]},
    }
    async with debugged(tmp_path, script) as program:
        await program.start()
        offered = await program.event(events.ChildStarted)
        reported: list[events.Event] = []
        await offered.backend.start(offered.target, Configuration([at_line(7)]), reported.append)
        try:
            await until(lambda: any(isinstance(e, events.Stopped) for e in reported))
            attached = [m for m in program.sent() if m.get("command") == "attach"]
            assert [m["arguments"] for m in attached] == [{"name": "worker", "port": 1}]
        finally:
            await offered.backend.terminate()
            await offered.backend.dispose()


@on_loop
async def test_a_request_that_we_do_not_know_is_refused(tmp_path: Path) -> None:
    script = {"stops": [{"line": 7}], "before": {"configurationDone": [{"request": "makeTea"}]}}
    async with debugged(tmp_path, script) as program:
        await program.start()
        await until(lambda: "makeTea answered" in program.printed)
        assert '"success": false' in program.printed


def test_the_fake_adapter_advertises_what_these_tests_rely_on() -> None:
    assert CAPABILITIES["supportsFunctionBreakpoints"]
    assert CAPABILITIES["supportsConfigurationDoneRequest"]
