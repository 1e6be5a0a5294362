"""Windows: the listener is a named pipe that only its owner can open.

asyncio serves named pipes, but has no parameter for their access list, so the instances are
created here and passed to its proactor. The pipe's name contains the user's security identifier;
the first instance is created exclusively, so that a second daemon, or a process that squats on the
name, is detected. Written against the documented interfaces and tested as far as another system
allows: names, access list and format.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from freezeframe import paths
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
_TOKEN_QUERY = 0x0008
_TOKEN_USER = 1
_SDDL_REVISION_1 = 1
_JOB_EXTENDED_LIMITS = 9
_JOB_KILL_ON_CLOSE = 0x2000
_DETACHED = 0x00000008 | 0x00000200  # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP


def pipe_name(sid: str, env: Mapping[str, str]) -> str:
    """Return the pipe name of the user *sid*; each FREEZEFRAME_HOME has its own."""
    home = env.get("FREEZEFRAME_HOME")
    # A checksum, because a pipe name cannot hold a path; Windows paths ignore case.
    suffix = f"-{zlib.crc32(os.path.abspath(home).lower().encode()):08x}" if home else ""
    return rf"\\.\pipe\freezeframe-{sid}{suffix}"


def owner_only(sid: str) -> str:
    """Return the access list as SDDL: full access for *sid*, nothing inherited, nobody else."""
    return f"O:{sid}D:P(A;;GA;;;{sid})"


class PipeLink:
    """The client's end of the pipe, with the three methods of a socket that client.py needs."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def sendall(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._fd, data) :]

    def recv(self, size: int) -> bytes:
        try:
            return os.read(self._fd, size)
        except BrokenPipeError:  # the peer closed the pipe
            return b""

    def close(self) -> None:
        os.close(self._fd)


def connect(env: Mapping[str, str], handler: str | None = None) -> Any:
    """Return a connection to the user's daemon; start the daemon if there is none."""
    name = pipe_name(current_sid(), env)
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


def _start(env: Mapping[str, str], handler: str | None) -> None:
    """Start a daemon and return when it is ready, has ended, or has taken too long."""
    import subprocess
    import threading

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [sys.executable, "-E", "-P", "-X", "utf8", os.path.join(package, "__main__.py")]
    command += ["daemon", *(["--handler", handler] if handler else [])]
    with open(paths.log_path(env), "ab") as log:
        process = subprocess.Popen(
            command,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            creationflags=_DETACHED,
            close_fds=True,
        )
    assert process.stdout is not None
    # The daemon writes a byte when it serves, then closes the pipe. Windows has no pipe read with
    # a timeout, so a thread reads.
    waiting = threading.Thread(target=process.stdout.read, args=(1,), daemon=True)
    waiting.start()
    waiting.join(READY_S)


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


def end_children_with_us() -> bool:
    """Put this process in a job object that kills all its processes when this one exits.

    Replaces the supervisor of other systems. Returns False where the system refuses.
    """
    import ctypes

    limits = (ctypes.c_ubyte * 144)()  # JOBOBJECT_EXTENDED_LIMIT_INFORMATION of 64-bit systems
    ctypes.c_uint32.from_buffer(limits, 16).value = _JOB_KILL_ON_CLOSE
    kernel = _library("kernel32")
    kernel.CreateJobObjectW.restype = ctypes.c_void_p
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    job = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
    return bool(
        job
        and kernel.SetInformationJobObject(job, _JOB_EXTENDED_LIMITS, limits, len(limits))
        and kernel.AssignProcessToJobObject(job, ctypes.c_void_p(kernel.GetCurrentProcess()))
    )


def current_sid() -> str:
    """Return the security identifier of the user, as text (`S-1-5-21-…`)."""
    import ctypes

    kernel, advapi = _library("kernel32"), _library("advapi32")
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    token = ctypes.c_void_p()
    process = ctypes.c_void_p(kernel.GetCurrentProcess())
    _must(advapi.OpenProcessToken(process, _TOKEN_QUERY, ctypes.byref(token)))
    try:
        size = ctypes.c_uint32()
        advapi.GetTokenInformation(token, _TOKEN_USER, None, 0, ctypes.byref(size))
        user = ctypes.create_string_buffer(size.value)
        _must(advapi.GetTokenInformation(token, _TOKEN_USER, user, size.value, ctypes.byref(size)))
        text = ctypes.c_wchar_p()
        sid = ctypes.c_void_p.from_buffer(user)  # TOKEN_USER begins with the pointer to the SID
        _must(advapi.ConvertSidToStringSidW(sid, ctypes.byref(text)))
        try:
            return text.value or ""
        finally:
            kernel.LocalFree(text)
    finally:
        kernel.CloseHandle(token)


def _instance(name: str, sid: str, *, first: bool) -> Any:
    """Return a new instance of the pipe, as asyncio's own handle type.

    Raises Insecure when *first* is set and another process has created the pipe.
    """
    import ctypes
    from asyncio import windows_utils  # type: ignore[attr-defined, unused-ignore]

    class SecurityAttributes(ctypes.Structure):
        _fields_ = [
            ("length", ctypes.c_uint32),
            ("descriptor", ctypes.c_void_p),
            ("inherit", ctypes.c_int),
        ]

    kernel, advapi = _library("kernel32"), _library("advapi32")
    descriptor = ctypes.c_void_p()
    _must(
        advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW(
            ctypes.c_wchar_p(owner_only(sid)), _SDDL_REVISION_1, ctypes.byref(descriptor), None
        )
    )
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
        if first and _last_error() == _ERROR_ACCESS_DENIED:
            raise Insecure(f"{name} was made by another process.", next="dbg daemon status")
        raise OSError(f"{name} cannot be created: Windows error {_last_error()}")
    return windows_utils.PipeHandle(handle)  # type: ignore[attr-defined, unused-ignore]


def _open(name: str) -> PipeLink | None:
    """Return a connection, None when no daemon serves the pipe."""
    import ctypes
    import msvcrt

    kernel = _library("kernel32")
    kernel.CreateFileW.restype = ctypes.c_void_p
    while True:
        handle = kernel.CreateFileW(
            ctypes.c_wchar_p(name),
            _GENERIC_READ_WRITE,
            0,
            None,
            _OPEN_EXISTING,
            _SECURITY_SQOS_PRESENT_IDENTIFICATION,
            None,
        )
        if handle not in (None, ctypes.c_void_p(-1).value):
            binary = getattr(os, "O_BINARY", 0)
            opened: int = msvcrt.open_osfhandle(handle, binary)  # type: ignore[attr-defined, unused-ignore]
            return PipeLink(opened)
        error = _last_error()
        if error == _ERROR_FILE_NOT_FOUND:
            return None
        if error == _ERROR_ACCESS_DENIED:
            raise Insecure(f"{name} belongs to another user.", next="dbg doctor")
        if error != _ERROR_PIPE_BUSY:
            raise DaemonError(f"{name} cannot be opened: Windows error {error}.", next="dbg doctor")
        kernel.WaitNamedPipeW(ctypes.c_wchar_p(name), 1000)


def _library(name: str) -> Any:
    import ctypes

    return ctypes.WinDLL(name, use_last_error=True)  # type: ignore[attr-defined, unused-ignore]


def _last_error() -> int:
    import ctypes

    return int(ctypes.get_last_error())  # type: ignore[attr-defined, unused-ignore]


def _must(succeeded: int) -> None:
    if not succeeded:
        raise OSError(f"Windows error {_last_error()}")
