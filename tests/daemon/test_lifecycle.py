from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.echo_home import CLIENT, FIRST, HANDLER, HERE, EchoHome, open_files
from freezeframe import __version__
from freezeframe.daemon.ipc import KEEP_ALIVE, OUT, ClientRequest, encode_request, frame
from harness.waits import wait_until


def test_twenty_first_commands_at_once_start_one_daemon(home: EchoHome) -> None:
    clients = [home.popen("facts") for _ in range(20)]
    answers = [client.communicate(timeout=60) for client in clients]
    assert [client.returncode for client in clients] == [0] * 20, answers
    assert len({json.loads(out)["pid"] for out, _ in answers}) == 1
    assert home.log().count("serving") == 1


def test_the_socket_and_its_directory_are_for_the_owner_alone(home: EchoHome) -> None:
    home.run("echo")
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    for name in ("daemon.sock", "daemon.log", "daemon.lock", "start.lock"):
        assert stat.S_IMODE((home.path / name).stat().st_mode) == 0o600, name


def test_a_captured_first_command_returns_while_the_daemon_lives(home: EchoHome) -> None:
    # A pipe on descriptor 9 as well: whatever the caller had open must be closed.
    command = f'x=$("{sys.executable}" "{FIRST}" "{HANDLER}" echo hello 9>&1); echo "[$x]"'
    done = subprocess.run(
        ["bash", "-c", command], env=home.env, capture_output=True, text=True, timeout=30
    )
    assert done.stdout == "[hello]\n"
    daemon = home.daemon_pid()
    for pid in (daemon, home.owner()):
        assert not [name for name in open_files(pid) if "pipe:" in name]


def test_the_daemon_keeps_no_directory_and_no_terminal(home: EchoHome) -> None:
    daemon = home.daemon_pid()
    assert os.readlink(f"/proc/{daemon}/cwd") == "/"
    fields = Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()
    terminal, session = int(fields[4]), int(fields[3])
    assert terminal == 0
    assert session != os.getsid(0)


def test_a_socket_that_was_left_behind_is_replaced(home: EchoHome) -> None:
    home.path.mkdir(mode=0o700)
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(home.path / "daemon.sock"))
    left.close()
    assert home.run("echo", "hi").stdout == "hi\n"


def test_a_file_in_the_place_of_the_socket_is_refused(home: EchoHome) -> None:
    home.path.mkdir(mode=0o700)
    (home.path / "daemon.sock").write_text("mine")
    done = home.run("echo", "hi")
    assert done.returncode == 1
    assert done.stderr.startswith("insecure: ")
    assert f"\n  next: rm {home.path}/daemon.sock\n" in done.stderr
    assert (home.path / "daemon.sock").read_text() == "mine"
    (home.path / "daemon.sock").unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's socket")
def test_a_socket_of_another_user_is_refused_even_if_it_answers(home: EchoHome) -> None:
    home.path.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(home.path / "daemon.sock"))
        other.listen()
        os.chown(home.path / "daemon.sock", 12345, 12345)
        done = home.run("echo", "hi")
    assert done.returncode == 1
    assert done.stderr.startswith("insecure: ")
    assert "user 12345" in done.stderr
    (home.path / "daemon.sock").unlink()


def test_a_socket_that_someone_took_away_is_made_again_with_nothing_lost(home: EchoHome) -> None:
    before = home.daemon_pid()
    home.run("busy")
    (home.path / "daemon.sock").unlink()
    assert home.daemon_pid() == before


def test_a_daemon_that_cannot_start_is_told_with_its_last_words(home: EchoHome) -> None:
    home.expects_traceback = True
    done = home.run("echo", "hi", handler=f"{HERE / 'echo_handler.py'}:broken")
    assert done.returncode == 1
    assert done.stderr == (
        "daemon: the daemon ended while it started; its last output: "
        "RuntimeError: this handler never starts.\n"
        f"  next: tail -n 40 {home.path}/daemon.log\n"
    )
    assert home.run("echo", "hi").stdout == "hi\n"


def test_a_command_right_after_the_daemon_was_told_to_leave_gets_a_new_one(home: EchoHome) -> None:
    before = home.daemon_pid()
    assert home.run("leave").stdout == "leaving\n"
    assert home.daemon_pid() != before


def test_modules_of_the_callers_project_stay_out_of_the_daemon(home: EchoHome) -> None:
    for name in ("asyncio", "json", "logging"):
        (home.base / f"{name}.py").write_text("raise SystemExit('the wrong one')")
    home.env["PYTHONPATH"] = str(home.base)
    assert home.run("echo", "hi").stdout == "hi\n"


def test_the_daemon_starts_without_what_it_does_not_need(home: EchoHome) -> None:
    loaded = set(home.facts()["loaded"])
    assert not loaded & {"ssl", "sqlite3", "rich", "mcp", "logging.handlers", "argparse"}


def test_a_broken_config_is_told_and_the_defaults_serve(home: EchoHome) -> None:
    home.path.mkdir(mode=0o700)
    (home.path / "config.toml").write_text("[daemon]\nidle_minutes = 'soon'\n")
    done = home.run("echo", "hi")
    assert done.stdout == "hi\n"
    assert "bad-config" in done.stderr


def test_a_big_log_is_set_aside_when_a_daemon_starts(home: EchoHome) -> None:
    home.path.mkdir(mode=0o700)
    (home.path / "daemon.log").write_text("old\n" * 500_000)
    home.run("echo")
    assert (home.path / "daemon.log").stat().st_size < 10_000
    assert (home.path / "daemon.log.1").stat().st_size == 2_000_000


def test_sigterm_ends_the_daemon_in_order(home: EchoHome) -> None:
    daemon = home.daemon_pid()
    os.kill(daemon, signal.SIGTERM)
    home.wait_until_gone()
    assert not (home.path / "daemon.sock").exists()
    assert home.log().endswith("left\n")


def test_an_idle_daemon_leaves(home: EchoHome) -> None:
    home.env["FREEZEFRAME_IDLE_TIMEOUT_S"] = "0.2"
    home.run("echo")
    home.wait_until_gone()
    assert "idle for" in home.log()


def test_a_busy_daemon_stays(home: EchoHome) -> None:
    home.env["FREEZEFRAME_IDLE_TIMEOUT_S"] = "0.1"
    with home.popen("wait") as waiting:
        assert waiting.stdout.readline() == b"waiting\n"
        home.note_owner()
        pid = home.daemon_pid()
        home.run("busy")
        waiting.kill()
    wait_until(lambda: home.facts()["waiting"] == 0, "the waiter is gone")
    assert home.daemon_pid() == pid
    home.run("idle")
    home.wait_until_gone()


def test_the_daemon_can_run_in_the_foreground_and_only_once(home: EchoHome) -> None:
    command = [sys.executable, "-m", "freezeframe", "daemon", "--handler", HANDLER]
    with subprocess.Popen(command, env=home.env, stderr=subprocess.PIPE) as daemon:
        wait_until(lambda: "serving" in home.log(), "it serves")
        assert home.owner() == daemon.pid
        assert home.run("echo", "hi").stdout == "hi\n"
        second = subprocess.run(command, env=home.env, capture_output=True, text=True, timeout=30)
        assert second.returncode == 1
        assert second.stderr.startswith(f"daemon: a daemon serves {home.path} already.\n  next: ")
        daemon.send_signal(signal.SIGINT)
        assert daemon.wait(timeout=30) == 0


def test_a_home_that_cannot_be_written_is_told_with_the_reason(home: EchoHome) -> None:
    home.path.mkdir(mode=0o700)
    # The system refuses it to every user; a read-only disk is beyond a test.
    (home.path / "start.lock").symlink_to("elsewhere")
    done = home.run("echo", "hi")
    (home.path / "start.lock").unlink()
    assert done.returncode == 1
    assert done.stderr.startswith(f"daemon: {home.path} cannot be used: ")
    assert "Traceback" not in done.stderr


SLOW = f"{HERE / 'echo_handler.py'}:slow"


def test_a_slow_start_outlives_the_client_that_began_it_and_the_next_one_joins(
    home: EchoHome,
) -> None:
    home.path.mkdir(mode=0o700)
    gate = home.path / "daemon.log.go"
    os.mkfifo(gate)
    with home.popen("echo", "lost", handler=SLOW) as first:
        wait_until((home.path / "daemon.sock").exists, "the daemon is being started")
        wait_until(lambda: home.owner_or_none(), "it has begun")
        first.kill()
    with home.popen("echo", "joined", handler=SLOW) as second:
        gate.write_text("")  # returns when the daemon has come so far
        out, err = second.communicate(timeout=60)
    assert (out, err) == (b"joined\n", b"")
    assert home.log().count("serving") == 1
    gate.unlink()


def test_a_start_that_is_given_up_goes_on_for_the_next_caller(home: EchoHome) -> None:
    home.path.mkdir(mode=0o700)
    (home.path / "config.toml").write_text("[timeouts]\ndaemon_ready_s = 0.3\n")
    gate = home.path / "daemon.log.go"
    os.mkfifo(gate)
    done = home.run("echo", "hi", handler=SLOW)
    assert done.returncode == 1
    assert done.stderr.startswith("daemon: the daemon is still starting after ")
    assert done.stderr.endswith("\n  next: dbg status\n")
    with home.popen("echo", "joined") as second:
        gate.write_text("")
        assert second.communicate(timeout=60) == (b"joined\n", b"")
    gate.unlink()


def test_a_stopped_daemon_is_told_its_next_step_helps_and_what_was_refused_is_not_done(
    home: EchoHome,
) -> None:
    daemon = home.daemon_pid()
    os.kill(daemon, signal.SIGSTOP)
    try:
        done = home.run("leave")
    finally:
        os.kill(daemon, signal.SIGCONT)
    assert done.returncode == 1
    assert done.stderr == (
        f"daemon: the daemon (pid {daemon}) is stopped by a signal and cannot answer.\n"
        f"  next: kill -CONT {daemon}\n"
    )
    assert home.run("echo", "hi").stdout == "hi\n"
    assert home.daemon_pid() == daemon


def test_a_daemon_stopped_in_the_middle_of_an_answer_is_told(home: EchoHome) -> None:
    with home.popen("wait") as waiting:
        assert waiting.stdout.readline() == b"waiting\n"
        daemon = home.daemon_pid()
        os.kill(daemon, signal.SIGSTOP)
        _, err = waiting.communicate(timeout=60)
        os.kill(daemon, signal.SIGCONT)
    assert err.endswith(f"\n  next: kill -CONT {daemon}\n".encode())
    wait_until(lambda: home.facts()["waiting"] == 0, "the waiter is gone")


def test_a_long_wait_is_kept_alive(home: EchoHome) -> None:
    home.run("echo")
    with home.connect() as link:
        link.sendall(encode_request(ClientRequest(("wait",), "/", {}, version=__version__)))
        received = b""
        while received.count(frame(KEEP_ALIVE)) < 2:
            received += link.recv(100)
    assert received.startswith(frame(OUT, b"waiting\n"))


def test_few_descriptors_are_enough_and_too_few_are_the_cause_that_is_told(home: EchoHome) -> None:
    def run(limit: int) -> tuple[str, str]:
        words = f'ulimit -n {limit}; exec "$0" "$@"'
        command = ["bash", "-c", words, sys.executable, str(FIRST), HANDLER, "echo", "hi"]
        done = subprocess.run(command, env=home.env, capture_output=True, text=True, timeout=60)
        home.note_owner()
        return done.stdout, done.stderr

    _, err = run(9)
    assert err == (
        "daemon: there are no free file descriptors (the limit is 9).\n  next: ulimit -n 1024\n"
    )
    assert run(60) == ("hi\n", "")


_WITHOUT_SOCKETS = """
import ctypes, os, struct, sys
number = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
# Load the number of the system call; EPERM for socket(2), all others are allowed.
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
data = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(data)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
def test_where_sockets_are_forbidden_that_is_told_and_help_is_answered(home: EchoHome) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", _WITHOUT_SOCKETS, sys.executable, str(CLIENT), *words]
        return subprocess.run(command, env=home.env, capture_output=True, text=True, timeout=60)

    assert run("--version").stdout == f"freezeframe {__version__}\n"
    assert "dbg start" in run("--help").stdout
    assert run("skill").returncode == 0
    assert "complete" in run("completion", "bash").stdout
    assert run("daemon", "stop").stdout == "no daemon runs\n"
    refused = run("status")
    assert refused.returncode == 1
    assert refused.stderr.startswith("daemon: unix sockets are not allowed here (Operation not")
    assert refused.stderr.endswith("\n  next: dbg --help\n")
