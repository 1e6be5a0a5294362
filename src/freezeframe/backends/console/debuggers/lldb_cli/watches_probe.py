"""Runs inside LLDB: watchpoints.

One on a variable in a function's frame ends when that function returns: from then on its memory is
another's. LLDB does not know that, so the place where the caller goes on is a breakpoint of ours,
and the stack pointer tells whether the frame has gone.
"""

from typing import Any

import held_probe as held  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]
import values_probe as values  # type: ignore[import-not-found]

#: how far below its stack pointer a function that calls no other may keep variables
_RED_ZONE = 128
_DEEPEST = 200


class Watched:
    """One watchpoint: what it is on, and how it ends."""

    def __init__(self, value: Any, thread: Any, access: str, condition: Any) -> None:
        self.access, self.condition = access, condition
        #: LLDB's own, which those on one place share
        self.id = 0
        self.address = value.GetLoadAddress()
        self.kind = value.GetType()
        self.text = values.text_of(value)
        self.thread = thread.GetThreadID()
        #: a number or the like, which a write may leave as it was
        self.plain = value.GetValue() is not None
        #: where the stack ends when its frame has gone, and the number of our breakpoint there
        self.end: Any = None
        self.guard: Any = None

    def now(self) -> str:
        where = lldb.SBAddress(self.address, held.target())
        made = held.target().CreateValueFromAddress("watched", where, self.kind)
        return str(values.text_of(made))


def watch(thread: int, level: int, expression: str, access: str, condition: Any) -> dict[str, Any]:
    frame = values.frame_of(held.process(), thread, level)
    value = values.evaluate(frame, expression)
    if value.GetLoadAddress() == lldb.LLDB_INVALID_ADDRESS:
        raise held.Refused(f"`{expression}` has no address: it cannot be watched")
    watched = Watched(value, frame.GetThread(), access, condition)
    _set([*_sharing(watched), watched])
    _guard(watched, frame.GetThread())
    number = held.State.last_watch = held.State.last_watch + 1
    held.State.watched[number] = watched
    return {"number": str(number)}


def _sharing(watched: Any) -> list[Any]:
    """Return the others on the same place: of two there LLDB forgets the first."""
    here = watched.address, watched.kind.GetByteSize()
    return [
        each
        for each in held.State.watched.values()
        if each is not watched and (each.address, each.kind.GetByteSize()) == here
    ]


def _set(together: list[Any]) -> None:
    """Make one watchpoint of LLDB's that sees what all of *together* are to see."""
    for id in {each.id for each in together if each.id}:
        held.target().DeleteWatchpoint(id)
    accesses = {each.access for each in together}
    conditions = {each.condition for each in together}
    error = lldb.SBError()
    reads, writes = accesses != {"write"}, accesses != {"read"}
    first = together[0]
    size = first.kind.GetByteSize()
    made = held.target().WatchAddress(first.address, size, reads, writes, error)
    held.check(error)
    if len(conditions) == len(accesses) == 1 and together[0].condition:
        made.SetCondition(together[0].condition)
    for each in together:
        each.id = made.GetID()


def _guard(watched: Any, thread: Any) -> None:
    """Find the frame that a variable goes with; put a breakpoint where its caller goes on."""
    for level in range(min(thread.GetNumFrames(), _DEEPEST)):
        frame = thread.GetFrameAtIndex(level)
        pointer = frame.GetSP()
        if level == 0 and watched.address < pointer - _RED_ZONE:
            return
        if level and watched.address < pointer:
            watched.end = pointer
            made = held.target().BreakpointCreateByAddress(frame.GetPC())
            made.SetThreadID(thread.GetThreadID())
            made.SetCondition(f"(unsigned long)$sp >= {pointer}ul")
            watched.guard = made.GetID()
            return


def guards() -> set[int]:
    return {each.guard for each in held.State.watched.values() if each.guard is not None}


def left(thread: Any) -> list[int]:
    """Remove the watchpoints on frames that a thread, which has stopped, has left."""
    here = thread.GetThreadID(), thread.GetFrameAtIndex(0).GetSP()
    gone = [
        number
        for number, each in held.State.watched.items()
        if each.end is not None and each.thread == here[0] and each.end <= here[1]
    ]
    for number in gone:
        unwatch(number)
    return gone


def seen(id: int, frame: Any) -> Any:
    """Tell the value before and now, and the line that wrote it where the program has gone on.

    None where no watchpoint there waits for such an access.
    """
    here = {number: each for number, each in held.State.watched.items() if each.id == id}
    entry = _before(frame)
    told = []
    for number, watched in here.items():
        before, watched.text = watched.text, watched.now()
        if not _wants(watched, before != watched.text, list(here.values()), frame):
            continue
        hit = {"number": number, "old": before, "new": watched.text}
        if entry is not None and entry.GetLine() != frame.GetLineEntry().GetLine():
            hit.update(path=entry.GetFileSpec().fullpath, line=entry.GetLine())
        told.append(hit)
    return {**told[0], "also": told[1:]} if told else None


def _wants(watched: Any, changed: bool, together: list[Any], frame: Any) -> bool:
    # One on reads stops for writes too. Before LLDB 17 one on writes stops for those that change
    # nothing.
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
    """Return the line of the instruction before: hardware tells when it has done its work."""
    target, function = held.target(), frame.GetFunction()
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
    watched = held.State.watched.pop(number, None)
    if watched is None:
        return
    if watched.guard is not None:
        held.target().BreakpointDelete(watched.guard)
    held.target().DeleteWatchpoint(watched.id)
    if others := _sharing(watched):
        _set(others)
