from __future__ import annotations

import os
import signal

import pytest

from daemon.echo_home import EchoHome, open_files
from freezeframe.daemon import signals
from harness.waits import alive, wait_for_exit, wait_until


def test_a_killed_daemon_takes_its_debuggees_along_and_the_loss_is_told_once(
    home: EchoHome,
) -> None:
    daemon = home.daemon_pid()
    program, child = map(int, home.run("spawn").stdout.split())
    os.kill(daemon, signal.SIGKILL)
    done = home.run("echo", "hi")
    # The new daemon could only start when everything of the old one was dead.
    assert not alive(program)
    assert not alive(child)
    assert done.stdout == "hi\n"
    assert done.stderr == (
        "note: the daemon ended unexpectedly; "
        f"session app (pid {program}, app.py, at app.py:3) was lost.\n"
    )
    assert home.run("echo", "hi").stderr == ""
    assert "was ended by SIGKILL" in home.log()


def test_a_released_program_outlives_a_killed_daemon_with_its_children(home: EchoHome) -> None:
    daemon = home.daemon_pid()
    program, child = map(int, home.run("spawn", "released").stdout.split())
    try:
        os.kill(daemon, signal.SIGKILL)
        home.wait_until_gone()
        assert alive(program)
        assert alive(child)
        home.run("echo")
    finally:
        os.killpg(program, signal.SIGKILL)


def test_what_a_clean_end_left_running_is_ended(home: EchoHome) -> None:
    home.run("echo")
    program, child = map(int, home.run("spawn").stdout.split())
    assert home.run("leave").returncode == 0
    home.wait_until_gone()
    assert not alive(program)
    assert not alive(child)


def test_a_daemon_without_its_supervisor_leaves_in_order(home: EchoHome) -> None:
    daemon = home.daemon_pid()
    os.kill(home.owner(), signal.SIGKILL)
    wait_for_exit(daemon)
    assert not (home.path / "daemon.sock").exists()


def test_sigterm_to_the_supervisor_is_the_daemons(home: EchoHome) -> None:
    daemon = home.daemon_pid()
    os.kill(home.owner(), signal.SIGTERM)
    wait_for_exit(daemon)
    home.wait_until_gone()
    assert home.log().endswith("left\n")


def test_a_daemon_that_ends_in_the_middle_of_an_answer_is_told_by_the_client(
    home: EchoHome,
) -> None:
    home.run("echo")
    done = home.run("die")
    assert done.returncode == 1
    assert done.stderr == "daemon: the daemon ended before it answered.\n  next: dbg logs\n"


@pytest.mark.parametrize("victim", ["daemon", "both"])
def test_no_debuggee_inherits_the_lock(home: EchoHome, victim: str) -> None:
    daemon, owner = home.daemon_pid(), home.owner()
    program, child = map(int, home.run("spawn").stdout.split())
    lock = str(home.path / "daemon.lock")
    for pid in (program, child):
        assert lock not in open_files(pid)
    if victim == "both":
        os.kill(owner, signal.SIGKILL)
    os.kill(daemon, signal.SIGKILL)
    wait_for_exit(daemon)
    wait_for_exit(owner)
    assert home.run("echo", "hi").stdout == "hi\n"
    if victim == "both":  # nobody was left who could have ended it
        os.killpg(program, signal.SIGKILL)


@pytest.mark.skipif(not signals.knows_senders(), reason="the sender of a signal is known on Linux")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_program_that_signals_its_parent_ends_no_session_and_is_told(
    home: EchoHome, number: signal.Signals
) -> None:
    daemon, owner = home.daemon_pid(), home.owner()
    script = f"kill -{number.name[3:]} $PPID {owner}; echo $$; sleep 300"
    program = int(home.run("spawn", script).stdout)
    told = home.run("echo", "hi").stderr
    wait_until(lambda: home.log().count("a debuggee, was ignored") == 2, "both were ignored")
    told += home.run("echo", "hi").stderr
    name = f"{number.name} from process {program} (sh)"
    assert told == (f"note: the debugger, which is the program's parent process, ignored {name}.\n")
    assert alive(program)
    assert home.daemon_pid() == daemon


def test_sessions_that_a_signal_from_elsewhere_ends_are_told_by_the_next_answer(
    home: EchoHome,
) -> None:
    daemon = home.daemon_pid()
    program, _ = map(int, home.run("spawn").stdout.split())
    os.kill(daemon, signal.SIGTERM)
    home.wait_until_gone()
    told = home.run("echo", "hi").stderr
    assert told.startswith("note: the daemon ended because it received SIGTERM")
    assert told.endswith(f"; session app (pid {program}, app.py, at app.py:3) was lost.\n")
