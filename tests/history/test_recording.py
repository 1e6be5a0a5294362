"""Recording through the real daemon: what is recorded, what is not, and at what cost."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3

import pytest

from harness import compilers, programs, reports, waits
from harness.client import REPOSITORY
from harness.requirements import give_up


def walk(dbg, *args):
    """Start a program and go from stop to stop until it ends; return the last report."""
    report = dbg.data("start", *args)
    while report["state"] == "stopped":
        report = dbg.data("continue")
    assert report["state"] == "terminated", report
    return report


def stop_daemon(dbg):
    """End the daemon and wait until it has written everything and is gone."""
    pid = dbg.data("status")["daemon_pid"]
    dbg("daemon", "stop")
    waits.wait_for_exit(pid)


def cells(dbg, *args):
    return [hit["cells"] for hit in dbg.data("hits", *args)["hits"]]


@pytest.fixture(params=[".py", ".c", ".go", ".js"])
def ackermann(request, dbg, program):
    source = program(f"ackermann{request.param}")
    if request.param == ".go":
        dbg.env["PATH"] = f"{REPOSITORY / '.cache/go/bin'}{os.pathsep}{dbg.env['PATH']}"
    debugger = {".go": "dlv", ".js": "node"}.get(request.param)
    if debugger is not None and shutil.which(debugger, path=dbg.env["PATH"]) is None:
        give_up(f"there is no {debugger}")
    if request.param in (".py", ".js"):
        return source
    if why := compilers.missing(compilers.language_of(source.path)):
        give_up(why)
    return programs.compiled(source)


def test_ten_hits_of_a_loop_and_forty_four_of_a_recursion(dbg, ackermann):
    p = ackermann
    walk(dbg, p.name, "-b", p.at("square"), "-b", "ackermann")

    squares = [[str(i), str(i * i)] for i in range(10)]
    assert cells(dbg, p.at("square"), "i", "square") == squares
    table = dbg.data("hits", "ackermann", "m", "n")
    assert table["total"] == 44
    assert table["hits"][0]["cells"] == ["2", "3"]
    assert table["hits"][-1]["cells"] == ["0", "8"]
    count = dbg.data("hits", "ackermann", "--count-by", "m")
    assert [(g["value"], g["count"]) for g in count["groups"]] == [("1", 20), ("0", 20), ("2", 4)]


def test_the_messages_of_a_logpoint_are_its_hits(dbg, program, project):
    p = program("ackermann.py")
    dbg("break", p.at("square"), "--log", "i is {i}, square {square}")
    dbg("break", "ackermann", "--log", "called")
    walk(dbg, p.name)

    squares = [[str(i), str(i * i)] for i in range(10)]
    assert cells(dbg, p.at("square")) == squares
    assert cells(dbg, "1", "square", "--where", "i > 7") == [["64"], ["81"]]
    assert dbg.data("hits", "ackermann")["total"] == 44
    error = dbg.error("hits")
    assert f"{p.at('square')} (10)" in error["message"], "without a location: those that there are"
    dbg("export", "1", "run.jsonl")
    dbg("import", "run.jsonl")
    assert cells(dbg, p.at("square"), "--run", "2") == squares


def test_logpoints_with_the_same_text_are_not_told_apart(dbg, program):
    p = program("ackermann.py")
    dbg("break", p.at("square"), "--log", "here")
    dbg("break", "ackermann", "--log", "here")
    walk(dbg, p.name)

    error = dbg.error("hits", p.at("square"))

    assert "print the same text" in error["message"]


def test_a_place_is_a_whole_line_number(dbg, program):
    p = program("ackermann.py")
    walk(dbg, p.name, "-b", p.at("square"))
    line = p.line("square")

    error = dbg.error("hits", f"{p.name}:{line // 10}")

    assert error["code"] == "not-found"
    assert f"{p.name}:{line} (10)" in error["message"]


def test_a_place_is_the_same_from_a_folder_below(dbg, program, project):
    p = program("package")
    (project / "deep").mkdir()
    module = next(path for path in sorted(p.path.glob("*.py")) if "@" in path.read_text())
    relative = module.relative_to(project).as_posix()
    marker = next(name for name, (file, _) in p.markers.items() if file == relative)
    dbg("start", "-b", p.at(marker), "-m", "package")
    dbg("stop")

    spelled = f"../{p.at(marker)}"

    here = dbg.data("hits", p.at(marker))
    below = dbg.data("hits", spelled, cwd=project / "deep", env={"DBG_SESSION": ""})
    assert here["hits"][0]["place"] == p.at(marker)
    assert below["hits"] == here["hits"]


def test_a_stop_has_its_command_its_stack_and_what_was_printed(dbg, program):
    p = program("loop.py")
    dbg("start", p.name, "-b", p.at("loop"))
    dbg("next")
    dbg("stop")

    stops = [line for line in exported(dbg) if line["kind"] == "stop"]

    assert [stop["command"] for stop in stops] == [f"start {p.name} -b {p.at('loop')}", "next"]
    assert [stop["reason"] for stop in stops] == ["breakpoint", "step"]
    functions = [frame["function"] for frame in stops[0]["frames"]]
    assert functions[:2] == ["total_of", "main"]
    printed = "".join(line["text"] for line in exported(dbg) if line["kind"] == "output")
    assert printed[: stops[0]["cursor"]] == "adding\n"
    assert 0 < stops[0]["at_s"] < stops[1]["at_s"]


def exported(dbg, *args):
    import json

    return [json.loads(line) for line in dbg("export", *args).out.splitlines()]


def test_nothing_is_kept_of_a_session_that_is_not_to_be_recorded(dbg, program):
    p = program("loop.py")
    dbg("start", p.name, "-b", p.at("loop"), "--no-record")
    dbg("continue")

    assert dbg.data("sessions", "--all")["recorded"] == []
    assert dbg.error("hits", p.at("loop"))["code"] == "not-found"


def test_recording_is_switched_off_for_all_by_the_configuration(dbg, program):
    dbg.configure("[history]\nrecord = false\n")
    p = program("loop.py")
    dbg("start", p.name, "-b", p.at("loop"))
    assert dbg.data("sessions", "--all")["recorded"] == []

    dbg("start", p.name, "--record")
    assert len(dbg.data("sessions", "--all")["recorded"]) == 1


def test_secrets_are_neither_in_the_database_nor_in_what_is_exported(dbg, write_program):
    p = write_program(
        "secret.py",
        "class Account:\n"
        "    def __init__(self):\n"
        "        self.api_key, self.owner = 'k-' + 'e-y', 'bo'\n"
        "def login(password, user):\n"
        "    account = Account()\n"
        "    headers = {'X-Secret': password, 'user': user}\n"
        "    return account, headers  # @here\n"
        "login('hunter' + '2', 'bo')\n",
    )
    dbg("start", p.name, "-b", p.at("here"))
    assert "hunter2" not in dbg("locals").out
    assert "password = <hidden: dbg print --reveal password>" in dbg("locals").out
    assert dbg("print", "--reveal", "password").out == "password = 'hunter2'\n"
    dbg("stop")

    stops = [line for line in dbg("export").out.splitlines() if '"kind":"stop"' in line]

    assert "hunter2" not in stops[0]
    assert "k-e-y" not in stops[0]
    assert "<not recorded>" in stops[0]
    assert "'user': 'bo'" in stops[0]
    assert "owner='bo'" in stops[0]
    stop_daemon(dbg)
    stored = b"".join(path.read_bytes() for path in dbg.home.glob("history.db*"))
    assert b"hunter2" not in stored


def test_the_database_is_the_owner_s_alone(dbg, program):
    p = program("loop.py")
    dbg("start", p.name, "-b", p.at("loop"))
    dbg("sessions", "--all")

    for path in (dbg.home / "history.db", *dbg.home.glob("history.db-*")):
        with contextlib.suppress(FileNotFoundError):  # those beside it come and go
            assert path.stat().st_mode & 0o077 == 0, path
    assert (dbg.home / "history.db").exists()


def test_everything_up_to_the_last_stop_survives_the_daemon_s_death(dbg, program):
    p = program("loop.py")
    dbg("start", p.name, "-b", p.at("loop"))
    dbg("continue")
    daemon = dbg.data("status")["daemon_pid"]

    os.kill(daemon, signal.SIGKILL)
    waits.wait_for_exit(daemon)

    assert cells(dbg, p.at("loop"), "total") == [["0"], ["6"]]
    (run,) = dbg.data("sessions", "--all")["recorded"]
    assert run["exit"] is None
    assert not run["live"]


def test_a_restarted_program_is_another_run(dbg, program):
    p = program("loop.py")
    dbg("start", p.name, "-b", p.at("loop"))
    dbg("continue")
    dbg("restart")

    runs = dbg.data("sessions", "--all")["recorded"]

    assert [(run["number"], run["stops"], run["live"]) for run in runs] == [
        (2, 1, True),
        (1, 2, False),
    ]


def test_children_are_runs_of_their_own(dbg, program):
    p = program("spawns.py")
    program("child.py")
    walk(dbg, p.name)

    runs = dbg.data("sessions", "--all")["recorded"]

    assert {run["name"].partition("/")[0] for run in runs} == {"spawns"}
    children = [run for run in runs if run["parent"] is not None]
    roots = [run for run in runs if run["parent"] is None]
    assert len(roots) == 1
    assert all(child["parent"] == roots[0]["number"] for child in children)


def test_numbers_are_compared_as_numbers(dbg, write_program):
    p = write_program("n.py", "for n in (9, 10, 100, -1):\n    x = n  # @here\n")
    walk(dbg, p.name, "-b", p.at("here"))

    assert cells(dbg, p.at("here"), "n", "--where", "n > 9") == [["10"], ["100"]]


def test_an_exception_is_recorded_where_it_was_raised(dbg, program):
    p = program("uncaught.py")
    dbg("start", p.name)
    dbg("continue")

    (stop,) = [line for line in exported(dbg) if line["kind"] == "stop"]
    assert stop["exception"] == "ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in dbg("replay").out


def test_pruning_keeps_what_has_a_label_and_what_lives(dbg, program):
    p = program("loop.py")
    walk(dbg, p.name, "-b", p.at("loop"))
    dbg("save", "kept")
    walk(dbg, p.name, "-b", p.at("loop"))
    dbg("start", p.name, "-b", p.at("loop"))

    would = dbg.data("prune", "--all", "--dry-run")
    done = dbg.data("prune", "--all")

    assert [run["number"] for run in would["removed"]] == [2]
    assert [run["number"] for run in done["removed"]] == [2]
    left = dbg.data("sessions", "--all")["recorded"]
    assert [(run["number"], run["label"]) for run in left] == [(3, None), (1, "kept")]
    assert dbg.data("prune", "kept")["removed"][0]["label"] == "kept"


def test_old_runs_go_by_themselves(dbg, program):
    p = program("loop.py")
    walk(dbg, p.name, "-b", p.at("loop"))
    stop_daemon(dbg)
    with sqlite3.connect(dbg.home / "history.db") as connection:
        connection.execute("UPDATE runs SET started = started - 40 * 86400")
    connection.close()

    walk(dbg, p.name, "-b", p.at("loop"))

    assert [run["number"] for run in dbg.data("sessions", "--all")["recorded"]] == [2]


def test_reports_and_records_agree_on_what_was_seen(dbg, program):
    p = program("orders.py")
    live = dbg.data("start", p.name, "-b", p.at("price"))
    dbg("stop")

    again = dbg.data("replay")

    assert reports.texts(again) == reports.texts(live)
    assert again["source"] == live["source"]
