"""Read from /proc which system calls the threads of a process are blocked in."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator

#: System calls that fail with EINTR when the process is stopped and resumed, without any signal
#: handler (signal(7)): epoll_wait, epoll_pwait, epoll_pwait2, semop, semtimedop, rt_sigtimedwait.
_INTERRUPTED_BY_STOP = {
    "x86_64": frozenset({232, 281, 441, 65, 220, 128}),
    "aarch64": frozenset({22, 441, 193, 192, 137}),
}


#: read and readv; epoll_wait, epoll_pwait and epoll_pwait2
_READS = {"x86_64": frozenset({0, 19}), "aarch64": frozenset({63, 65})}
_EPOLLS = {"x86_64": frozenset({232, 281, 441}), "aarch64": frozenset({22, 441})}
#: threads, and descriptors of a process, that are read at most
_MOST = 1000
_EPOLLIN = 1


def is_disturbed_by_a_halt(pid: int) -> bool:
    """Return whether a thread is in a system call that fails when the process is stopped and
    resumed; False where /proc shows none."""
    numbers = _INTERRUPTED_BY_STOP.get(platform.machine(), frozenset())
    return any(number in numbers for number, _ in _calls(pid))


def only_waits(pid: int) -> bool:
    """Return whether every thread is blocked in a system call that a stop does not disturb; False
    where /proc shows none."""
    disturbed = _INTERRUPTED_BY_STOP.get(platform.machine(), frozenset())
    try:
        threads = len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return False
    numbers = [number for number, _ in _calls(pid)]
    return len(numbers) == threads and disturbed.isdisjoint(numbers)


def is_busy(pid: int) -> bool:
    """Return whether the main thread of a process is computing; False if it waits or is not
    visible."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            return file.read().strip() == "running"
    except OSError:
        return False


def waits_for_standard_input(pid: int) -> bool:
    """Return whether a thread is blocked reading descriptor 0 or polls it; False where /proc shows
    none.

    An event loop (node's) polls descriptors with epoll: /proc lists them.
    """
    machine = platform.machine()
    reads, epolls = _READS.get(machine, frozenset()), _EPOLLS.get(machine, frozenset())
    for number, first in _calls(pid):
        if (number in reads and first == 0) or (number in epolls and _polls_zero(pid, first)):
            return True
    return False


def _calls(pid: int) -> Iterator[tuple[int, int]]:
    """Yield the number and the first argument of the system call that each blocked thread is in."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads[:_MOST]:
        try:
            with open(f"/proc/{pid}/task/{thread}/syscall", encoding="ascii") as file:
                fields = file.read().split()
            # `running`, or `-1 SP PC` for a thread that is blocked outside a system call.
            if len(fields) > 3:
                yield int(fields[0]), int(fields[1], 16)
        except (OSError, ValueError):
            continue


def _polls_zero(pid: int, epoll: int) -> bool:
    try:
        with open(f"/proc/{pid}/fdinfo/{epoll}", encoding="ascii") as file:
            lines = [line.split() for line in file.readlines()[:_MOST]]
    except OSError:
        return False
    # `tfd:        0 events:       19 data: …`
    polled = (
        fields for fields in lines if fields[:2] == ["tfd:", "0"] and fields[2:3] == ["events:"]
    )
    return any(int(fields[3], 16) & _EPOLLIN for fields in polled)
