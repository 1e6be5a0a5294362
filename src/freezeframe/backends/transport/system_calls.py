"""What the threads of a process wait for in the kernel, as /proc tells."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator

#: System calls that fail with EINTR when the process is stopped and resumed, without any signal
#: handler (signal(7)): epoll_wait, epoll_pwait, epoll_pwait2, semop, semtimedop, rt_sigtimedwait.
_DISTURBED = {
    "x86_64": frozenset({232, 281, 441, 65, 220, 128}),
    "aarch64": frozenset({22, 441, 193, 192, 137}),
}


#: read and readv; epoll_wait, epoll_pwait and epoll_pwait2
_READS = {"x86_64": frozenset({0, 19}), "aarch64": frozenset({63, 65})}
_EPOLLS = {"x86_64": frozenset({232, 281, 441}), "aarch64": frozenset({22, 441})}
#: threads, and descriptors of a process that are looked at
_MOST = 1000
_EPOLLIN = 1


def is_disturbed_by_a_halt(pid: int) -> bool:
    """Whether a thread is in a system call that a halt makes fail; False where none can be seen."""
    numbers = _DISTURBED.get(platform.machine(), frozenset())
    return any(number in numbers for number, _ in _calls(pid))


def waits_for_standard_input(pid: int) -> bool:
    """Whether a thread is blocked in reading descriptor 0, or polls it; False where none is seen.

    An event loop (node's) polls descriptors with epoll: /proc tells which ones.
    """
    machine = platform.machine()
    reads, epolls = _READS.get(machine, frozenset()), _EPOLLS.get(machine, frozenset())
    for number, first in _calls(pid):
        if (number in reads and first == 0) or (number in epolls and _polls_zero(pid, first)):
            return True
    return False


def _calls(pid: int) -> Iterator[tuple[int, int]]:
    """Yield the number and the first argument of the call that each blocked thread is in."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads[:_MOST]:
        try:
            with open(f"/proc/{pid}/task/{thread}/syscall", encoding="ascii") as file:
                words = file.read().split()
            # `running`, or `-1 SP PC` of a thread that is blocked outside of any call.
            if len(words) > 3:
                yield int(words[0]), int(words[1], 16)
        except (OSError, ValueError):
            continue


def _polls_zero(pid: int, epoll: int) -> bool:
    try:
        with open(f"/proc/{pid}/fdinfo/{epoll}", encoding="ascii") as file:
            lines = [line.split() for line in file.readlines()[:_MOST]]
    except OSError:
        return False
    # `tfd:        0 events:       19 data: …`
    polled = (words for words in lines if words[:2] == ["tfd:", "0"] and words[2:3] == ["events:"])
    return any(int(words[3], 16) & _EPOLLIN for words in polled)
