from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.echo_home import CLIENT, EchoHome
from freezeframe import __version__, client, paths
from freezeframe.daemon import ipc
from harness.waits import wait_until


@pytest.fixture
def home() -> Iterator[EchoHome]:
    made = EchoHome()
    yield made
    made.close()


def test_the_client_is_of_this_version() -> None:
    assert client.VERSION.decode() == __version__
    assert client.PROTOCOL == ipc.PROTOCOL


def test_the_client_sends_what_the_daemon_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("print", "", "a b", b"caf\xe9".decode("utf-8", "surrogateescape"))
    monkeypatch.setattr(sys, "argv", ["dbg", *words])
    data = client.request("/some/where")
    _, length = ipc.decode_head(data[: ipc.HEAD_BYTES])
    request = ipc.decode_request(data[ipc.HEAD_BYTES :])
    assert length == len(data) - ipc.HEAD_BYTES
    assert request.argv == words
    assert request.cwd == "/some/where"
    assert request.env["PATH"] == os.environ["PATH"]
    assert request.version == __version__


def test_a_command_imports_the_client_and_built_in_modules_only(home: EchoHome) -> None:
    home.run("echo")
    run = [sys.executable, "-X", "importtime"]
    bare = subprocess.run([*run, "-c", "pass"], capture_output=True, text=True, env=home.env)
    done = subprocess.run(
        [*run, str(CLIENT), "echo", "hi"], capture_output=True, text=True, env=home.env
    )
    assert done.stdout == "hi\n"
    imported = [
        {line.rpartition("|")[2].strip() for line in trace.splitlines()}
        for trace in (bare.stderr, done.stderr)
    ]
    assert imported[1] - imported[0] <= {"_socket", "freezeframe", "freezeframe.client"}


def test_directory_environment_and_odd_words_reach_the_daemon(home: EchoHome) -> None:
    home.env["ODD"] = "caf\udce9=x"
    facts = json.loads(home.run("facts", b"caf\xe9", "", "two words").stdout)
    assert facts["argv"] == ["facts", "caf\udce9", "", "two words"]
    assert facts["cwd"] == str(home.base)
    assert facts["env"]["ODD"] == "caf\udce9=x"
    assert facts["tty"] == [False, False, False]


def test_a_name_that_is_not_utf_8_is_printed_as_it_was(home: EchoHome) -> None:
    with home.popen("echo", b"caf\xe9") as done:
        assert done.communicate()[0] == b"caf\xe9\n"


def test_a_terminal_is_told_with_its_width(home: EchoHome) -> None:
    home.run("echo")
    ours, theirs = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 91, 0, 0))
    with home.popen("facts", stdin=theirs, stdout=theirs) as process:
        os.close(theirs)
        text = b""
        while b"\n" not in text:
            text += os.read(ours, 65536)
        process.wait()
    os.close(ours)
    facts = json.loads(text)
    assert facts["tty"] == [True, True, False]
    assert facts["columns"] == 91


def test_the_status_of_the_answer_is_the_clients(home: EchoHome) -> None:
    done = home.run("exit", "124")
    assert done.returncode == 124
    assert done.stderr == "leaving with 124\n"


def test_standard_input_is_sent_when_it_is_asked_for(home: EchoHome) -> None:
    big = b"line\n" * 200_000
    assert home.run("stdin", stdin=big).stdout.encode() == b"got " + big
    assert home.run("stdin", stdin=b"").stdout == "got "


def test_closed_standard_input_is_its_end(home: EchoHome) -> None:
    home.run("echo")
    command = f'"{sys.executable}" "{CLIENT}" stdin <&-'
    done = subprocess.run(["sh", "-c", command], env=home.env, capture_output=True, timeout=30)
    assert done.stdout == b"got "


def test_standard_input_that_never_ends_does_not_outlive_the_daemon(home: EchoHome) -> None:
    pid = home.daemon_pid()
    with home.popen("stdin", stdin=subprocess.PIPE) as waiting:
        wait_until(lambda: home.facts()["waiting"] == 1, "it serves beside that")
        os.kill(pid, signal.SIGTERM)
        waiting.wait(timeout=30)
        assert waiting.returncode == 1


def test_a_broken_pipe_ends_the_client_as_it_ends_cat(home: EchoHome) -> None:
    home.run("echo")
    with home.popen("flood", "50") as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(timeout=30) == -signal.SIGPIPE
        assert process.stderr.read() == b""
    assert home.run("echo", "hi").stdout == "hi\n"


def test_a_large_answer_arrives_whole_through_a_pipe_that_does_not_block(home: EchoHome) -> None:
    home.run("echo")
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with home.popen("flood", "3", stdout=writer) as process:
        os.close(writer)
        with open(reader, "rb") as file:
            assert len(file.read()) == 3 << 20
        assert process.wait() == 0


def test_ctrl_c_ends_the_client_at_once_and_costs_the_daemon_one_waiter(home: EchoHome) -> None:
    with home.popen("wait") as waiting:
        assert waiting.stdout.readline() == b"waiting\n"
        pid = home.daemon_pid()
        waiting.send_signal(signal.SIGINT)
        out, err = waiting.communicate(timeout=30)
    assert (waiting.returncode, out, err) == (130, b"", b"")
    facts = wait_until(lambda: (facts := home.facts())["cancelled"] and facts, "it is cancelled")
    assert facts["pid"] == pid


def test_a_directory_that_was_removed_is_no_obstacle(home: EchoHome) -> None:
    home.run("echo")
    gone = home.base / "gone"
    gone.mkdir()
    command = f'cd "{gone}" && rmdir "{gone}" && "{sys.executable}" "{CLIENT}" facts'
    done = subprocess.run(["sh", "-c", command], env=home.env, capture_output=True, timeout=30)
    assert json.loads(done.stdout)["cwd"] == ""


def test_a_very_long_home_works(home: EchoHome) -> None:
    deep = home.base.joinpath(*["a-directory-with-a-long-name"] * 10)
    home.env["FREEZEFRAME_HOME"] = str(deep)
    home.path = deep
    pid = home.daemon_pid()
    assert home.daemon_pid() == pid


def test_a_relative_home_is_relative_to_the_caller(home: EchoHome) -> None:
    home.env["FREEZEFRAME_HOME"] = "home"
    pid = home.daemon_pid()
    home.env["FREEZEFRAME_HOME"] = str(home.path)
    assert home.daemon_pid() == pid


def test_a_home_that_others_may_enter_is_closed_first(home: EchoHome) -> None:
    home.path.mkdir()
    home.path.chmod(0o755)
    assert home.run("echo", "hi").stdout == "hi\n"
    assert home.path.stat().st_mode & 0o777 == 0o700


def test_a_linked_home_is_refused(home: EchoHome) -> None:
    (home.base / "elsewhere").mkdir(mode=0o700)
    home.path.symlink_to(home.base / "elsewhere")
    for spelling in (str(home.path), f"{home.path}/"):
        home.env["FREEZEFRAME_HOME"] = spelling
        done = home.run("echo", "hi")
        assert done.returncode == 1
        assert done.stderr.startswith(f"insecure: {home.path} is a link to ")
        assert "  next: ls -ld " in done.stderr
    assert list((home.base / "elsewhere").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's directory")
def test_a_home_of_another_user_is_refused(home: EchoHome) -> None:
    home.path.mkdir(mode=0o700)
    os.chown(home.path, 12345, 12345)
    done = home.run("echo", "hi")
    assert done.returncode == 1
    assert done.stderr.startswith(f"insecure: {home.path} belongs to user 12345")


@pytest.mark.parametrize("variables", [{"FREEZEFRAME_HOME"}, {"XDG_RUNTIME_DIR"}, set()])
def test_client_and_daemon_agree_where_the_socket_is(
    variables: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import posix

    opened: list[str] = []
    env = {name: str(tmp_path) for name in variables}
    environ = {name.encode(): value.encode() for name, value in env.items()}
    monkeypatch.setattr(posix, "environ", environ)

    def open_(path: bytes, flags: int) -> int:
        opened.append(path.decode())
        raise FileNotFoundError

    monkeypatch.setattr(posix, "open", open_)
    assert client.connect() is None
    assert opened == [paths.runtime_dir(env)]


def test_python_m_freezeframe_is_the_same_program(home: EchoHome) -> None:
    home.run("echo")
    done = subprocess.run(
        [sys.executable, "-m", "freezeframe", "echo", "hi"],
        env=home.env,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stdout == "hi\n"


def test_the_client_can_be_installed_as_a_script() -> None:
    assert CLIENT.read_text().startswith("#!python\n")  # installers put their interpreter there
    for name in ("dbg", "debugger"):
        script = CLIENT.parent / name
        assert script.resolve() == CLIENT.resolve()
        # Wheels keep the mode of the file, and installers do not add to it.
        assert os.access(script, os.X_OK)
