"""Several clients at one session, and exits at inconvenient times."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from harness.client import Answer, Background, Dbg
from harness.programs import Program
from harness.waits import has_socket, wait_for_exit, wait_for_file, wait_until

WriteProgram = Callable[[str, str], Program]

ENDLESS = """\
import sys, time
from pathlib import Path

Path("here").write_text("yes")
n = 0
while True:
    n += 1
    time.sleep(0.01)
"""

COUNTER = """\
def work(i):
    j = i * 2
    return j  # @work

i = 0
while True:
    i += 1
    work(i)
"""


@pytest.fixture
def endless(write_program: WriteProgram) -> Program:
    return write_program("endless.py", ENDLESS)


def run_endless(dbg: Dbg, endless: Program) -> int:
    """Start the program, return its pid when it is past its first lines."""
    (dbg.project / "here").unlink(missing_ok=True)
    pid = dbg.data("start", endless.name, "--no-wait")["pid"]
    wait_for_file(dbg.project / "here")
    return int(pid)


def waiting(dbg: Dbg, *args: str) -> Background:
    """Start a client that waits, and return when the daemon has it."""
    client = dbg.start_background(*args)
    wait_until(
        lambda: any(call in _wchan(client.pid) for call in ("unix_stream", "recv", "poll")),
        f"dbg {' '.join(args)} waits for its answer",
    )
    return client


def _wchan(pid: int) -> str:
    # 0 where the kernel does not tell: then the client counts as waiting once its link is open.
    channel = Path(f"/proc/{pid}/wchan").read_text()
    if channel not in ("", "0"):
        return channel
    return "recv" if has_socket(pid) else ""


def codes(*answers: Answer) -> list[int]:
    return sorted(answer.code for answer in answers)


def test_two_stops_at_once_both_have_an_answer(dbg: Dbg, endless: Program) -> None:
    pid = run_endless(dbg, endless)
    clients = [dbg.start_background("stop") for _ in range(4)]
    answers = [client.wait() for client in clients]
    assert 0 in codes(*answers)
    for answer in answers:
        assert answer.code in (0, 3), str(answer)
    wait_for_exit(pid)
    assert dbg.data("status")["sessions"] == []


def test_a_stop_during_a_restart_ends_the_session_for_good(dbg: Dbg, endless: Program) -> None:
    for _ in range(5):
        pid = run_endless(dbg, endless)
        restarting = dbg.start_background("restart", "--timeout", "20")
        # A restart that arrives after the stop would start the program again, and rightly so.
        wait_for_exit(pid)
        stopped = dbg("stop")
        answer = restarting.wait()
        assert stopped.code == 0, str(stopped)
        assert answer.code in (0, 1, 3), str(answer)
        if answer.code == 1:
            assert "was ended by another command" in answer.err, str(answer)
        assert dbg.data("status")["sessions"] == []
        wait_until(
            lambda: not [c for c in dbg.processes().values() if endless.name in c],
            "no program is left",
        )


def test_starts_of_one_name_at_once_leave_one_session(dbg: Dbg, endless: Program) -> None:
    dbg("status")
    clients = [
        dbg.start_background("start", endless.name, "--name", "one", "--no-wait") for _ in range(4)
    ]
    for client in clients:
        answer = client.wait()
        if answer.code:
            assert "session one was ended by another command" in answer.err, str(answer)
    sessions = dbg.data("status")["sessions"]
    assert [session["name"] for session in sessions] == ["one"]
    wait_until(
        lambda: len([c for c in dbg.processes().values() if endless.name in c]) == 1,
        lambda: f"one program is left of {dbg.processes()}",
    )


def test_a_pause_while_the_program_is_being_started_says_so(dbg: Dbg, endless: Program) -> None:
    dbg("status")
    starting = dbg.start_background("start", endless.name, "--no-wait")
    wait_until(
        lambda: dbg.envelope("status")["data"]["sessions"], "the session is there", timeout_s=20
    )
    answer = dbg("pause")
    assert answer.code == 0 or "still being started" in answer.err, str(answer)
    assert starting.wait().code == 0


def test_a_command_that_a_stop_cuts_short_says_how_the_program_ended(
    dbg: Dbg, write_program: WriteProgram
) -> None:
    program = write_program("counter.py", COUNTER)
    dbg.data("start", program.name, "-b", program.at("work"))
    flag = dbg.project / "flag"
    code = f"open({str(flag)!r}, 'w').close() or __import__('time').sleep(60)"
    evaluating = dbg.start_background("eval", code)
    wait_for_file(flag)
    assert dbg("stop").code == 0
    answer = evaluating.wait()
    assert answer.code == 1
    assert "not-running: the program was ended by another command." in answer.err


def test_every_waiting_client_is_notified_of_the_exit(dbg: Dbg, endless: Program) -> None:
    pid = run_endless(dbg, endless)
    clients = [waiting(dbg, "await") for _ in range(3)]
    os.kill(pid, signal.SIGKILL)
    for client in clients:
        answer = client.wait()
        assert answer.code == 0, str(answer)
        assert "SIGKILL" in answer.out


def test_two_continues_at_once_never_tell_the_same_stop_twice(
    dbg: Dbg, write_program: WriteProgram
) -> None:
    program = write_program("counter.py", COUNTER)
    dbg.data("start", program.name, "-b", program.at("work"))
    clients = [dbg.start_background("continue") for _ in range(2)]
    answers = [client.wait() for client in clients]
    # The second one came before the debugger had answered the first one, while the program ran, or
    # when it had stopped again.
    refused = [answer for answer in answers if answer.code]
    for answer in refused:
        reason, _, next_step = answer.err.partition("\n")
        assert reason in (
            "not-stopped: the program is running already.",
            "not-stopped: debugpy has not answered `continue` yet.",
        ), str(answer)
        assert next_step == "  next: dbg await\n"
    seen = sorted(
        int(found.group(1))
        for answer in answers
        if (found := re.search(r"(?m)^[* ] i = (\d+)", answer.out)) is not None
    )
    assert seen == ([2] if refused else [2, 3]), "\n".join(map(str, answers))


def test_the_loss_of_a_session_is_reported_when_the_supervisor_was_killed(
    dbg: Dbg, write_program: WriteProgram
) -> None:
    program = write_program("counter.py", COUNTER)
    pid = dbg.data("start", program.name, "-b", program.at("work"))["pid"]
    wait_for_file(dbg.home / "sessions.json", "counter.py:3")
    daemon = dbg.data("status")["daemon_pid"]
    os.kill(int((dbg.home / "daemon.lock").read_text()), signal.SIGKILL)
    wait_for_exit(daemon)
    wait_for_exit(pid)
    answer = dbg("status")
    assert "session counter (pid" in answer.out
    assert "was lost" in answer.out
    assert "was lost" not in dbg("status").out


def test_what_the_program_did_not_end_with_a_newline_is_seen_at_the_stop(
    dbg: Dbg, write_program: WriteProgram
) -> None:
    text = 'import sys\nsys.stdout.write("half")\nsys.stderr.write("broken")\nx = 1  # @here\n'
    program = write_program("halves.py", text)
    report = dbg.data("start", program.name, "-b", program.at("here"))
    printed = {chunk["stream"]: chunk["text"] for chunk in report["output"]["chunks"]}
    assert printed == {"stdout": "half", "stderr": "broken"}


def test_bytes_that_are_not_text_and_a_closed_stdout_do_no_harm(
    dbg: Dbg, write_program: WriteProgram
) -> None:
    text = (
        "import os, sys\nos.write(1, bytes(range(256)))\nos.close(1)\n"
        'x = 1  # @here\nsys.stderr.write("still here")\nos._exit(0)\n'
    )
    program = write_program("bytes.py", text)
    report = dbg.data("start", program.name, "-b", program.at("here"))
    assert "\ufffd" in report["output"]["chunks"][0]["text"]
    end = dbg.data("continue")
    assert end["state"] == "terminated"
    assert end["output"]["chunks"][0]["text"] == "still here"
    assert "\x1b" not in dbg("output", "--all").out


def test_many_commands_leave_nothing_behind_in_the_daemon(
    dbg: Dbg, write_program: WriteProgram
) -> None:
    program = write_program("counter.py", COUNTER)
    where = program.at("work")
    dbg.data("start", program.name, "-b", where)
    daemon = dbg.data("status")["daemon_pid"]

    def open_files() -> list[str]:
        names = []
        for fd in Path(f"/proc/{daemon}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed while we looked
                names.append(os.readlink(fd))
        return names

    batch = ["next", "locals", "bt", "status", "output", "continue", f"break {where}", "nope"]
    before = len(open_files())
    for _ in range(10):
        dbg("batch", "--keep-going", *batch)
        dbg("restart")
    wait_until(lambda: len(open_files()) <= before, lambda: "\n".join(open_files()))
    children = Path(f"/proc/{daemon}/task/{daemon}/children")
    wait_until(lambda: len(children.read_text().split()) == 1, "all that ended are reaped")


def test_a_structured_request_outlives_nobody_and_ends_nothing(
    dbg: Dbg, endless: Program, project: Path
) -> None:
    import socket

    run_endless(dbg, endless)
    link = socket.socket(socket.AF_UNIX)
    link.connect(str(dbg.home / "daemon.sock"))
    with link, link.makefile("rwb") as lines:
        for number, command in enumerate(("await", "status")):
            request = {"id": number, "command": command, "cwd": str(project)}
            lines.write(json.dumps(request).encode() + b"\n")
        lines.flush()
        # The wait is at work; the question after it is answered at once.
        assert json.loads(lines.readline())["id"] == 1
    sessions = dbg.data("status")["sessions"]
    assert [session["state"] for session in sessions] == ["running"]
