"""Reports that the program has closed the connection to its debugger; loaded by
`bootstrap_agent.py`.

A program that makes itself a daemon closes every descriptor. pydevd takes that for the end of the
debugger, or does not notice, and a file that the program opens next may get the number of the
socket. This agent stops writing there, and creates a file next to the secret, which
`backends/dap/termination.py` reads.
"""

from __future__ import annotations

import errno
import importlib
import os
from typing import Any

_NAME = "connection-closed"


def install(secrets: list[str]) -> None:
    """Watch each connection from now on; *secrets* are the files that contain the secret."""
    kind: Any = importlib.import_module("pydevd").PyDB
    if hasattr(kind.initialize_network, "freezeframe"):
        return
    connect, dispose = kind.initialize_network, kind.dispose_and_kill_all_pydevd_threads
    #: process, descriptor, identity and socket of the newest connection
    known: list[Any] = []

    def is_open() -> bool:
        """Return whether the connection is open; report once if it is not."""
        if not known or known[0] != os.getpid():
            return True
        if _identity(known[1]) == known[2]:
            return True
        # Closing it would close a file of the program.
        known[3].detach()
        known.clear()
        if secrets:
            _report(secrets[-1])
        return False

    def initialize_network(self: Any, sock: Any, *arguments: Any, **named: Any) -> Any:
        known[:] = [os.getpid(), sock.fileno(), _identity(sock.fileno()), sock]
        result = connect(self, sock, *arguments, **named)
        self.writer.sock = _Guarded(sock, is_open)
        return result

    def dispose_and_kill_all_pydevd_threads(self: Any, *arguments: Any, **named: Any) -> Any:
        is_open()
        known.clear()
        return dispose(self, *arguments, **named)

    initialize_network.freezeframe = True  # type: ignore[attr-defined]
    kind.initialize_network = initialize_network
    kind.dispose_and_kill_all_pydevd_threads = dispose_and_kill_all_pydevd_threads


class _Guarded:
    """A socket that sends nothing once its descriptor belongs to another file."""

    def __init__(self, sock: Any, is_open: Any) -> None:
        self._sock = sock
        self._is_open = is_open

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def sendall(self, data: bytes) -> None:
        if not self._is_open():
            raise OSError(errno.EBADF, "the program has closed the connection")
        self._sock.sendall(data)


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _report(secret: str) -> None:
    try:
        path = os.path.join(os.path.dirname(secret), _NAME)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError:
        pass  # the debugger has detached, or the process may not write there
