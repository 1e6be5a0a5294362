"""Loads debugpy into a running process; a script, never imported.

    PYTHON -I -S inject_agent.py DEBUGPY_PACKAGE CACHE HOST:PORT PID FOLLOW < TOKEN

Run with the interpreter of that process. Does what `python DEBUGPY_PACKAGE --pid PID` does, but
leaves nothing in the program's `__main__` and writes nothing to its stderr. On failure it prints
the reason as JSON, `{"message": …, "next": …}`, in its last line, and exits with status 1. Works in
every Python from 3.8 on and imports nothing of this package.
"""

from __future__ import annotations

import importlib
import json
import os
import selectors
import shutil
import socket
import sys
import tempfile
import threading
import time
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
#: How long a process may take to reach a point where code can be injected, and to load it.
_PATIENCE_S = 60.0
#: How long a verdict that was sent may take to be read.
_ARRIVAL_S = 1.0
#: How long another debugger may take to detach from the process.
_LEAVING_S = 2.0
#: Callers whose messages are kept, and how many bytes of each.
_MOST_CALLERS = 100
_LONGEST_VERDICT = 10_000
_INSTALL = {
    "apt-get": "sudo apt-get install gdb",
    "dnf": "sudo dnf install gdb",
    "apk": "sudo apk add gdb",
    "pacman": "sudo pacman -S gdb",
    "zypper": "sudo zypper install gdb",
}


class Refusal(Exception):
    """Why attaching to the process is impossible: a sentence, and a command that helps."""

    def __init__(self, message: str, next: str | None = None) -> None:
        super().__init__(message)
        self.next = next


def main() -> None:
    package, cache, address, pid, follow = sys.argv[1:6]
    host, _, port = address.rpartition(":")
    token = sys.stdin.readline().strip()
    try:
        with _VerdictListener(host, token) as listener:
            boot = os.path.join(_HERE, "bootstrap_agent.py")
            known = _public(token, int(pid))
            where = (host, int(port), known, follow == "1", listener.port)
            code = _code(boot, package, cache, *where)
            if sys.platform == "win32":
                code = _from_file(code, token)
            if hasattr(sys, "remote_exec"):
                output = ""
                _run_by_interpreter(int(pid), code)
                verdict = listener.wait(_PATIENCE_S)
            else:
                output = _run_when_free(package, int(pid), code)
                # The injected code has ended: its verdict is here, or will never come.
                verdict = listener.wait(_ARRIVAL_S)
            if verdict is None:
                raise _no_verdict(int(pid), output)
            if verdict == "debugged":
                raise Refusal(
                    f"another debugger is attached to process {pid}.", "dbg sessions --everywhere"
                )
            if verdict:
                raise Refusal(f"debugpy does not start in process {pid}: {verdict}.")
    except Refusal as refusal:
        print(json.dumps({"message": str(refusal), "next": refusal.next}))
        sys.exit(1)


def _public(token: str, pid: int) -> str:
    """Return the token as it may appear on gdb's command line, which every user can read.

    That is the name of the file that contains it, where the process can read that file: it sees the
    same files (a container does not) and belongs to the same user.
    """
    _, _, path = token.partition("@")
    if sys.platform == "win32":
        return f"@{path}"  # of the same machine, and Windows decides who may attach
    process = f"/proc/{pid}"
    try:
        same = os.stat(process).st_uid == os.geteuid()
        same = same and os.path.samefile(path, f"{process}/root{path}")
    except OSError:
        same = False
    return f"@{path}" if same else token


def _from_file(code: str, token: str) -> str:
    """Return short code that runs a long one: on Windows 2,047 bytes can be injected."""
    path = os.path.join(os.path.dirname(token.partition("@")[2]), "injected.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    return f'exec(open({json.dumps(path)}, encoding="utf-8").read())'


class _VerdictListener:
    """A port that the process reports to. Only a caller that begins with the token is trusted.

    Any user of the machine can connect to a port: strangers are read concurrently, and can neither
    delay the process nor report for it.
    """

    def __init__(self, host: str, token: str) -> None:
        self._token = token.partition("@")[0].encode()
        self._server = socket.create_server((host, 0))
        self._server.setblocking(False)
        self.port: int = self._server.getsockname()[1]
        self._verdict: str | None = None
        self._received = threading.Event()
        self._callers: dict[socket.socket, bytes] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._server, selectors.EVENT_READ)
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> _VerdictListener:
        return self

    def __exit__(self, *_: object) -> None:
        self._received.set()

    def wait(self, timeout_s: float) -> str | None:
        """Return the report of the process, None if there is none in time."""
        self._received.wait(timeout_s)
        return self._verdict

    def _listen(self) -> None:
        while not self._received.is_set():
            for key, _ in self._selector.select(_ARRIVAL_S):
                try:
                    if key.fileobj is self._server:
                        self._accept()
                    else:
                        self._receive(key.fileobj)
                except OSError:
                    self._drop(key.fileobj)

    def _accept(self) -> None:
        caller, _ = self._server.accept()
        caller.setblocking(False)
        self._callers[caller] = b""
        self._selector.register(caller, selectors.EVENT_READ)
        if len(self._callers) > _MOST_CALLERS:
            self._drop(next(iter(self._callers)))

    def _receive(self, caller: Any) -> None:
        more = caller.recv(4096)
        text = self._callers[caller] = self._callers[caller] + more
        start = text[: len(self._token)]
        if not self._token.startswith(start) or len(text) > _LONGEST_VERDICT:
            self._drop(caller)
        elif not more:
            if start == self._token:
                self._verdict = text[len(self._token) :].decode("utf-8", "replace")
                self._received.set()
            self._drop(caller)

    def _drop(self, caller: Any) -> None:
        if self._callers.pop(caller, None) is not None:
            self._selector.unregister(caller)
            caller.close()


def _code(*arguments: str | int) -> str:
    """Return one expression, without quotes or line ends, that calls `join` and assigns no name.

    Every name in it but `__import__` is an attribute, because the program may define its own
    `bytes` or `exec`; and `__builtins__` is a module in some places, a dictionary in others.
    """
    with open(os.path.join(_HERE, "attach_agent.py"), encoding="utf-8") as file:
        text = file.read()
    name = "_freezeframe_join"
    start = (
        f"import sys\nmodule = sys.modules[{name!r}] = type(sys)({name!r})\n"
        # pydevd neither traces nor shows code of a file with such a name.
        f"exec(compile({text!r}, '<frozen freezeframe>', 'exec'), module.__dict__)\n"
        f"module.join(*{arguments!r})\n"
    )
    numbers = ",".join(str(byte) for byte in start.encode())
    builtins = "__import__(().__class__.__module__)"
    return f"{builtins}.exec({builtins}.bytes([{numbers}]).decode(),{{}})"


def _run_by_interpreter(pid: int, code: str) -> None:
    """Run code by the interpreter's own means (Python 3.14 and later)."""
    remote: Any = sys
    with tempfile.NamedTemporaryFile(
        "w", prefix="freezeframe-", suffix=".py", delete=False
    ) as file:
        # The process removes the file: it reads it when it reaches its next safe point.
        file.write(f"{code}\n__import__('os').remove({file.name!r})\n")
    try:
        remote.remote_exec(pid, file.name)
    except (OSError, RuntimeError) as error:
        os.unlink(file.name)
        if isinstance(error, PermissionError):
            raise _not_permitted(pid) from None
        raise Refusal(f"code cannot be injected into process {pid}: {error}.") from None


def _run_when_free(package: str, pid: int, code: str) -> str:
    """Run code once no other debugger traces the process: one that detaches still does for a
    moment."""
    end = time.monotonic() + _LEAVING_S
    while True:
        while (tracer := _tracer(pid)) and time.monotonic() < end:
            threading.Event().wait(0.05)
        if tracer:
            raise Refusal(f"process {pid} is traced by {_name(tracer)}.", f"ps -p {tracer}")
        output = _run_by_debugger(package, pid, code)
        # A tracer may have attached in between.
        if "ptrace: Operation not permitted" not in output or not _tracer(pid):
            return output


def _name(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/comm") as file:
            return f"{file.read().strip()} (pid {pid})"
    except OSError:
        return f"process {pid}"


def _tracer(pid: int) -> str:
    """Return the pid of the process that traces another one, empty for none."""
    try:
        with open(f"/proc/{pid}/status") as file:
            line_found = next((line for line in file if line.startswith("TracerPid:")), "")
    except OSError:
        return ""
    return line_found.partition(":")[2].strip().strip("0")


def _run_by_debugger(package: str, pid: int, code: str) -> str:
    """Make gdb (lldb on macOS) run *code* in the process; return the tool's output."""
    tool = "lldb" if sys.platform == "darwin" else "gdb"
    if sys.platform != "win32" and shutil.which(tool) is None:
        install = next((how for by, how in _INSTALL.items() if shutil.which(by)), None)
        if tool == "lldb":
            install = "xcode-select --install"
        raise Refusal(
            f"attaching to a Python older than 3.14 needs {tool}, which is not installed.", install
        )
    sys.path.append(os.path.join(package, "_vendored", "pydevd", "pydevd_attach_to_process"))
    attaching = importlib.import_module("add_code_to_python_process")
    with tempfile.TemporaryFile() as captured:
        kept = [os.dup(1), os.dup(2)]
        os.dup2(captured.fileno(), 1)
        os.dup2(captured.fileno(), 2)
        try:
            attaching.run_python_code(pid, code, connect_debugger_tracing=True, show_debug_info=0)
        except Exception as error:
            os.write(2, f"\n{error}".encode()[:400])
        finally:
            sys.stdout.flush()
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
        captured.seek(0)
        return captured.read().decode("utf-8", "replace")


def _no_verdict(pid: int, output: str) -> Refusal:
    is_linux = sys.platform == "linux"
    if is_linux and not os.path.exists(f"/proc/{pid}") and os.path.exists("/proc/self"):
        return Refusal(f"process {pid} ended.")
    if "ptrace: Operation not permitted" in output:
        return _not_permitted(pid)
    # The output repeats our injected code: no use to a reader.
    lines = [line.strip() for line in output.splitlines() if "__import__" not in line]
    last = next((line for line in reversed(lines) if line), "it did not answer")
    return Refusal(f"code cannot be injected into process {pid}: {last[:300].rstrip('.')}.")


def _not_permitted(pid: int) -> Refusal:
    return Refusal(
        f"the system does not let this user trace process {pid}: "
        "a container needs the capability SYS_PTRACE for it.",
        f"sudo dbg attach {pid}",
    )


if __name__ == "__main__":
    main()
