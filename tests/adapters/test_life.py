"""Sessions begin, wait, are shared and end, whatever the debugger: no hang, no orphan, no lie."""

from __future__ import annotations

import os
import signal
import subprocess

from harness import waits
from harness.reports import frame_of, functions, place, texts

# --- waiting ------------------------------------------------------------------------------------


def spinning(dbg, sample, project):
    """Start a program that never ends, and return when it is in its loop."""
    p = sample("endless")
    report = dbg.data("start", p.name, "--no-wait", code=0)
    waits.wait_for_file(project / "spinning.txt", "spinning")
    return p, report


def test_a_waiting_command_holds_nobody_up_and_stop_ends_the_program(dbg, sample, project):
    _, started = spinning(dbg, sample, project)

    # a wait that is up answers "running", and can be taken up again
    report = dbg.data("await", "--timeout", 0.3, code=124)
    assert report["state"] == "running"
    assert report["waited_s"] >= 0.3
    assert dbg.data("await", "--timeout", 0.1, code=124)["state"] == "running"

    # what needs a stopped program is refused with a next step
    for command, step in [("locals", "pause"), ("next", "await")]:
        error = dbg.error(command, code=1)
        assert error["code"] == "not-stopped"
        assert error["next"] == f"dbg {step}"
    answer = dbg("--json", "backtrace").json()
    if answer["ok"]:  # a debugger that sees the stacks of a running program
        assert answer["data"]["running"]
        assert answer["data"]["stacks"]
        assert dbg.data("status")["sessions"][0]["state"] == "running"
    else:
        assert answer["error"]["code"] == "not-stopped"
        assert answer["error"]["next"] == "dbg pause"

    # control is never queued behind a waiting command
    waiting = dbg.start_background("await", "--timeout", "60")
    [session] = dbg.data("status", timeout_s=10)["sessions"]
    assert session["state"] == "running"
    dbg.data("output", timeout_s=10)
    dbg("logs", timeout_s=10)
    assert waiting.running
    dbg.data("stop", timeout_s=20)
    assert "Traceback" not in waiting.wait(20).err

    waits.wait_for_exit(started["pid"])
    assert dbg.error("continue", code=3)["code"] == "no-session"


def test_an_interrupted_client_changes_nothing_and_pause_frees_a_waiting_one(
    dbg, sample, project, debugger
):
    p, _ = spinning(dbg, sample, project)
    waiting = dbg.start_background("await", "--timeout", "60")
    # Once it has a connection its request is on the way; status is answered in the same loop.
    waits.wait_until(lambda: waits.has_socket(waiting.pid), "the client is connected")
    assert dbg("status").code == 0
    waiting.interrupt()
    assert waiting.wait(10).code in (130, -signal.SIGINT)
    assert dbg.data("await", "--timeout", 0.1, code=124)["state"] == "running"
    if not debugger.pauses:
        assert dbg.error("pause")["code"] == "unsupported"
        return

    waiting = dbg.start_background("--json", "await", "--timeout", "60")
    paused = dbg.data("pause")

    assert paused["state"] == "stopped"
    assert paused["stop"]["reason"] == "pause"
    first = waiting.wait(20).data()
    assert first["state"] == "stopped"
    assert first["stop"]["number"] == paused["stop"]["number"]
    [stack] = dbg.data("backtrace")["stacks"]
    assert "spin" in functions(stack)

    # not lost either where the debugger is busy with stops that nobody sees
    dbg.data("break", p.at("turn"), "--hit-count", "1000000000")
    for _ in range(2):
        dbg.data("continue", "--no-wait")
        assert dbg.data("pause")["stop"]["reason"] == "pause"


# --- ends ---------------------------------------------------------------------------------------


def test_a_program_killed_from_outside_is_said_to_be(dbg, sample, project):
    _, report = spinning(dbg, sample, project)

    os.kill(report["pid"], signal.SIGKILL)

    ended = dbg.data("await")
    assert ended["state"] == "terminated"
    assert ended["exit"]["signal"] == "SIGKILL"


def test_a_program_killed_while_it_stands_is_said_to_be(dbg, sample):
    p = sample("endless")
    dbg.data("start", p.name, "-b", p.at("turn"), code=0)
    [session] = dbg.data("status")["sessions"]

    os.kill(session["pid"], signal.SIGKILL)

    # Some debuggers reap it first, and report its status a moment later.
    waits.wait_until(lambda: dbg.data("status")["sessions"][0]["state"] != "stopped", "it ended")
    [session] = dbg.data("status")["sessions"]
    assert session["exit"]["signal"] == "SIGKILL", session


def test_a_daemon_killed_from_outside_takes_its_programs_along_and_is_missed(dbg, sample, project):
    _, report = spinning(dbg, sample, project)
    daemon = dbg.data("status")["daemon_pid"]

    os.kill(daemon, signal.SIGKILL)

    waits.wait_for_exit(daemon)
    waits.wait_for_exit(report["pid"])
    answer = dbg("status")
    assert answer.code == 0
    assert "lost" in answer.out + answer.err


def test_commands_without_a_session_say_how_to_start_one(dbg, sample):
    error = dbg.error("continue", code=3)

    assert error["code"] == "no-session"
    assert "start" in error["next"]


# --- several ------------------------------------------------------------------------------------


def test_named_sessions_are_kept_apart(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "--name", "one", "-b", p.at("loop"))
    # Behind a bare name `-s` is the command's own.
    dbg.data("-s", "two", "start", p.name, "-b", p.at("loop"))

    dbg.data("-s", "one", "continue")

    assert texts(dbg.data("-s", "one", "locals"))["number"] == "1"
    assert texts(dbg.data("-s", "two", "locals"))["number"] == "0"
    assert texts(dbg.data("locals", env={"DBG_SESSION": "one"}))["number"] == "1"
    dbg.data("use", "one")
    assert texts(dbg.data("locals"))["number"] == "1"
    names = {session["name"] for session in dbg.data("sessions")["sessions"]}
    assert names == {"one", "two"}


def test_two_projects_never_touch_each_other(dbg, sample, tmp_path):
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    p, q = sample("loop"), sample("loop", other)

    first = dbg.start_background("--json", "start", p.name, "-b", p.at("loop"))
    second = dbg.start_background("--json", "start", q.name, "-b", q.at("callee"), cwd=other)
    here, there = first.wait().data(), second.wait().data()

    assert place(here) == p.at("loop")
    assert place(there) == q.at("callee")
    assert frame_of(here)["path"] == str(p.source)
    assert frame_of(there)["path"] == str(q.source)
    dbg.data("stop", cwd=other)
    assert dbg.data("continue")["state"] == "stopped"


def test_clients_of_one_session_get_their_own_answers_and_a_batch_ends_at_a_failure(
    dbg, sample, debugger
):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("loop"))

    clients = [
        dbg.start_background("--json", "print", f"{debugger.says('total')} + {n}")
        for n in range(12)
    ]
    answers = [client.wait().json() for client in clients]
    assert [answer["data"]["value"]["text"] for answer in answers] == [str(n) for n in range(12)]

    # an answer fits the requested budget
    small = dbg("context", "--budget", "80")
    assert small.code == 0
    assert len(small.out.encode()) <= 240

    answer = dbg("--json", "batch", "next", f"print {debugger.says('no_such_name')}", "continue")
    assert answer.code == 1
    batch = answer.data()
    assert [item["ok"] for item in batch["items"]] == [True, False]
    assert batch["items"][1]["error_code"] == "evaluation"
    assert batch["skipped"] == ["continue"]
    assert texts(dbg.data("locals"))["number"] == "0", "continue must not have run"


# --- batch --------------------------------------------------------------------------------------


def test_a_batch_can_be_read_from_standard_input(dbg, sample, debugger):
    p = sample("loop")

    answer = dbg(
        "batch",
        stdin=f"break {p.at('loop')}\nstart {p.name}\ncontinue\nprint {debugger.says('total')}\n",
    )

    assert answer.code == 0, str(answer)
    assert answer.out.rstrip().endswith("6")


# --- attach to a running program ----------------------------------------------------------------


def test_a_living_program_is_joined_and_left_running(dbg, sample, project, debugger):
    p = sample("endless")
    living = subprocess.Popen(debugger.command(p), cwd=project, env=dbg.env)
    try:
        waits.wait_for_file(project / "spinning.txt", "spinning")
        if not debugger.joins:
            assert dbg.error("attach", living.pid, code=1)["code"] == "unsupported"
            return
        report = dbg.data("attach", living.pid, "-b", p.at("turn"))
        assert place(report) == p.at("turn")
        assert int(texts(report)["turns"]) >= 0

        dbg.data("detach")

        assert living.poll() is None
        (project / "spinning.txt").unlink()
        assert waits.state_of(living.pid) not in ("T", "t"), "it was left stopped"
    finally:
        living.kill()
        living.wait()


def test_a_program_that_was_started_here_runs_on_when_it_is_left(dbg, sample, debugger):
    if "detach" in debugger.refuses:
        return  # that it is refused is held elsewhere
    p = sample("endless")
    dbg("status")
    before = set(dbg.processes())
    report = dbg.data("start", p.name, "-b", p.at("turn"))

    dbg.data("detach")

    # Its debugger goes, and it alone is left.
    try:
        waits.wait_until(
            lambda: set(dbg.processes()) - before == {report["pid"]},
            lambda: f"{report['pid']} is left of {dbg.processes()}",
        )
        waits.wait_until(
            lambda: waits.state_of(report["pid"]) in ("R", "S"), "it runs on without a debugger"
        )
    finally:
        for pid in set(dbg.processes()) - before:
            os.kill(pid, signal.SIGKILL)


# --- the text answer ----------------------------------------------------------------------------


def test_a_stop_report_of_a_small_frame_is_small(dbg, sample):
    p = sample("loop")

    answer = dbg("start", p.name, "-b", p.at("callee"))

    assert answer.code == 0, str(answer)
    assert answer.err == ""
    # 150 tokens of 3 bytes, and a line that names the tool.
    assert len(answer.out.encode()) <= 550, answer.out
    assert "\x1b" not in answer.out


def test_a_whole_investigation_takes_five_small_answers(dbg, sample):
    p = sample("loop")

    answers = [
        dbg("start", p.name, "-b", p.at("loop")),
        dbg("batch", "continue", "continue"),
        dbg("next", "--count", 10),
        dbg("print", "1 + 1"),
        dbg("stop"),
    ]

    assert sum(len(answer.out.encode()) for answer in answers) <= 2500, "\n".join(map(str, answers))
