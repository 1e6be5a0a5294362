"""Runs inside LLDB: where the program stands and why, from LLDB's own structures."""

import json
import re
from collections.abc import Callable
from typing import Any

import exceptions_probe as exceptions  # type: ignore[import-not-found]
import held_probe as held  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]
import marks_probe as marks  # type: ignore[import-not-found]
import values_probe as values  # type: ignore[import-not-found]
import watches_probe as watches  # type: ignore[import-not-found]

#: frames in which the end of a C++ program that nobody wanted is told
_NEAR = 24
_TERMINATE = re.compile(r"std::terminate|__cxa_r?e?throw|__verbose_terminate")
_IDLE = (lldb.eStopReasonNone, lldb.eStopReasonInvalid)
#: why threads stop that did not stop because another one did
_OWN = (lldb.eStopReasonBreakpoint, lldb.eStopReasonWatchpoint, lldb.eStopReasonSignal)
_Told = dict[str, Any]


def moved(move: Callable[[], None]) -> _Told:
    """Let the program go by *move*; tell where it stands then.

    Where several threads stopped in one moment, the next of them is told of first.
    """
    waiting = _next_waiting()
    if waiting is not None:
        return _told_of(waiting)
    ahead, held.State.ahead = held.State.ahead, None
    before = _registers(ahead) if ahead is not None else None
    move()
    # LLDB 21 and later go from a breakpoint that was not hit, but told all the same, by hitting
    # it: nothing of the program has run then.
    if ahead is not None and before is not None and _registers(ahead, hit=True) == before:
        move()
    told = stop()
    while told.get("stop", {}).get("unwanted"):
        held.check(held.process().Continue())
        told = stop()
    return told


def stop() -> _Told:
    """Tell where the program stands, or how it ended."""
    process = held.process()
    if process.GetState() in (lldb.eStateExited, lldb.eStateDetached):
        code = process.GetExitStatus()
        # A code that could as well be a signal: the packets of LLDB's server tell.
        packets = held.run("process plugin packet history")[1] if 0 < code < 65 else ""
        return {"exit": code, "packets": packets[-4000:]}
    thread = _stopped_thread(process)
    standing = {_place(each) for each in process}
    held.State.told &= standing
    own = [each for each in process if each.GetStopReason() in _OWN]
    held.State.waiting = [
        each.GetThreadID()
        for each in own
        if _place(each) not in held.State.told and each.GetThreadID() != thread.GetThreadID()
    ]
    return _told_of(thread)


def _told_of(thread: Any) -> _Told:
    frame = thread.GetFrameAtIndex(0)
    entry = frame.GetLineEntry()
    told: _Told = {
        "thread": thread.GetThreadID(),
        "path": entry.GetFileSpec().fullpath if entry.IsValid() else None,
        "line": entry.GetLine() or None,
        "function": frame.GetFunctionName(),
        "numbers": [],
        "reason": "other",
    }
    held.State.told.add(_place(thread))
    _REASONS.get(thread.GetStopReason(), _other)(thread, told)
    held.State.ahead = None
    if told["reason"] in ("breakpoint", "step", "other"):
        # A step that ends where a breakpoint lies has come to it.
        here = {str(number) for number in _at(frame.GetPC())}
        if here and told["reason"] != "breakpoint":
            held.State.ahead = (thread.GetThreadID(), frame.GetPC())
        told["numbers"] = sorted({*told["numbers"], *here})
    gone = watches.left(thread)
    if gone:
        first, *others = [{"number": number, "ended": True} for number in gone]
        told["watch"] = {**first, "also": others}
        if told["reason"] == "breakpoint" and not told["numbers"]:
            told["reason"] = "watchpoint"
    told["made"] = marks.bound()
    held.State.stop = told
    return {"stop": told}


def _place(thread: Any) -> tuple[int, int, int]:
    frame = thread.GetFrameAtIndex(0)
    return thread.GetThreadID(), frame.GetPC(), frame.GetSP()


def _next_waiting() -> Any:
    """Return the next thread that stopped together with the one that was told of last."""
    process = held.process()
    while held.State.waiting:
        thread = process.GetThreadByID(held.State.waiting.pop(0))
        if thread.IsValid() and (thread.GetStopReason() != _OWN[0] or _hit(thread)):
            process.SetSelectedThread(thread)
            return thread
    return None


def _hit(thread: Any) -> list[int]:
    """Return the numbers of the breakpoints that a thread stopped at, as far as they are there."""
    numbers = range(0, thread.GetStopReasonDataCount(), 2)
    found = [thread.GetStopReasonDataAtIndex(index) for index in numbers]
    # LLDB's own have numbers below 0.
    own = [number for number in found if number < 1 << 31]
    return [number for number in own if held.target().FindBreakpointByID(number).IsValid()]


def _registers(at: tuple[int, int], hit: bool = False) -> Any:
    """Return the registers of a thread that stands there, with *hit* for a breakpoint's sake."""
    process = held.process()
    thread = process.GetThreadByID(at[0])
    if process.GetState() != lldb.eStateStopped or not thread.IsValid():
        return None
    frame = thread.GetFrameAtIndex(0)
    if frame.GetPC() != at[1] or (hit and thread.GetStopReason() != lldb.eStopReasonBreakpoint):
        return None
    return [each.GetValue() for each in frame.GetRegisters().GetValueAtIndex(0)]


def _stopped_thread(process: Any) -> Any:
    chosen = process.GetSelectedThread()
    if chosen.IsValid() and chosen.GetStopReason() not in _IDLE:
        return chosen
    for thread in process:
        if thread.GetStopReason() not in _IDLE:
            process.SetSelectedThread(thread)
            return thread
    return chosen


def _at(address: int) -> list[int]:
    """Return the user's breakpoints at an address."""
    ours = {*held.State.filters, *watches.guards()}
    return [
        each.GetID()
        for each in held.target().breakpoint_iter()
        if each.GetID() not in ours and each.FindLocationByAddress(address).IsValid()
    ]


# --- why ----------------------------------------------------------------------------------------


def _other(thread: Any, told: _Told) -> None:
    told["description"] = thread.GetStopDescription(400)


def _at_breakpoint(thread: Any, told: _Told) -> None:
    hit = _hit(thread)
    filters = [held.State.filters[number] for number in hit if number in held.State.filters]
    told["reason"] = "exception" if filters else "breakpoint"
    told["numbers"] = [str(number) for number in hit if number not in watches.guards()]
    if not filters:
        return
    name = told["filter"] = filters[0]
    if name in ("throw", "catch"):
        thrown = exceptions.thrown(thread.GetFrameAtIndex(0), name)
        types = thrown.pop("types")
        told["exception"] = thrown
        wanted = held.State.types.get(name) or ""
        told["unwanted"] = bool(wanted and types) and not exceptions.is_of_type(types, wanted)


def _at_watchpoint(thread: Any, told: _Told) -> None:
    told["reason"] = "watchpoint"
    seen = watches.seen(thread.GetStopReasonDataAtIndex(0), thread.GetFrameAtIndex(0))
    told["watch"] = seen
    told["unwanted"] = seen is None


def _signalled(thread: Any, told: _Told) -> None:
    told["reason"] = "signal"
    told["description"] = thread.GetStopDescription(400)
    number = thread.GetStopReasonDataAtIndex(0)
    told["signal"] = held.process().GetUnixSignals().GetSignalAsCString(number) or ""
    if told["signal"] == "SIGABRT":
        frames = (thread.GetFrameAtIndex(index) for index in range(_NEAR))
        if any(_TERMINATE.search(frame.GetFunctionName() or "") for frame in frames):
            told["reason"], told["filter"] = "exception", "uncaught"


def _reported(thread: Any, told: _Told) -> None:
    """A sanitizer has found something."""
    told["reason"] = "exception"
    stream = lldb.SBStream()
    thread.GetStopReasonExtendedInfoAsJSON(stream)
    found = json.loads(stream.GetData() or "{}")
    told["exception"] = {
        "type": found.get("instrumentation_class", "sanitizer"),
        "message": found.get("description") or thread.GetStopDescription(400),
        "mode": "",
    }


def _stepped(thread: Any, told: _Told) -> None:
    told["reason"] = "step"
    returned = thread.GetStopReturnValue()
    if returned.IsValid() and returned.GetError().Success():
        at = (thread.GetThreadID(), 0)
        told["returned"] = values.told(returned, at, "returned", "$returned")


_REASONS = {
    lldb.eStopReasonBreakpoint: _at_breakpoint,
    lldb.eStopReasonWatchpoint: _at_watchpoint,
    lldb.eStopReasonSignal: _signalled,
    lldb.eStopReasonInstrumentation: _reported,
    lldb.eStopReasonPlanComplete: _stepped,
    lldb.eStopReasonTrace: _stepped,
}
