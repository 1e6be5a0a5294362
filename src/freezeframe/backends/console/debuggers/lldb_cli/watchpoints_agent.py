"""Runs inside LLDB: watchpoints.

A watchpoint on a local variable ends when its function returns: from then on other data use that
memory. LLDB does not track this, so we set a breakpoint at the return address, and the stack
pointer shows whether the frame is gone.
"""

from typing import Any

import lldb  # type: ignore[import-not-found]
import state_agent as state  # type: ignore[import-not-found]
import values_agent as values  # type: ignore[import-not-found]

#: how far below its stack pointer a leaf function may keep variables
_RED_ZONE = 128
_DEEPEST = 200


class Watched:
    """One watchpoint: its memory, and how it ends."""

    def __init__(self, value: Any, thread: Any, access: str, condition: Any) -> None:
        self.access, self.condition = access, condition
        #: LLDB's watchpoint, shared by all on one location
        self.id = 0
        self.address = value.GetLoadAddress()
        self.kind = value.GetType()
        self.text = values.text_of(value)
        self.thread = thread.GetThreadID()
        #: a scalar, which a write may leave unchanged
        self.plain = value.GetValue() is not None
        #: the stack pointer at which its frame is gone, and the number of our breakpoint there
        self.end: Any = None
        self.guard: Any = None

    def now(self) -> str:
        where = lldb.SBAddress(self.address, state.target())
        made = state.target().CreateValueFromAddress("watched", where, self.kind)
        return str(values.text_of(made))


def watch(thread: int, level: int, expression: str, access: str, condition: Any) -> dict[str, Any]:
    frame = values.frame_of(state.process(), thread, level)
    value = values.evaluate(frame, expression)
    if value.GetLoadAddress() == lldb.LLDB_INVALID_ADDRESS:
        raise state.Refused(f"`{expression}` has no address: it cannot be watched")
    watched = Watched(value, frame.GetThread(), access, condition)
    _set([*_sharing(watched), watched])
    _guard(watched, frame.GetThread())
    number = state.State.last_watch = state.State.last_watch + 1
    state.State.watched[number] = watched
    return {"number": str(number)}


def _sharing(watched: Any) -> list[Any]:
    """Return the others at the same address: of two there LLDB drops the first."""
    here = watched.address, watched.kind.GetByteSize()
    return [
        each
        for each in state.State.watched.values()
        if each is not watched and (each.address, each.kind.GetByteSize()) == here
    ]


def _set(together: list[Any]) -> None:
    """Create one LLDB watchpoint that covers the accesses of all of *together*."""
    for id in {each.id for each in together if each.id}:
        state.target().DeleteWatchpoint(id)
    accesses = {each.access for each in together}
    conditions = {each.condition for each in together}
    error = lldb.SBError()
    reads, writes = accesses != {"write"}, accesses != {"read"}
    first = together[0]
    size = first.kind.GetByteSize()
    made = state.target().WatchAddress(first.address, size, reads, writes, error)
    state.check(error)
    if len(conditions) == len(accesses) == 1 and together[0].condition:
        made.SetCondition(together[0].condition)
    for each in together:
        each.id = made.GetID()


def _guard(watched: Any, thread: Any) -> None:
    """Find the frame of a variable; set a breakpoint at its return address."""
    for level in range(min(thread.GetNumFrames(), _DEEPEST)):
        frame = thread.GetFrameAtIndex(level)
        pointer = frame.GetSP()
        if level == 0 and watched.address < pointer - _RED_ZONE:
            return
        if level and watched.address < pointer:
            watched.end = pointer
            made = state.target().BreakpointCreateByAddress(frame.GetPC())
            made.SetThreadID(thread.GetThreadID())
            made.SetCondition(f"(unsigned long)$sp >= {pointer}ul")
            watched.guard = made.GetID()
            return


def guards() -> set[int]:
    return {each.guard for each in state.State.watched.values() if each.guard is not None}


def remove_out_of_scope(thread: Any) -> list[int]:
    """Remove the watchpoints on frames that a stopped thread has left; return their numbers."""
    here = thread.GetThreadID(), thread.GetFrameAtIndex(0).GetSP()
    gone = [
        number
        for number, each in state.State.watched.items()
        if each.end is not None and each.thread == here[0] and each.end <= here[1]
    ]
    for number in gone:
        unwatch(number)
    return gone


def hits_of(id: int, frame: Any) -> Any:
    """Return old and new values, and the line that wrote them if the program is past it.

    None if no watchpoint there is for such an access.
    """
    here = {number: each for number, each in state.State.watched.items() if each.id == id}
    entry = _before(frame)
    hits = []
    for number, watched in here.items():
        before, watched.text = watched.text, watched.now()
        if not _is_requested(watched, before != watched.text, list(here.values()), frame):
            continue
        hit = {"number": number, "old": before, "new": watched.text}
        if entry is not None and entry.GetLine() != frame.GetLineEntry().GetLine():
            hit.update(path=entry.GetFileSpec().fullpath, line=entry.GetLine())
        hits.append(hit)
    return {**hits[0], "also": hits[1:]} if hits else None


def _is_requested(watched: Any, changed: bool, together: list[Any], frame: Any) -> bool:
    # A read watchpoint stops for writes too. Before LLDB 17 a write watchpoint stops for writes
    # that change nothing.
    if watched.access == "read" and changed:
        return False
    if watched.access == "write" and not changed and watched.plain:
        return False
    checked = {(each.access, each.condition) for each in together} == {
        (watched.access, watched.condition)
    }
    if checked or not watched.condition:
        return True
    return bool(values.is_true(values.evaluate(frame, watched.condition)))


def _before(frame: Any) -> Any:
    """Return the line of the previous instruction: the processor reports after the access."""
    target, function = state.target(), frame.GetFunction()
    if not function.IsValid():
        return None
    here = frame.GetPC()
    for each in function.GetInstructions(target):
        address = each.GetAddress()
        if address.GetLoadAddress(target) + each.GetByteSize() == here:
            entry = address.GetLineEntry()
            return entry if entry.IsValid() and entry.GetLine() else None
    return None


def unwatch(number: int) -> None:
    watched = state.State.watched.pop(number, None)
    if watched is None:
        return
    if watched.guard is not None:
        state.target().BreakpointDelete(watched.guard)
    state.target().DeleteWatchpoint(watched.id)
    if others := _sharing(watched):
        _set(others)
