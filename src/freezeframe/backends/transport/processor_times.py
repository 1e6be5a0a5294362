"""Read from /proc how much processor time a process uses."""

from __future__ import annotations

import os

#: threads of a process that are looked at
_MOST = 1000


def is_runnable(pid: int) -> bool:
    """Return whether a thread of a process computes, or waits for nothing but a processor."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    for thread in threads[:_MOST]:
        try:
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] == b"R":
                    return True
        except (OSError, IndexError):
            continue
    return False


def processor_seconds(pid: int) -> float | None:
    """Return the processor time of a process in seconds; None where /proc does not show it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError, AttributeError):
        return None
