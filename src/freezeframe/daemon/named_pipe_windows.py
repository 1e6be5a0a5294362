"""Windows: the listener is a named pipe that only its owner can open.

asyncio serves named pipes, but has no parameter for their access list, so the instances are
created here and passed to its proactor. The pipe's name contains the user's security identifier;
the first instance is created exclusively, so that a second daemon, or a process that squats on the
name, is detected.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from freezeframe import paths, windows
from freezeframe.daemon import lifecycle
from freezeframe.errors import DaemonError, Insecure

if TYPE_CHECKING:
    import asyncio

    from freezeframe.daemon.listener import Connected

READY_S = 20.0
BUFFER_BYTES = 65536

# <winbase.h>, <winnt.h>, <winerror.h>
_PIPE_ACCESS_DUPLEX = 0x00000003
_FILE_FLAG_FIRST_PIPE_INSTANCE = 0x00080000
_FILE_FLAG_OVERLAPPED = 0x40000000
_PIPE_BYTE_MODE = 0x00000000
_PIPE_REJECT_REMOTE_CLIENTS = 0x00000008
_PIPE_UNLIMITED_INSTANCES = 255
_GENERIC_READ_WRITE = 0xC0000000
_OPEN_EXISTING = 3
#: a server of another user must not be able to impersonate the client
_SECURITY_SQOS_PRESENT_IDENTIFICATION = 0x00110000
_ERROR_FILE_NOT_FOUND = 2
_ERROR_ACCESS_DENIED = 5
_ERROR_PIPE_BUSY = 231
_DETACHED = 0x00000008 | 0x00000200  # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP
_BREAKAWAY = 0x01000000  # CREATE_BREAKAWAY_FROM_JOB


def pipe_name(sid: str, env: Mapping[str, str]) -> str:
    """Return the pipe name of the user *sid*; each FREEZEFRAME_HOME has its own."""
    home = env.get("FREEZEFRAME_HOME")
    # A checksum, because a pipe name cannot hold a path; Windows paths ignore case.
    suffix = f"-{zlib.crc32(os.path.abspath(home).lower().encode()):08x}" if home else ""
    return rf"\\.\pipe\freezeframe-{sid}{suffix}"


class PipeLink:
    """The client's end of the pipe, with the methods of a socket that client.py needs.

    Each waits for at most the time limit, and is interrupted by Ctrl-C.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._api = windows.module("_winapi")
        self._timeout_ms: int = self._api.INFINITE
        self._reading: Any = None

    def settimeout(self, timeout_s: float | None) -> None:
        self._timeout_ms = self._api.INFINITE if timeout_s is None else int(timeout_s * 1000)

    def send(self, data: bytes) -> int:
        """Send a piece of *data* and return its size."""
        writing, _ = self._api.WriteFile(self._handle, data[:BUFFER_BYTES], overlapped=True)
        if not self._is_done(writing):
            writing.cancel()
        sent, _ = writing.GetOverlappedResult(True)
        return int(sent)

    def sendall(self, data: bytes) -> None:
        while data:
            data = data[self.send(data) :]

    def recv(self, size: int) -> bytes:
        """Return what arrives next; empty when the peer has closed. Raises TimeoutError."""
        try:
            if self._reading is None:
                self._reading, _ = self._api.ReadFile(self._handle, size, overlapped=True)
            if not self._is_done(self._reading):
                raise TimeoutError
            reading, self._reading = self._reading, None
            reading.GetOverlappedResult(True)
        except BrokenPipeError:  # the peer closed the pipe
            return b""
        return bytes(reading.getbuffer())

    def _is_done(self, operation: Any) -> bool:
        # Of all waits only this one is interrupted by Ctrl-C.
        done = self._api.WaitForMultipleObjects([operation.event], False, self._timeout_ms)
        return bool(done == self._api.WAIT_OBJECT_0)

    def detach(self) -> int:
        """Give the handle away."""
        handle, self._handle = self._handle, 0
        return handle

    def close(self) -> None:
        if self._handle:
            self._api.CloseHandle(self._handle)
            self._handle = 0


def connect(env: Mapping[str, str], handler: str | None = None) -> Any:
    """Return a connection to the user's daemon; start the daemon if there is none."""
    name = pipe_name(windows.current_sid(), env)
    link = _open(name)
    if link:
        return link
    paths.secure(paths.state_dir(env))
    _start(env, handler)
    # Twenty racing clients start twenty processes; all but the owner of the first instance exit,
    # and that one is ready when they do.
    link = _open(name)
    if link is None:
        raise DaemonError(
            f"the daemon ended while it started, or was not ready after {READY_S:g} s.",
            next=f"type {paths.log_path(env)}",
        )
    return link


async def streams_of(
    link: PipeLink, limit: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection as streams; *limit* is the size of the reader's buffer."""
    import asyncio

    pipe = windows.module("asyncio.windows_utils").PipeHandle(link.detach())
    loop: Any = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport = loop._make_duplex_pipe_transport(pipe, protocol)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


def _start(env: Mapping[str, str], handler: str | None) -> None:
    """Start a daemon and return when it is ready, has ended, or has taken too long."""
    import subprocess
    import threading

    with open(paths.log_path(env), "ab") as log:
        process = _detached(
            lifecycle.daemon_command(handler),
            env=dict(env),
            cwd=paths.state_dir(env),  # keep no directory busy
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            close_fds=True,
        )
    progress: list[bytes] = []

    def read() -> None:
        while (byte := process.stdout.read(1)) not in (b"", lifecycle.READY):
            progress.append(byte)

    # The daemon writes bytes while it starts and one when it serves, then closes the pipe. Windows
    # has no pipe read with a timeout, so a thread reads.
    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    known = -1
    while reading.is_alive() and len(progress) > known:
        known = len(progress)
        reading.join(READY_S)


def _detached(command: list[str], **options: Any) -> Any:
    """Start a process that outlives this one's console, and its job where that permits it."""
    import subprocess

    try:
        return subprocess.Popen(command, creationflags=_DETACHED | _BREAKAWAY, **options)
    except PermissionError:
        return subprocess.Popen(command, creationflags=_DETACHED, **options)


class NamedPipeListener:
    """Named-pipe instances, one of them always waiting for the next client."""

    def __init__(self, name: str, sid: str) -> None:
        self._name = name
        self._sid = sid
        self._accepting: asyncio.Task[None] | None = None

    async def open(self, connected: Connected, buffer_bytes: int) -> None:
        import asyncio

        first = _instance(self._name, self._sid, first=True)
        self._accepting = asyncio.create_task(self._accept(first, connected, buffer_bytes))

    async def _accept(self, waiting: Any, connected: Connected, buffer_bytes: int) -> None:
        import asyncio

        loop: Any = asyncio.get_running_loop()
        while True:
            # The next instance exists before this one is connected: a client always finds the name.
            upcoming = _instance(self._name, self._sid, first=False)
            try:
                await loop._proactor.accept_pipe(waiting)
            except OSError:  # the client disconnected before it was accepted
                waiting.close()
            except asyncio.CancelledError:
                waiting.close()
                upcoming.close()
                raise
            else:
                reader = asyncio.StreamReader(limit=buffer_bytes, loop=loop)
                protocol = asyncio.StreamReaderProtocol(reader, connected, loop=loop)
                loop._make_duplex_pipe_transport(waiting, protocol, extra={"addr": self._name})
            waiting = upcoming

    async def open_again(self) -> None:
        """Do nothing: a pipe's name cannot be removed while an instance is open."""

    def admits(self, writer: asyncio.StreamWriter) -> bool:
        return True  # the access list has admitted the peer

    async def close(self) -> None:
        if self._accepting:
            self._accepting.cancel()


def _instance(name: str, sid: str, *, first: bool) -> Any:
    """Return a new instance of the pipe, as asyncio's own handle type.

    Raises Insecure when *first* is set and another process has created the pipe.
    """
    import ctypes

    class SecurityAttributes(ctypes.Structure):
        _fields_ = [
            ("length", ctypes.c_uint32),
            ("descriptor", ctypes.c_void_p),
            ("inherit", ctypes.c_int),
        ]

    kernel = windows.library("kernel32")
    descriptor = windows.security_descriptor(windows.owner_only(sid))
    try:
        security = SecurityAttributes(ctypes.sizeof(SecurityAttributes), descriptor, 0)
        kernel.CreateNamedPipeW.restype = ctypes.c_void_p
        handle = kernel.CreateNamedPipeW(
            ctypes.c_wchar_p(name),
            _PIPE_ACCESS_DUPLEX
            | _FILE_FLAG_OVERLAPPED
            | (_FILE_FLAG_FIRST_PIPE_INSTANCE if first else 0),
            _PIPE_BYTE_MODE | _PIPE_REJECT_REMOTE_CLIENTS,
            _PIPE_UNLIMITED_INSTANCES,
            BUFFER_BYTES,
            BUFFER_BYTES,
            0,
            ctypes.byref(security),
        )
    finally:
        kernel.LocalFree(descriptor)
    if handle in (None, ctypes.c_void_p(-1).value):
        if first and windows.last_error() == _ERROR_ACCESS_DENIED:
            raise Insecure(f"{name} was made by another process.", next="dbg daemon status")
        raise OSError(f"{name} cannot be created: Windows error {windows.last_error()}")
    return windows.module("asyncio.windows_utils").PipeHandle(handle)


def _open(name: str) -> PipeLink | None:
    """Return a connection, None when no daemon serves the pipe."""
    import ctypes

    kernel = windows.library("kernel32")
    kernel.CreateFileW.restype = ctypes.c_void_p
    while True:
        handle = kernel.CreateFileW(
            ctypes.c_wchar_p(name),
            _GENERIC_READ_WRITE,
            0,
            None,
            _OPEN_EXISTING,
            _SECURITY_SQOS_PRESENT_IDENTIFICATION | _FILE_FLAG_OVERLAPPED,
            None,
        )
        if handle not in (None, ctypes.c_void_p(-1).value):
            return PipeLink(int(handle))
        error = windows.last_error()
        if error == _ERROR_FILE_NOT_FOUND:
            return None
        if error == _ERROR_ACCESS_DENIED:
            raise Insecure(f"{name} belongs to another user.", next="dbg doctor")
        if error != _ERROR_PIPE_BUSY:
            raise DaemonError(f"{name} cannot be opened: Windows error {error}.", next="dbg doctor")
        kernel.WaitNamedPipeW(ctypes.c_wchar_p(name), 1000)
