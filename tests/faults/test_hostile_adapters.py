"""Adapters that mean harm, or are broken beyond what any test of a real one would show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fake_adapter
from harness import waits
from harness.client import Dbg

CONFIG = """
[adapters.tree]
languages = ["Tree"]
patterns = ["*.tree"]
command = {command}
"""


def use(dbg: Dbg, project: Path, script: dict[str, Any]) -> None:
    (project / "oak.tree").write_text("root\n")
    argv = [dbg.interpreter, *fake_adapter.command(script)[1:]]
    dbg.configure(CONFIG.format(command=json.dumps(argv)))


def test_children_that_ask_for_children_come_to_an_end(dbg: Dbg, project: Path):
    child = {"request": "launch", "configuration": {"name": "again"}}
    ask = [{"request": "startDebugging", "arguments": child}]
    use(dbg, project, {"after": {"configurationDone": ask}, "stops": [{"line": 1}], "exit_code": 0})

    dbg("start", "oak.tree")

    def refused() -> bool:
        return any(
            "at most 256 such processes, 16 within each other" in json.dumps(message)
            for message in dbg.sent_messages()
        )

    waits.wait_until(refused, lambda: f"it is refused: {dbg.processes()}")
    running = [each for each in dbg.processes().values() if "fake_adapter" in each]
    assert len(running) <= 17, running
    assert dbg("stop", "--all").code == 0


def test_programs_that_an_adapter_asks_for_are_counted(dbg: Dbg, project: Path):
    run = {"request": "runInTerminal", "arguments": {"args": ["/bin/true"], "cwd": "/"}}
    use(dbg, project, {"after": {"configurationDone": [run] * 270}, "stops": [{"line": 1}]})

    dbg("start", "oak.tree")

    def answers() -> list[bool]:
        sent = dbg.sent_messages()
        return [m["success"] for m in sent if m.get("command") == "runInTerminal"]

    waits.wait_until(lambda: len(answers()) == 270, lambda: f"all are answered: {len(answers())}")
    assert answers().count(True) == 256


def test_a_flood_of_stops_ends_the_adapter_and_no_command_waits_for_it(dbg: Dbg, project: Path):
    stopped = {"reason": "breakpoint", "threadId": 1}
    flood = {"flood": 1_000_000, "stopped": stopped}
    use(dbg, project, {"after": {"configurationDone": [flood]}, "stops": [stopped]})

    dbg("start", "oak.tree", "--timeout", "20")  # a stop, or the end already

    def session() -> dict[str, Any]:
        return dict(dbg.data("status")["sessions"][0])

    waits.wait_until(lambda: session()["state"] == "terminated", lambda: str(session()))
    assert "stops after one request to resume" in session()["exit"]["reason"]
    assert "lost with its debugger" in dbg.error("bt")["message"]


def test_an_adapter_that_names_a_descriptor_as_a_path_takes_none(dbg: Dbg, project: Path):
    frame = {"id": 1, "name": "f", "line": 1, "column": 1, "source": {"path": 3}}
    replies = {"stackTrace": {"stackFrames": [frame] * 3, "totalFrames": 3}}
    use(dbg, project, {"stops": [{"line": 1}], "replies": replies})

    dbg("start", "oak.tree")

    for command in ("bt", "source", "status"):
        answer = dbg(command)
        assert "internal" not in answer.err, answer
    assert dbg("status").code == 0
