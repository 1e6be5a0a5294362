"""What the threads of a process wait for in the kernel, as /proc tells."""

from __future__ import annotations

import os
import platform

#: System calls that fail with EINTR when the process is stopped and resumed, without any signal
#: handler (signal(7)): epoll_wait, epoll_pwait, epoll_pwait2, semop, semtimedop, rt_sigtimedwait.
_DISTURBED = {
    "x86_64": frozenset({232, 281, 441, 65, 220, 128}),
    "aarch64": frozenset({22, 441, 193, 192, 137}),
}


def is_disturbed_by_a_halt(pid: int) -> bool:
    """Whether a thread is in a system call that a halt makes fail; False where none can be seen."""
    numbers = _DISTURBED.get(platform.machine(), frozenset())
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    for thread in threads[:1000]:
        try:
            with open(f"/proc/{pid}/task/{thread}/syscall", encoding="ascii") as file:
                number = file.read().split()[0]
        except (OSError, IndexError):
            continue
        if number.isdecimal() and int(number) in numbers:
            return True
    return False
