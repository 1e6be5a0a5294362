"""doctor, adapters and setup on real debuggers, and with what goes wrong."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from harness import waits


def own_adapter(command: list[str], *more: str, languages: str = '["Python"]') -> str:
    lines = [f"command = {json.dumps(command)}", f"languages = {languages}", *more]
    return "[adapters.mine]\n" + "\n".join(lines) + "\n"


def check(dbg, name: str, *options: str) -> dict:
    [found] = dbg.data("doctor", name, *options)["checks"]
    return found


# --- doctor -------------------------------------------------------------------------------------


def test_a_debugger_is_tried_with_a_breakpoint_a_variable_and_the_exit_code(dbg):
    found = check(dbg, "debugpy")

    assert found["status"] == "ok"
    assert "stopped at a breakpoint, answer = 42, exit code 3" in found["detail"]
    assert dbg.data("sessions")["sessions"] == []
    assert dbg.data("sessions", "--all")["recorded"] == []


def test_a_debugger_that_does_not_start_fails_its_own_check_only(dbg):
    dbg.configure(own_adapter([sys.executable, "-c", "raise SystemExit('no licence')"]))

    answer = dbg("--json", "doctor", "mine")

    assert answer.code == 0
    [found] = answer.data()["checks"]
    assert found["status"] == "fail"
    assert "no licence" in found["detail"]


def test_a_debugger_that_is_not_here_is_skipped_with_how_to_get_it(dbg):
    dbg.configure(own_adapter(["no-such-adapter"], 'install = ["cp a b"]'))

    found = check(dbg, "mine")

    assert (found["status"], found["fix"]) == ("skip", "dbg setup mine")


def test_a_check_that_concerns_no_debugger_is_run_by_name(dbg):
    daemon = check(dbg, "daemon")
    directory = check(dbg, "socket directory")

    assert daemon["status"] == "ok"
    assert "pid " in daemon["detail"]
    assert "0 live sessions" in daemon["detail"]
    assert directory["detail"] == f"{dbg.home}, mode 700"
    assert check(dbg, "config")["status"] == "ok"
    assert check(dbg, "disk")["status"] in ("ok", "warn")
    error = dbg.error("doctor", "nothing-of-that-name", code=1)
    assert "socket directory" in error["message"]


def test_settings_that_cannot_be_read_are_reported(dbg):
    dbg.configure("[timeouts]\nresume_s = 'soon'\n")

    found = check(dbg, "config")

    assert found["status"] == "fail"
    assert "resume_s" in found["detail"]


def test_a_setting_that_nobody_knows_is_passed_over_with_a_warning(dbg):
    dbg.configure("[timeouts]\nresume_s = 20\nsoon = 1\n")

    found = check(dbg, "config")

    assert found["status"] == "warn"
    assert found["detail"].startswith("timeouts.soon is not a key of config.toml")
    assert dbg.data("config", "timeouts.resume_s")["settings"][0]["value"] == 20


def test_a_debugger_that_a_variable_names_and_is_missing_is_a_warning(dbg):
    assert check(dbg, "choice")["status"] == "ok"
    dbg.env["FREEZEFRAME_DEBUGGER"] = "no-such"

    found = check(dbg, "choice")

    assert found["status"] == "warn"
    assert "(named by FREEZEFRAME_DEBUGGER)" in found["detail"]
    assert found["fix"] == "unset FREEZEFRAME_DEBUGGER"


def test_a_session_that_nobody_asks_about_is_reported_and_ended_if_told_so(dbg, program):
    program("loop.py")
    dbg.configure("[daemon]\nsession_idle_minutes = 0.001\n")
    dbg.data("start", "loop.py", "--hold")

    waits.wait_until(lambda: "session loop in " in dbg("status").out, "it is reported")
    dbg.configure("[daemon]\nsession_idle_minutes = 0.001\nend_idle_sessions = true\n")
    dbg.data("locals")
    waits.wait_until(lambda: not dbg.data("sessions")["sessions"], "it is ended")


def test_what_a_dead_session_left_is_removed_when_asked(dbg):
    dbg.data("status")
    left, young = dbg.home / "session-abcdefgh", dbg.home / "session-12345678"
    for folder in (left, young):
        folder.mkdir()
        (folder / "in").touch()
    os.utime(left, (time.time() - 3600,) * 2)

    before = check(dbg, "leftovers")
    after = check(dbg, "leftovers", "--fix")

    assert (before["status"], before["fix"]) == ("warn", "dbg doctor --fix")
    assert (after["status"], after["mended"]) == ("ok", "removed session-abcdefgh")
    assert not left.exists()
    # It may belong to a session that is only just being started.
    assert young.exists()


def test_the_folder_of_a_living_session_stays(dbg, program):
    p = program("orders.py")
    dbg.data("start", p.name, "-e")
    folders = {path.name for path in dbg.home.glob("session-*")}

    dbg.data("doctor", "leftovers", "--fix")

    assert {path.name for path in dbg.home.glob("session-*")} == folders
    assert dbg.data("locals")["frame"]


def test_a_door_that_others_could_open_is_closed_when_asked(dbg):
    dbg.data("status")
    door = dbg.home / "daemon.sock"
    door.chmod(0o666)

    before = check(dbg, "socket directory")
    after = check(dbg, "socket directory", "--fix")

    assert (before["status"], before["fix"]) == ("fail", f"chmod 600 {door}")
    assert after["status"] == "ok"
    assert "600" in after["mended"]
    assert door.stat().st_mode & 0o777 == 0o600


# --- adapters -----------------------------------------------------------------------------------


def test_what_a_debugger_can_do_is_listed_once_it_was_tried(dbg):
    def row() -> dict:
        return {each["name"]: each for each in dbg.data("adapters")["adapters"]}["debugpy"]

    assert (row()["can"], row()["cannot"]) == ([], [])

    answer = dbg.data("adapters", "debugpy")

    assert answer["tried"]["status"] == "ok"
    assert "conditions" in row()["can"]
    assert "registers" in row()["cannot"]
    assert "*.py" in row()["claims"]
    # A daemon that begins anew remembers it.
    dbg("daemon", "stop")
    assert "conditions" in row()["can"]


def test_a_debugger_that_is_not_known_is_answered_with_the_nearest(dbg):
    assert "debugpy" in dbg.error("adapters", "debugpi", code=1)["message"]
    assert "debugpy" in dbg.error("setup", "debugpi", code=1)["message"]


def test_a_debugger_that_does_not_report_its_version_blocks_nothing(dbg, tmp_path):
    slow = tmp_path / "bin" / "ruby"
    slow.parent.mkdir()
    started = tmp_path / "asked"
    slow.write_text(f"#!/bin/sh\n: >{started}\nexec sleep 60\n")
    slow.chmod(0o755)
    dbg.env["PATH"] = f"{slow.parent}{os.pathsep}{dbg.env['PATH']}"
    dbg.data("status")

    listing = dbg.start_background("--json", "adapters")
    waits.wait_until(started.exists, "the slow one was asked")
    dbg.data("status", timeout_s=4)

    assert listing.running
    rows = {each["name"]: each for each in listing.wait(30).data()["adapters"]}
    assert not rows["rdbg"]["found"]
    assert rows["debugpy"]["found"]


# --- setup --------------------------------------------------------------------------------------


def installable(dbg, project: Path) -> tuple[Path, str]:
    """Describe a debugger that one command puts in place; return where, and the command."""
    source, place = project / "the-adapter", dbg.home / "bin" / "the-adapter"
    place.parent.mkdir(exist_ok=True)
    source.write_text("#!/bin/sh\n")
    source.chmod(0o755)
    command = f"cp {source} {place}"
    config = own_adapter([str(place)], f"install = [{json.dumps(command)}]", languages='["Moon"]')
    dbg.configure(config)
    return place, command


def test_setup_shows_the_command_and_runs_nothing(dbg, project):
    place, command = installable(dbg, project)

    [setup] = dbg.data("setup", "mine")["setups"]

    assert [(step["state"], step["command"]) for step in setup["steps"]] == [("ready", command)]
    assert not place.exists()
    assert "mine" in [each["name"] for each in dbg.data("setup")["setups"]]


def test_setup_runs_the_command_when_asked_and_tries_the_result(dbg, project):
    place, command = installable(dbg, project)

    answer = dbg("setup", "mine", "--run")

    assert place.exists()
    # What it says on the way is not the answer.
    assert f"$ {command}" in answer.err
    assert "ran: cp" in answer.out
    [setup] = dbg.data("setup", "mine")["setups"]
    assert setup["here"]
    assert setup["steps"] == []


def test_a_command_that_fails_is_reported_with_its_last_output(dbg):
    dbg.configure(own_adapter(["no-such-adapter"], 'install = ["cp /no/such/file /tmp"]'))

    [setup] = dbg.data("setup", "mine", "--run")["setups"]

    [step] = setup["steps"]
    assert (step["state"], setup["here"], setup["tried"]) == ("failed", False, None)
    assert "/no/such/file" in step["output"]


def test_setup_runs_one_thing_at_a_time(dbg):
    assert dbg.error("setup", "--run", code=2)["next"] == "dbg setup NAME --run"


# --- why a debugger is taken --------------------------------------------------------------------


def test_the_reason_names_what_decided(dbg, project, write_program):
    write_program("tool", "#!/usr/bin/env python3\nprint(1)\n")
    write_program("plain.py", "print(1)\n")
    for program, why in (("tool", "its first line names python3"), ("plain.py", "matches *.py")):
        dbg.data("start", program, "-e")
        assert why in dbg.data("tool")["reason"]


def test_a_file_without_a_debugger_is_answered_with_the_known_ones(dbg, write_program):
    write_program("data.xyz", "x\n")

    error = dbg.error("start", "data.xyz")

    assert error["code"] == "debugger-missing"
    assert "Python" in error["message"]


def test_the_environment_of_the_daemon_s_first_caller_does_not_affect_others(dbg):
    dbg("status", env={"FREEZEFRAME_DEBUGGER": "pdb", "FREEZEFRAME_BUDGET": "77"})

    settings = {row["key"]: row for row in dbg.data("config")["settings"]}

    assert settings["defaults.adapter"]["source"] == "default"
    assert settings["answers.budget_tokens"]["source"] == "default"
