"""Brings debugpy into a process that runs already; a script, never imported.

    PYTHON -I -S inject_probe.py DEBUGPY_PACKAGE CACHE HOST:PORT PID FOLLOW < TOKEN

Run with the interpreter of that process. It does what `python DEBUGPY_PACKAGE --pid PID` does, but
nothing is left in the program's `__main__` and nothing is written to its stderr. When it cannot, it
says why as JSON, `{"message": …, "next": …}`, in its last line, and ends with status 1. Works in
every Python from 3.8 on and needs nothing of this package.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import socket
import sys
import tempfile
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
#: How long a process may take to reach a place where code can be brought in, and to load it.
_PATIENCE_S = 60.0
_INSTALL = {
    "apt-get": "sudo apt-get install gdb",
    "dnf": "sudo dnf install gdb",
    "apk": "sudo apk add gdb",
    "pacman": "sudo pacman -S gdb",
    "zypper": "sudo zypper install gdb",
}


class Refusal(Exception):
    """Why the process cannot be joined: a sentence, and a command that helps."""

    def __init__(self, message: str, next: str | None = None) -> None:
        super().__init__(message)
        self.next = next


def main() -> None:
    package, cache, address, pid, follow = sys.argv[1:6]
    host, _, port = address.rpartition(":")
    token = sys.stdin.readline().strip()
    try:
        with socket.create_server((host, 0)) as line:
            verdict_port = line.getsockname()[1]
            boot = os.path.join(_HERE, "boot_probe.py")
            code = _code(boot, package, cache, host, int(port), token, follow == "1", verdict_port)
            if hasattr(sys, "remote_exec"):
                _run_by_interpreter(int(pid), code)
                line.settimeout(_PATIENCE_S)
            else:
                words = _run_by_debugger(package, int(pid), code)
                # What it ran has ended: its verdict is here, or will never be.
                line.settimeout(0.0)
            try:
                verdict = _hear(line)
            except OSError:
                raise _unheard(int(pid), "" if hasattr(sys, "remote_exec") else words) from None
            if verdict == "debugged":
                raise Refusal(
                    f"another debugger is at work in process {pid}.", "dbg sessions --everywhere"
                )
            if verdict:
                raise Refusal(f"debugpy does not start in process {pid}: {verdict}.")
    except Refusal as refusal:
        print(json.dumps({"message": str(refusal), "next": refusal.next}))
        sys.exit(1)


def _hear(line: socket.socket) -> str:
    caller, _ = line.accept()
    with caller:
        caller.settimeout(_PATIENCE_S)
        return caller.makefile("r", encoding="utf-8", errors="replace").read()


def _code(*arguments: str | int) -> str:
    """Return one expression, without quotes or line ends, that calls `join` and assigns no name.

    Every name in it but `__import__` is an attribute, for the program may have a `bytes` or an
    `exec` of its own; and `__builtins__` is a module here, a dictionary there.
    """
    with open(os.path.join(_HERE, "join_probe.py"), encoding="utf-8") as file:
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
    """From Python 3.14 on the interpreter runs code in another one."""
    remote: Any = sys
    with tempfile.NamedTemporaryFile(
        "w", prefix="freezeframe-", suffix=".py", delete=False
    ) as file:
        # The process takes it away: it is read when its next safe place is reached.
        file.write(f"{code}\n__import__('os').remove({file.name!r})\n")
    try:
        remote.remote_exec(pid, file.name)
    except (OSError, RuntimeError) as error:
        os.unlink(file.name)
        if isinstance(error, PermissionError):
            raise _not_permitted(pid) from None
        raise Refusal(f"no code can be brought into process {pid}: {error}.") from None


def _run_by_debugger(package: str, pid: int, code: str) -> str:
    """Have gdb (lldb on macOS) run *code* in the process; return what it said."""
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
    with tempfile.TemporaryFile() as said:
        kept = [os.dup(1), os.dup(2)]
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        try:
            attaching.run_python_code(pid, code, connect_debugger_tracing=True, show_debug_info=0)
        except Exception as error:
            os.write(2, f"\n{error}".encode()[:400])
        finally:
            sys.stdout.flush()
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
        said.seek(0)
        return said.read().decode("utf-8", "replace")


def _unheard(pid: int, words: str) -> Refusal:
    if not os.path.exists(f"/proc/{pid}") and os.path.exists("/proc/self"):
        return Refusal(f"process {pid} ended.")
    if "ptrace: Operation not permitted" in words:
        return _not_permitted(pid)
    # Our own code stands in what the tool was asked to do: no use to a reader.
    lines = [line.strip() for line in words.splitlines() if "__import__" not in line]
    last = next((line for line in reversed(lines) if line), "it did not answer")
    return Refusal(f"no code can be brought into process {pid}: {last[:300].rstrip('.')}.")


def _not_permitted(pid: int) -> Refusal:
    return Refusal(
        f"the system does not let this user trace process {pid}: "
        "a container needs the capability SYS_PTRACE for it.",
        f"sudo dbg attach {pid}",
    )


if __name__ == "__main__":
    main()
