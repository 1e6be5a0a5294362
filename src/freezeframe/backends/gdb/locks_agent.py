# mypy: ignore-errors
"""Runs inside gdb: finds the lock that a thread waits for inside the C library, and its holder."""

import json
import re

import gdb

_LOCK = re.compile(r"_*(?:GI_+)?pthread_(mutex_(?:timed|clock)?lock|rwlock_(?:rd|wr)lock)")
#: innermost frames to search for the locking function
_NEAR = 6
#: the first argument of the system call, whose register the kernel preserves: the mutex word
_ARGUMENTS = ("rdi", "x0")
#: bytes from that word to the owner's thread id, in glibc
_OWNER = 8


def _locking():
    """Return level and lock of the selected thread's frame that waits in the C library; or None."""
    frame, found = gdb.newest_frame(), None
    library = gdb.solib_name(frame.pc())
    for level in range(_NEAR):
        if frame is None or gdb.solib_name(frame.pc()) != library:
            break
        match = _LOCK.fullmatch(frame.name() or "")
        if match is not None:
            found = level, match[1]
        frame = frame.older()
    return found if found is not None and found[0] > 0 else None


def _holder():
    """Return which thread holds the mutex that the selected thread waits for; None if unknown."""
    process = gdb.selected_inferior()
    for register in _ARGUMENTS:
        try:
            word = int(gdb.newest_frame().read_register(register))
            owner = int.from_bytes(bytes(process.read_memory(word + _OWNER, 4)), "little")
        except (ValueError, gdb.error):
            continue
        for thread in process.threads():
            if thread.ptid[1] == owner:
                same = thread.num == gdb.selected_thread().num
                return "this thread itself" if same else f"thread {thread.global_num}"
        return None
    return None


def freezeframe_lock():
    """Return the level of the frame in which the selected thread waits for a lock, and the text
    for it; None if it does not wait for one."""
    found = _locking()
    if found is None:
        return None
    level, lock = found
    holder = _holder() if lock.startswith("mutex") else None
    return level, f"in pthread_{lock}" + (f", held by {holder}" if holder else "")


def freezeframe_print_lock():
    """Print that level and text."""
    gdb.write(json.dumps(freezeframe_lock()) + "\n")
