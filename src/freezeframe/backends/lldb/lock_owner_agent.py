"""Runs inside LLDB: finds the thread that holds the mutex another one waits for."""

from typing import Any

import lldb  # type: ignore[import-not-found]

COMMAND = "freezeframe-lock-owner"
#: glibc stores the owner's thread id 8 bytes after the mutex word that the kernel waits on. That
#: word is the first argument of the system call, whose register the kernel preserves.
_REGISTERS, _OFFSET = ("rdi", "x0"), 8


def owner_of(thread: Any) -> int | None:
    """Return the id of the thread that holds the mutex a thread waits for; None if unknown."""
    frame = thread.GetFrameAtIndex(0)
    known = {each.GetThreadID() for each in thread.GetProcess()}
    for name in _REGISTERS:
        register = frame.FindRegister(name)
        if not register.IsValid():
            continue
        error = lldb.SBError()
        at = register.GetValueAsUnsigned() + _OFFSET
        owner = thread.GetProcess().ReadUnsignedFromMemory(at, 4, error)
        return int(owner) if error.Success() and owner in known else None
    return None


def lock_owner(_debugger: Any, command: str, context: Any, result: Any, _state: Any) -> None:
    """Take the id of a thread; print that of the owner."""
    owner = owner_of(context.GetProcess().GetThreadByID(int(command)))
    result.AppendMessage("" if owner is None else f"{owner}")


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -s current -f {__name__}.lock_owner {COMMAND}")
