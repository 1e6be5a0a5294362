"""A process that runs clients as forks of itself: an interpreter starts once, not for each command.

Run as a script, with the path of the socket that it listens on. A request carries the three streams
and names the arguments, the environment and the directory; it is answered by the pid of the client,
then by its exit status.
"""

from __future__ import annotations

import contextlib
import json
import os
import posix
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from freezeframe import client

#: what clients of the tests never have in their environment
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


def python_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an interpreter reads when it starts."""
    return {k: v for k, v in env.items() if k.startswith("PYTHON") and k != _NO_BYTECODE}


def serve(path: str) -> None:
    """Run clients until whoever started this is gone."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    wakeup, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}
    owned = [listener.fileno(), wakeup, wake]
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([listener, wakeup, 0], [], [])
        if 0 in ready:  # its standard input ends with its owner
            return
        if wakeup in ready:
            os.read(wakeup, 4096)
            _report_ended(running)
        if listener in ready:
            caller, _ = listener.accept()
            request, streams = _received(caller)
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for fd in (*owned, *(each.fileno() for each in running.values()), caller.fileno()):
                    os.close(fd)
                try:
                    _become_client(request, streams)
                finally:  # not back into the loop
                    traceback.print_exc()
                    os._exit(1)
            for fd in streams:
                os.close(fd)
            running[pid] = caller
            caller.sendall(pid.to_bytes(4, "big"))


def _report_ended(running: dict[int, socket.socket]) -> None:
    for pid in list(running):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            with running.pop(pid) as caller, contextlib.suppress(OSError):
                caller.sendall(code.to_bytes(4, "big", signed=True))


def _received(caller: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, streams, _, _ = socket.recv_fds(caller, 8, 3)
    size = int.from_bytes(data, "big")
    text = b""
    while len(text) < size:
        text += caller.recv(size - len(text))
    request: dict[str, Any] = json.loads(text)
    return request, streams


def _become_client(request: dict[str, Any], streams: list[int]) -> NoReturn:
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    for fd in streams:
        os.close(fd)
    os.chdir(request["cwd"])
    environment: dict[str, str] = request["env"]
    # Both are read: the built-in module's by the client, the other by what starts a daemon.
    os.environ.clear()
    os.environ.update(environment)
    posix.environ.clear()
    posix.environ.update({os.fsencode(k): os.fsencode(v) for k, v in environment.items()})
    sys.argv = request["argv"]
    client.main()


class ClientServer:
    """The process of this test run that runs clients."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ff-clients-")
        self._path = str(Path(self._folder.name) / "socket")
        #: what decides how an interpreter starts
        self.python_variables = python_variables(os.environ)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("FREEZEFRAME_", "DBG_"))}
        env.pop(_NO_BYTECODE, None)
        # As a script of the user's would: not from here, and nothing of the tests on its path.
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, self._path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def run(
        self,
        argv: list[str],
        *,
        stdin: bytes | int,
        env: Mapping[str, str],
        cwd: Path,
        timeout_s: float,
    ) -> tuple[bytes, bytes, int]:
        """Return what a client printed, and its exit status. Raises TimeoutError."""
        given = stdin if isinstance(stdin, bytes) else b""
        pipes = [os.pipe(), os.pipe(), os.pipe()]
        (read_in, write_in), (read_out, write_out), (read_err, write_err) = pipes
        if isinstance(stdin, int):
            os.dup2(stdin, read_in)
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(self._path)
            request = json.dumps({"argv": argv, "env": dict(env), "cwd": str(cwd)}).encode()
            socket.send_fds(
                link, [len(request).to_bytes(8, "big")], [read_in, write_out, write_err]
            )
            link.sendall(request)
            for fd in (read_in, write_out, write_err):
                os.close(fd)
            pid = int.from_bytes(link.recv(4, socket.MSG_WAITALL), "big")
            try:
                out, err = _exchange(write_in, given, read_out, read_err, timeout_s)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise
            finally:
                os.close(read_out)
                os.close(read_err)
            link.settimeout(timeout_s)
            status = int.from_bytes(link.recv(4, socket.MSG_WAITALL), "big", signed=True)
        return out, err, status

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._folder.cleanup()


def _exchange(
    write: int, given: bytes, out: int, err: int, timeout_s: float
) -> tuple[bytes, bytes]:
    """Write *given* and close; return what is read from two pipes until they are closed."""
    os.set_blocking(write, False)
    read: dict[int, list[bytes]] = {out: [], err: []}
    opened = {out, err}
    deadline = time.monotonic() + timeout_s
    try:
        while opened:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            if not given and write >= 0:
                os.close(write)
                write = -1
            writing = [write] if write >= 0 else []
            readable, writable, _ = select.select(opened, writing, [], left_s)
            for fd in readable:
                if chunk := os.read(fd, 65536):
                    read[fd].append(chunk)
                else:
                    opened.discard(fd)
            if writable:
                try:
                    given = given[os.write(write, given) :]
                except BrokenPipeError:  # the client has ended, or does not read
                    given = b""
    finally:
        if write >= 0:
            os.close(write)
    return b"".join(read[out]), b"".join(read[err])


if __name__ == "__main__":
    serve(sys.argv[1])
