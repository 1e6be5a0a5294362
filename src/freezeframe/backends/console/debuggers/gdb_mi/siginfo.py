"""What the kernel recorded about the signal that the program stopped for (`$_siginfo`)."""

from __future__ import annotations

from freezeframe.backends.native import describe_fault
from freezeframe.errors import DebuggerError

from .mi_channel import MiChannel

#: si_code of a signal that the kernel sent, not a process
_BY_KERNEL = 128
_CODE, _ADDRESS = "$_siginfo.si_code", "(long)$_siginfo._sifields._sigfault.si_addr"


async def is_from_kernel(channel: MiChannel) -> bool:
    """Whether the kernel sent the signal, not a process."""
    try:
        return await _read(channel, _CODE) == _BY_KERNEL
    except (DebuggerError, ValueError):
        return False


async def fault(channel: MiChannel, name: str) -> str | None:
    """Return what the program did to get the signal *name*; None if that is not known."""
    if name not in ("SIGSEGV", "SIGBUS", "SIGFPE"):
        return None
    try:
        code, address = [await _read(channel, each) for each in (_CODE, _ADDRESS)]
    except (DebuggerError, ValueError):
        return None
    return describe_fault(name, code, address)


async def _read(channel: MiChannel, expression: str) -> int:
    body = await channel.request(f"-data-evaluate-expression {expression}")
    return int(str(body.get("value")), 0)
