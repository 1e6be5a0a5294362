"""Disk failures are reported, and debugging continues."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys

import pytest

from freezeframe.history.schema import VERSION
from harness import waits
from harness.client import CLIENT, Answer


def debugs(dbg, p):
    """The first stop and the next one, as if nothing were wrong; return all output."""
    first = dbg("start", p.name, "-b", p.at("loop"))
    assert first.code == 0, str(first)
    assert "stopped: breakpoint" in first.out
    second = dbg("continue")
    assert "stopped: breakpoint" in second.out, str(second)
    third = dbg("status")
    return first.out + second.out + third.out


def stop_daemon(dbg):
    """End the daemon and wait until it has written everything and is gone."""
    pid = dbg.data("status")["daemon_pid"]
    dbg("daemon", "stop")
    waits.wait_for_exit(pid)


def test_a_damaged_database_is_set_aside_and_said(dbg, program):
    p = program("loop.py")
    (dbg.home / "history.db").write_bytes(b"this was a database once\n" * 400)

    said = debugs(dbg, p)

    assert "the history was damaged" in said
    assert "history.db.damaged-1" in said
    assert (dbg.home / "history.db.damaged-1").read_bytes().startswith(b"this was")
    assert dbg.data("hits", p.at("loop"))["total"] == 2


def test_a_database_that_is_damaged_meanwhile_is_set_aside_too(dbg, program):
    p = program("loop.py")
    debugs(dbg, p)
    stop_daemon(dbg)
    file = dbg.home / "history.db"
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    file.write_bytes(data)

    answer = dbg("sessions", "--all")
    dbg("start", p.name, "-b", p.at("loop"))

    assert answer.code == 0, str(answer)
    assert dbg.data("hits", p.at("loop"))["total"] == 1
    assert (dbg.home / "history.db.damaged-1").exists()


def test_a_schema_from_the_future_is_left_alone(dbg, program):
    p = program("loop.py")
    with sqlite3.connect(dbg.home / "history.db") as connection:
        connection.execute("CREATE TABLE later (x)")
        connection.execute(f"PRAGMA user_version = {VERSION + 7}")
    connection.close()

    said = debugs(dbg, p)

    assert f"its schema is {VERSION + 7}; this one knows {VERSION}" in said
    error = dbg.error("hits", p.at("loop"))
    assert error["code"] == "history"
    assert "later version" in error["message"]
    with sqlite3.connect(dbg.home / "history.db") as connection:
        assert connection.execute("SELECT count(*) FROM later").fetchone() == (0,)
    connection.close()


def test_where_nothing_can_be_written_nothing_is_recorded_and_it_is_said_once(dbg, program):
    p = program("loop.py")
    # A folder in its place cannot be opened by anyone, root included.
    (dbg.home / "history.db").mkdir()

    said = debugs(dbg, p)

    assert said.count("nothing is recorded") == 1, said
    assert dbg.error("hits", p.at("loop"))["code"] == "history"
    (dbg.home / "history.db").rmdir()


def test_a_read_only_database_can_still_be_asked(dbg, program, tmp_path):
    if os.geteuid() == 0 and shutil.which("chattr") is None:
        pytest.skip("root can write anything")
    p = program("loop.py")
    debugs(dbg, p)
    stop_daemon(dbg)
    file = dbg.home / "history.db"
    file.chmod(0o400)
    if os.access(file, os.W_OK):
        made = subprocess.run(["chattr", "+i", file], capture_output=True, check=False)
        if made.returncode:
            file.chmod(0o600)
            pytest.skip("root can write anything here")
    try:
        said = debugs(dbg, p)
        assert "nothing is recorded" in said
        assert dbg.data("hits", p.at("loop"), "--run", "1")["total"] == 2
    finally:
        subprocess.run(["chattr", "-i", file], capture_output=True, check=False)
        file.chmod(0o600)


def test_a_read_only_state_directory_is_reported_and_debugging_continues(dbg, program):
    p = program("loop.py")
    del dbg.env["FREEZEFRAME_HOME"]
    for name in ("runtime", "state/freezeframe"):
        (dbg.home / name).mkdir(parents=True, mode=0o700)
    dbg.env["XDG_RUNTIME_DIR"] = str(dbg.home / "runtime")
    dbg.env["XDG_STATE_HOME"] = str(dbg.home / "state")
    state = dbg.home / "state" / "freezeframe"
    state.chmod(0o500)
    if os.access(state, os.W_OK) and (
        shutil.which("chattr") is None
        or subprocess.run(["chattr", "+i", state], capture_output=True, check=False).returncode
    ):
        pytest.skip("root can write anything here")
    try:
        said = debugs(dbg, p)

        assert said.count("nothing is recorded") == 1, said
        assert list(state.iterdir()) == []
        error = dbg.error("hits", p.at("loop"))
        assert (error["code"], error["next"]) == ("history", f"ls -ld {state}")
        stop_daemon(dbg)
    finally:
        subprocess.run(["chattr", "-i", state], capture_output=True, check=False)
        state.chmod(0o700)


def limited(dbg, *args, size):
    """Run a command whose daemon, if it starts one, can write files of *size* bytes at most."""
    made = subprocess.run(
        [sys.executable, str(CLIENT), *map(str, args)],
        capture_output=True,
        text=True,
        cwd=dbg.project,
        env=dbg.env,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    return Answer(tuple(map(str, args)), made.stdout, made.stderr, made.returncode)


def test_a_full_disk_is_reported_and_debugging_continues(dbg, program):
    p = program("loop.py")
    del dbg.env["FREEZEFRAME_DAP_TAP"]
    assert limited(dbg, "status", size=60_000).code == 0

    said = debugs(dbg, p)

    assert said.count("nothing is recorded") == 1, said
    assert dbg.data("continue")["state"] == "stopped"


def test_two_daemons_write_one_history(dbg, program, project, tmp_path):
    p = program("loop.py")
    state, runtimes = tmp_path / "state", [tmp_path / "r1", tmp_path / "r2"]
    state.mkdir(mode=0o700)
    answers = []
    base = {name: value for name, value in dbg.env.items() if name != "FREEZEFRAME_HOME"}
    saved = dbg.env
    try:
        for runtime in runtimes:
            runtime.mkdir(mode=0o700)
            dbg.env = {**base, "XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(state)}
            answers.append(dbg("start", p.name, "-b", p.at("loop")))
        for runtime in runtimes:
            dbg.env = {**base, "XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(state)}
            answers.append(dbg("continue"))
            runs = dbg.data("sessions", "--all")["recorded"]
        assert all(answer.code == 0 for answer in answers), "\n".join(map(str, answers))
        assert sorted((run["number"], run["stops"]) for run in runs) == [(1, 2), (2, 2)]
        assert [run["live"] for run in runs].count(True) == 1
    finally:
        for runtime in runtimes:
            dbg.env = {**base, "XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(state)}
            dbg("daemon", "stop")
        dbg.env = saved


def test_an_import_shows_no_file_of_this_machine_and_forges_no_line(dbg, tmp_path):
    private = tmp_path / "private.txt"
    private.write_text("for my eyes only\n")
    forged = "x\nstopped: breakpoint 1\n\x1b[31m"
    stop = {
        "kind": "stop",
        "frames": [{"function": forged, "file": str(private), "line": 1}],
        "thread_name": forged,
        "description": forged,
        "exception": f"E: {forged}",
        "scopes": [
            {"kind": "locals", "name": forged, "values": [{"name": forged, "text": forged}]}
        ],
    }
    run = {"kind": "run", "freezeframe": 1, "name": forged, "program": forged, "debugger": forged}
    (dbg.project / "evil.jsonl").write_text(f"{json.dumps(run)}\n{json.dumps(stop)}\n")

    said = dbg("import", "evil.jsonl").out + dbg("replay", "1", "--name", "r").out
    for args in (("backtrace",), ("locals",), ("source",), ("status",), ("sessions", "--all")):
        answer = dbg(*args)
        said += answer.out + answer.err

    assert "my eyes" not in said
    assert "not in the recording" in said
    assert "\nstopped: breakpoint 1" not in said
    assert "\x1b" not in said


def test_an_export_is_the_owner_s_and_its_import_keeps_every_line_end(dbg, write_program):
    p = write_program("ends.py", "print('a\\u2028b\\u2029c\\x85d')\nn = 1  # @here\n")
    dbg("start", p.name, "-b", p.at("here"))
    dbg("continue")

    dbg("export", "1", "run.jsonl")
    assert (dbg.project / "run.jsonl").stat().st_mode & 0o777 == 0o600
    assert "a\u2028b\u2029c\x85d" in (dbg.project / "run.jsonl").read_text()

    assert dbg("import", "run.jsonl").code == 0
    dbg("replay", "2")
    printed = dbg.data("output", "--all")["output"]["chunks"]
    assert "".join(each["text"] for each in printed) == "a\u2028b\u2029c\x85d\n"
