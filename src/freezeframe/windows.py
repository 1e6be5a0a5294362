"""Windows' own interfaces, through ctypes: users, job objects, the process table.

The only file that declares functions of kernel32 and ntdll; it can be imported on every system, and
its functions work on Windows. Files that end in `_windows.py` are its users.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

# <winnt.h>, <tlhelp32.h>, <processthreadsapi.h>
_JOB_PROCESS_IDS = 3
_JOB_EXTENDED_LIMITS = 9
_JOB_KILL_ON_CLOSE = 0x2000
_SNAPSHOT_PROCESSES = 0x2
_QUERY_LIMITED_INFORMATION = 0x1000
_PROCESS_TERMINATE = 0x1
SYNCHRONIZE = 0x00100000
_STILL_ACTIVE = 259
_MOST_PIDS = 4096
_TOKEN_QUERY = 0x0008
_TOKEN_USER = 1
_SDDL_REVISION_1 = 1
_DACL_INFORMATION = 0x4
_PROTECTED_DACL = 0x80000000
#: 100 ns units between 1601 and 1970
_EPOCH = 116_444_736_000_000_000
#: the exit code of processes that we end, as of those that `taskkill` ends
KILLED = 1


class ProcessRow(NamedTuple):
    """One process of the system's table."""

    pid: int
    parent: int
    #: the file name of its program
    name: str


def library(name: str) -> Any:
    """Return a system library; handles are passed to it as pointers."""
    return ctypes.WinDLL(name, use_last_error=True)  # type: ignore[attr-defined, unused-ignore]


def module(name: str) -> Any:
    """Return a module of the standard library that only Windows has."""
    return importlib.import_module(name)


def last_error() -> int:
    return int(ctypes.get_last_error())  # type: ignore[attr-defined, unused-ignore]


def must(succeeded: Any) -> Any:
    """Return the result of a call that must not be zero. Raises OSError."""
    if not succeeded:
        raise OSError(f"Windows error {last_error()}")
    return succeeded


def current_sid() -> str:
    """Return the security identifier of the user, as text (`S-1-5-21-…`)."""
    kernel, advapi = library("kernel32"), library("advapi32")
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    token = ctypes.c_void_p()
    process = ctypes.c_void_p(kernel.GetCurrentProcess())
    must(advapi.OpenProcessToken(process, _TOKEN_QUERY, ctypes.byref(token)))
    try:
        size = ctypes.c_uint32()
        advapi.GetTokenInformation(token, _TOKEN_USER, None, 0, ctypes.byref(size))
        user = ctypes.create_string_buffer(size.value)
        must(advapi.GetTokenInformation(token, _TOKEN_USER, user, size.value, ctypes.byref(size)))
        text = ctypes.c_wchar_p()
        sid = ctypes.c_void_p.from_buffer(user)  # TOKEN_USER begins with the pointer to the SID
        must(advapi.ConvertSidToStringSidW(sid, ctypes.byref(text)))
        try:
            return text.value or ""
        finally:
            kernel.LocalFree(text)
    finally:
        kernel.CloseHandle(token)


def owner_only(sid: str, *, inherited: bool = False) -> str:
    """Return an access list as SDDL: full access for *sid* and nobody else, nothing inherited.

    With *inherited* it is that of a directory, and of everything that is made in it.
    """
    return f"O:{sid}D:P(A;{'OICI' if inherited else ''};GA;;;{sid})"


def security_descriptor(sddl: str) -> ctypes.c_void_p:
    """Return a security descriptor, which the caller frees with LocalFree."""
    descriptor = ctypes.c_void_p()
    must(
        library("advapi32").ConvertStringSecurityDescriptorToSecurityDescriptorW(
            ctypes.c_wchar_p(sddl), _SDDL_REVISION_1, ctypes.byref(descriptor), None
        )
    )
    return descriptor


def make_private(directory: str) -> None:
    """Let only the owner enter a directory. Raises OSError."""
    descriptor = security_descriptor(owner_only(current_sid(), inherited=True))
    try:
        must(
            library("advapi32").SetFileSecurityW(
                ctypes.c_wchar_p(directory), _DACL_INFORMATION | _PROTECTED_DACL, descriptor
            )
        )
    finally:
        library("kernel32").LocalFree(descriptor)


class Job:
    """A job object: a process, and every process that one of them starts, as long as it lives.

    All of them are killed when the last handle is closed, which also happens when this process
    ends in any way, unless `release` was called.
    """

    def __init__(self) -> None:
        self._kernel = library("kernel32")
        self._kernel.CreateJobObjectW.restype = ctypes.c_void_p
        self._handle = ctypes.c_void_p(must(self._kernel.CreateJobObjectW(None, None)))
        self._kill_on_close(True)

    def _kill_on_close(self, kills: bool) -> None:
        limits = (ctypes.c_ubyte * 144)()  # JOBOBJECT_EXTENDED_LIMIT_INFORMATION, 64 bits
        ctypes.c_uint32.from_buffer(limits, 16).value = _JOB_KILL_ON_CLOSE if kills else 0
        must(
            self._kernel.SetInformationJobObject(
                self._handle, _JOB_EXTENDED_LIMITS, limits, len(limits)
            )
        )

    def add(self, process: int) -> None:
        """Make a process a member. Raises OSError."""
        must(self._kernel.AssignProcessToJobObject(self._handle, ctypes.c_void_p(process)))

    def pids(self) -> list[int]:
        """Return the processes of the job that are alive."""
        size = 8 + _MOST_PIDS * ctypes.sizeof(ctypes.c_size_t)
        block = ctypes.create_string_buffer(size)
        self._kernel.QueryInformationJobObject(self._handle, _JOB_PROCESS_IDS, block, size, None)
        count = min(ctypes.c_uint32.from_buffer(block, 4).value, _MOST_PIDS)
        return list((ctypes.c_size_t * count).from_buffer(block, 8))

    def kill(self) -> None:
        """Kill every member."""
        self._kernel.TerminateJobObject(self._handle, KILLED)

    def release(self) -> None:
        """Let the members live on after this process."""
        self._kill_on_close(False)

    def close(self) -> None:
        if self._handle:
            self._kernel.CloseHandle(self._handle)
            self._handle = ctypes.c_void_p()


def resume(process: int) -> None:
    """Let a process run that was created suspended."""
    library("ntdll").NtResumeProcess(ctypes.c_void_p(process))


def kill(pid: int) -> bool:
    """Kill a process; False if there is none, or it is not ours to kill."""
    kernel = library("kernel32")
    with opened(pid, _PROCESS_TERMINATE) as handle:
        return bool(handle and kernel.TerminateProcess(handle, KILLED))


def exit_code(pid: int) -> int | None:
    """Return the exit code of a process that has ended and is still known; None otherwise."""
    kernel = library("kernel32")
    code = ctypes.c_uint32(_STILL_ACTIVE)
    with opened(pid, _QUERY_LIMITED_INFORMATION) as handle:
        if handle:
            kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    return None if code.value == _STILL_ACTIVE else code.value


def born(pid: int) -> float | None:
    """Return when a process was created, in seconds since 1970; None if it is not visible."""
    kernel = library("kernel32")
    times = [ctypes.c_uint64() for _ in range(4)]
    with opened(pid, _QUERY_LIMITED_INFORMATION) as handle:
        if not handle or not kernel.GetProcessTimes(handle, *map(ctypes.byref, times)):
            return None
    return (times[0].value - _EPOCH) / 1e7


def program(pid: int) -> str | None:
    """Return the path of the program that a process runs; None if it is not visible."""
    kernel = library("kernel32")
    path = ctypes.create_unicode_buffer(32768)
    size = ctypes.c_uint32(len(path))
    with opened(pid, _QUERY_LIMITED_INFORMATION) as handle:
        if not handle or not kernel.QueryFullProcessImageNameW(handle, 0, path, ctypes.byref(size)):
            return None
    return path.value


def processes() -> list[ProcessRow]:
    """Return every process of the system."""
    return list(_processes())


def _processes() -> Iterator[ProcessRow]:
    class Entry(ctypes.Structure):  # PROCESSENTRY32W
        _fields_ = [
            ("size", ctypes.c_uint32),
            ("usage", ctypes.c_uint32),
            ("pid", ctypes.c_uint32),
            ("heap", ctypes.c_size_t),
            ("module", ctypes.c_uint32),
            ("threads", ctypes.c_uint32),
            ("parent", ctypes.c_uint32),
            ("priority", ctypes.c_int32),
            ("flags", ctypes.c_uint32),
            ("name", ctypes.c_wchar * 260),
        ]

    kernel = library("kernel32")
    kernel.CreateToolhelp32Snapshot.restype = ctypes.c_void_p
    snapshot = ctypes.c_void_p(kernel.CreateToolhelp32Snapshot(_SNAPSHOT_PROCESSES, 0))
    try:
        entry = Entry(ctypes.sizeof(Entry))
        more = kernel.Process32FirstW(snapshot, ctypes.byref(entry))
        while more:
            yield ProcessRow(entry.pid, entry.parent, entry.name)
            more = kernel.Process32NextW(snapshot, ctypes.byref(entry))
    finally:
        kernel.CloseHandle(snapshot)


class opened:
    """A handle of a process for the length of a block; empty if it cannot be opened."""

    def __init__(self, pid: int, access: int) -> None:
        self._kernel = library("kernel32")
        self._kernel.OpenProcess.restype = ctypes.c_void_p
        self._handle = ctypes.c_void_p(self._kernel.OpenProcess(access, 0, pid))

    def __enter__(self) -> ctypes.c_void_p:
        return self._handle

    def __exit__(self, *_: object) -> None:
        if self._handle:
            self._kernel.CloseHandle(self._handle)
