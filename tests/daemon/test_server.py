from __future__ import annotations

import json
import os
import socket
import threading
from typing import Any

import pytest

from daemon.echo_home import EchoHome
from freezeframe import __version__
from freezeframe.daemon import ipc, json_connection
from harness.waits import wait_until


class Program:
    """A program that sends JSON lines to the daemon."""

    def __init__(self, home: EchoHome) -> None:
        self.link = home.connect()
        self.file = self.link.makefile("rb")

    def send(self, *requests: object) -> None:
        for request in requests:
            line = request if isinstance(request, bytes) else json.dumps(request).encode()
            self.link.sendall(line + b"\n")

    def read(self) -> dict[str, Any]:
        answer = json.loads(self.file.readline())
        assert isinstance(answer, dict)
        return answer

    def ask(self, request: object) -> dict[str, Any]:
        self.send(request)
        return self.read()

    def close(self) -> None:
        self.file.close()
        self.link.close()


def command(home: EchoHome, *words: str, protocol: int = ipc.PROTOCOL, version: str) -> bytes:
    """Send a command as a client of another version would, and return all that is answered."""
    request = ipc.ClientRequest(words, "/", {}, version=version)
    with home.connect() as link:
        link.sendall(ipc.encode_request(request, protocol))
        answer = b""
        while chunk := link.recv(65536):
            answer += chunk
    return answer


# --- programs ---


def test_structured_requests_are_answered_side_by_side_with_their_ids(home: EchoHome) -> None:
    home.run("echo")
    program = Program(home)
    hello = program.ask({"protocol": 1})
    assert hello == {
        "id": None,
        "success": True,
        "result": {"protocol": 1, "version": __version__},
    }
    program.send({"id": "slow", "command": "wait"}, {"id": 7, "command": "echo", "args": {"a": 1}})
    assert program.read() == {"id": 7, "success": True, "result": {"a": 1}}
    program.close()


def test_a_malformed_line_is_answered_and_the_connection_stays(home: EchoHome) -> None:
    home.run("echo")
    program = Program(home)
    for line in (b"{nonsense", b"[1]", b'{"id": 1', b"\xff\xfe", b"[" * 100_000):
        answer = program.ask(line)
        assert answer["id"] is None
        assert answer["error"]["code"] == "usage"
    program.send(b"", b"   ")
    assert program.ask({"id": 2, "command": "echo"})["success"] is True
    program.close()


def test_a_line_beyond_the_bound_is_refused_and_the_connection_stays(home: EchoHome) -> None:
    home.run("echo")
    program = Program(home)
    writing = threading.Thread(
        target=program.send, args=(b'{"x":"' + b"x" * (3 * json_connection.MAX_LINE_BYTES) + b'"}',)
    )
    writing.start()
    assert "exceeds" in program.read()["error"]["message"]
    writing.join()
    assert program.ask({"id": 2, "command": "echo"})["success"] is True
    program.close()


def test_errors_and_bugs_of_structured_requests_are_told_apart(home: EchoHome) -> None:
    home.expects_traceback = True
    home.run("echo")
    program = Program(home)
    assert program.ask({"id": 1, "command": "refuse"}) == {
        "id": 1,
        "success": False,
        "error": {
            "code": "no-session",
            "message": "there is no session here.",
            "next": "dbg start PROGRAM",
        },
    }
    assert program.ask({"id": 2, "command": "bug"})["error"]["code"] == "internal"
    assert "ZeroDivisionError: a bug of ours" in home.log()
    program.close()


def test_another_protocol_is_refused_by_name(home: EchoHome) -> None:
    home.run("echo")
    program = Program(home)
    answer = program.ask({"id": 5, "protocol": 99})
    assert answer["id"] == 5
    assert answer["error"]["code"] == "protocol"
    program.close()


def test_a_program_that_closes_its_sending_side_is_answered_to_the_end(home: EchoHome) -> None:
    home.run("echo")
    program = Program(home)
    program.link.sendall(b'{"id": 1, "command": "echo", "args": {"last": true}}')
    program.link.shutdown(socket.SHUT_WR)
    assert program.read()["result"] == {"last": True}
    program.close()


# --- commands ---


def test_a_client_that_hangs_up_cancels_its_own_request_and_no_other(home: EchoHome) -> None:
    first, second = home.popen("wait"), home.popen("wait")
    for client in (first, second):
        assert client.stdout.readline() == b"waiting\n"
    home.note_owner()
    first.kill()
    first.communicate()
    facts = wait_until(
        lambda: (facts := home.facts())["cancelled"] and facts, "the request is cancelled"
    )
    assert facts["cancelled"] == 1
    assert facts["waiting"] == 1
    second.kill()
    second.communicate()


def test_an_error_is_told_with_its_code_status_and_next_step(home: EchoHome) -> None:
    done = home.run("refuse")
    assert done.returncode == 3
    assert done.stderr == "no-session: there is no session here.\n  next: dbg start PROGRAM\n"


def test_a_bug_is_logged_with_its_traceback_and_told_in_one_line(home: EchoHome) -> None:
    home.expects_traceback = True
    done = home.run("bug")
    assert done.returncode == 1
    assert done.stderr.startswith("internal: ")
    assert done.stderr.endswith("\n  next: dbg logs\n")
    assert "ZeroDivisionError: a bug of ours" in home.log()


def test_a_flood_to_a_client_that_does_not_read_does_not_grow_the_daemon(home: EchoHome) -> None:
    pid = home.daemon_pid()
    with home.popen("flood", "2000") as client:
        assert client.stdout.read(1) == b"x"
        # The reader stops: the daemon may buffer only a fraction of its output.
        for _ in range(20):
            home.run("echo")
        with open(f"/proc/{pid}/status") as status:
            peak_kb = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        client.kill()
    assert peak_kb < 150_000


def test_an_idle_daemon_makes_room_for_another_version(home: EchoHome) -> None:
    before = home.daemon_pid()
    assert command(home, "echo", version="9.9.9") == ipc.frame(ipc.REPLACE)
    home.wait_until_gone()
    assert home.daemon_pid() != before


def test_a_busy_daemon_serves_another_version_with_a_note(home: EchoHome) -> None:
    home.run("busy")
    answer = command(home, "echo", "hi", version="9.9.9")
    assert b"note: the daemon is version " in answer
    assert ipc.frame(ipc.OUT, b"hi\n") in answer
    assert answer.endswith(ipc.frame(ipc.EXIT, b"\0"))


def test_a_busy_daemon_refuses_another_protocol_with_a_way_out(home: EchoHome) -> None:
    home.run("busy")
    pid = home.daemon_pid()
    answer = command(home, "echo", "hi", protocol=2, version="9.9.9")
    assert answer.startswith(ipc.ERR)
    assert f"next: kill {pid}\n".encode() in answer
    assert answer.endswith(ipc.frame(ipc.EXIT, b"\1"))
    assert home.daemon_pid() == pid


def test_whoever_speaks_neither_is_hung_up_on(home: EchoHome) -> None:
    home.run("echo")
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"F\x01\xff\xff\xff\xff", b"F\x01\0\0\0\x02ab"):
        with home.connect() as link:
            link.sendall(garbage)
            try:
                assert link.recv(100) == b""
            except ConnectionResetError:
                pass
    assert home.run("echo", "hi").stdout == "hi\n"


def test_a_waiting_client_is_told_when_the_daemon_leaves(home: EchoHome) -> None:
    with home.popen("wait") as waiting:
        assert waiting.stdout.readline() == b"waiting\n"
        home.run("leave")
        _, err = waiting.communicate(timeout=30)
    assert waiting.returncode == 1
    assert err.startswith(b"daemon: the daemon ended before this request was done.\n  next: ")


def test_commands_while_another_waits_are_answered(home: EchoHome) -> None:
    with home.popen("wait") as waiting:
        assert waiting.stdout.readline() == b"waiting\n"
        assert home.run("echo", "hi").stdout == "hi\n"
        assert waiting.poll() is None
        waiting.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_connection_of_another_user_is_refused(home: EchoHome) -> None:
    home.run("echo")
    home.base.chmod(0o711)
    home.path.chmod(0o711)
    (home.path / "daemon.sock").chmod(0o666)
    os.seteuid(12345)  # the kernel notes who connects, not who writes
    try:
        link = home.connect()
    finally:
        os.seteuid(0)
    with link:
        try:
            link.sendall(b'{"id": 1, "command": "echo"}\n')
            assert link.recv(100) == b""
        except (BrokenPipeError, ConnectionResetError):
            pass
    wait_until(lambda: "another user was refused" in home.log(), "the refusal is logged")
