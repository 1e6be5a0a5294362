"""What a signal does to a process: ends it, runs a handler, or nothing."""

from __future__ import annotations

import re
import signal

#: sent by the kernel for what the program does itself, or by `abort`: a handler does not undo it
_FAULTS = frozenset({"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGSYS", "SIGTRAP"})
#: without a handler, nothing happens
_HARMLESS = frozenset({"SIGCHLD", "SIGCLD", "SIGURG", "SIGWINCH", "SIGCONT", "SIGPWR", "SIGINFO"})
_STOPS = frozenset({"SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU"})


def ends(pid: int | None, name: str) -> bool:
    """Whether a signal ends a process; true where that is unknown."""
    if name in _FAULTS:
        return True
    if name in _HARMLESS | _STOPS:
        return False
    number = getattr(signal, name, None)
    if pid is None or not isinstance(number, int):
        return True
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            status = file.read()
    except OSError:
        return True
    masks = re.findall(r"^Sig(?:Cgt|Ign):\s*([0-9a-f]+)$", status, re.MULTILINE)
    return not any(int(mask, 16) >> (number - 1) & 1 for mask in masks)
