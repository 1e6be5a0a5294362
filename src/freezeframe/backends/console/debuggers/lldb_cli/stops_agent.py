"""Runs inside LLDB: reports where and why the program stopped, from LLDB's own structures."""

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import breakpoints_agent as breakpoints  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]
import state_agent as state  # type: ignore[import-not-found]
import values_agent as values  # type: ignore[import-not-found]
import watchpoints_agent as watches  # type: ignore[import-not-found]

#: innermost frames to search for the abnormal end of a C++ program
_NEAR = 24
_TERMINATE = re.compile(r"std::terminate|__cxa_r?e?throw|__verbose_terminate")
_IDLE = (lldb.eStopReasonNone, lldb.eStopReasonInvalid)
#: stop reasons of a thread itself, as opposed to stopping with another one
_OWN = (lldb.eStopReasonBreakpoint, lldb.eStopReasonWatchpoint, lldb.eStopReasonSignal)
_Report = dict[str, Any]


def run_until_stop(resume: Callable[[], None]) -> _Report:
    """Resume the program by *resume* and report its next stop.

    If several threads stopped together, the next of them is reported first.
    """
    waiting = _next_waiting()
    if waiting is not None:
        return _report_stop(waiting)
    ahead, state.State.ahead = state.State.ahead, None
    before = _registers(ahead) if ahead is not None else None
    resume()
    # LLDB 21 and later resume from a breakpoint that was reported but not hit by hitting it: then
    # the program has not run.
    if ahead is not None and before is not None and _registers(ahead, hit=True) == before:
        resume()
    report = stop()
    while report.get("stop", {}).get("unwanted"):
        state.check(state.process().Continue())
        report = stop()
    return report


def stop() -> _Report:
    """Report where the program stopped, or how it ended."""
    process = state.process()
    if process.GetState() in (lldb.eStateExited, lldb.eStateDetached):
        code = process.GetExitStatus()
        # The code could also be a signal: the packets of LLDB's server tell which.
        packets = state.run("process plugin packet history")[1] if 0 < code < 65 else ""
        return {"exit": code, "packets": packets[-4000:]}
    thread = _stopped_thread(process)
    stopped_at = {_location(each) for each in process}
    state.State.reported &= stopped_at
    own = [each for each in process if each.GetStopReason() in _OWN]
    state.State.waiting = [
        each.GetThreadID()
        for each in own
        if _location(each) not in state.State.reported
        and each.GetThreadID() != thread.GetThreadID()
    ]
    return _report_stop(thread)


def _report_stop(thread: Any) -> _Report:
    frame = thread.GetFrameAtIndex(0)
    entry = frame.GetLineEntry()
    report: _Report = {
        "thread": thread.GetThreadID(),
        "path": entry.GetFileSpec().fullpath if entry.IsValid() else None,
        "line": entry.GetLine() or None,
        "function": frame.GetFunctionName(),
        "numbers": [],
        "reason": "other",
    }
    state.State.reported.add(_location(thread))
    _REASONS.get(thread.GetStopReason(), _other)(thread, report)
    state.State.ahead = None
    if report["reason"] in ("breakpoint", "step", "other"):
        # A step that ends at a breakpoint has reached it.
        here = {str(number) for number in _at(frame.GetPC())}
        if here and report["reason"] != "breakpoint":
            state.State.ahead = (thread.GetThreadID(), frame.GetPC())
        report["numbers"] = sorted({*report["numbers"], *here})
    gone = watches.remove_out_of_scope(thread)
    if gone:
        first, *others = [{"number": number, "ended": True} for number in gone]
        report["watch"] = {**first, "also": others}
        if report["reason"] == "breakpoint" and not report["numbers"]:
            report["reason"] = "watchpoint"
    report["made"] = breakpoints.bound()
    state.State.stop = report
    return {"stop": report}


def _location(thread: Any) -> tuple[int, int, int]:
    frame = thread.GetFrameAtIndex(0)
    return thread.GetThreadID(), frame.GetPC(), frame.GetSP()


def _next_waiting() -> Any:
    """Return the next thread that stopped together with the one reported last."""
    process = state.process()
    while state.State.waiting:
        thread = process.GetThreadByID(state.State.waiting.pop(0))
        if thread.IsValid() and (thread.GetStopReason() != _OWN[0] or _hit(thread)):
            process.SetSelectedThread(thread)
            return thread
    return None


def _hit(thread: Any) -> list[int]:
    """Return the numbers of the breakpoints that a thread stopped at, if they still exist."""
    numbers = range(0, thread.GetStopReasonDataCount(), 2)
    found = [thread.GetStopReasonDataAtIndex(index) for index in numbers]
    # LLDB's internal breakpoints have negative numbers.
    own = [state.State.replaced.get(number, number) for number in found if number < 1 << 31]
    return [number for number in own if state.target().FindBreakpointByID(number).IsValid()]


def _registers(at: tuple[int, int], hit: bool = False) -> Any:
    """Return a thread's registers if it is at *at*; with *hit* only if it hit a breakpoint."""
    process = state.process()
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
    internal = {*state.State.filters, *watches.guards()}
    there = [
        each.GetID()
        for each in state.target().breakpoint_iter()
        if each.GetID() not in internal and each.FindLocationByAddress(address).IsEnabled()
    ]
    return [state.State.replaced.get(number, number) for number in there]


# --- stop reasons -------------------------------------------------------------------------------


def _other(thread: Any, report: _Report) -> None:
    report["description"] = thread.GetStopDescription(400)


def _at_breakpoint(thread: Any, report: _Report) -> None:
    hit = _hit(thread)
    filters = [state.State.filters[number] for number in hit if number in state.State.filters]
    report["reason"] = "exception" if filters else "breakpoint"
    report["numbers"] = [str(number) for number in hit if number not in watches.guards()]
    if not filters:
        _add_returned(thread, report)
        return
    name = report["filter"] = filters[0]
    if name in ("throw", "catch"):
        types, message = _exception(thread.GetFrameAtIndex(0), name)
        kind = types[0] if types else "exception"
        report["exception"] = {"type": kind, "message": message, "mode": name}
        limits = [each.strip() for each in (state.State.types.get(name) or "").split(",")]
        report["unwanted"] = bool(any(limits) and types) and not any(
            kind == each or kind.endswith(f"::{each}") for kind in types for each in limits if each
        )


def _exception(frame: Any, mode: str) -> tuple[list[str], str]:
    """Return the types of a C++ exception, its own first, and its message."""
    try:
        first, second = (
            values.evaluate(frame, f"(unsigned long)({each})").GetValueAsUnsigned()
            for each in ("$arg1", "$arg2")
        )
    except state.Refused:
        return [], ""
    agent = sys.modules["cxx_exceptions_agent"]
    found = agent.exception_of(state.process(), mode, first, second)
    return found["types"], found["message"]


def _at_watchpoint(thread: Any, report: _Report) -> None:
    report["reason"] = "watchpoint"
    hits = watches.hits_of(thread.GetStopReasonDataAtIndex(0), thread.GetFrameAtIndex(0))
    report["watch"] = hits
    report["unwanted"] = hits is None


def _signalled(thread: Any, report: _Report) -> None:
    report["reason"] = "signal"
    report["description"] = thread.GetStopDescription(400)
    number = thread.GetStopReasonDataAtIndex(0)
    report["signal"] = state.process().GetUnixSignals().GetSignalAsCString(number) or ""
    if report["signal"] == "SIGABRT":
        frames = (thread.GetFrameAtIndex(index) for index in range(_NEAR))
        if any(_TERMINATE.search(frame.GetFunctionName() or "") for frame in frames):
            report["reason"], report["filter"] = "exception", "uncaught"


def _reported(thread: Any, report: _Report) -> None:
    """A sanitizer reported an error."""
    report["reason"] = "exception"
    stream = lldb.SBStream()
    thread.GetStopReasonExtendedInfoAsJSON(stream)
    found = json.loads(stream.GetData() or "{}")
    # UBSan writes its report later; that of the others is on standard error.
    message = found.get("summary") or found.get("description") or ""
    sanitizer = found.get("instrumentation_class", "sanitizer")
    report["exception"] = {"type": sanitizer, "message": message, "mode": ""}


def _stepped(thread: Any, report: _Report) -> None:
    report["reason"] = "step"
    _add_returned(thread, report)


def expect_returned(thread: Any) -> None:
    """Remember the function that is about to be stepped out of."""
    sys.modules["returned_agent"].begin(thread)


def _add_returned(thread: Any, report: _Report) -> None:
    agent = sys.modules["returned_agent"]
    expression = agent.found(thread)
    if expression == agent.UNKNOWN:
        return
    if expression is None:
        returned = thread.GetStopReturnValue()
    else:
        returned = thread.GetFrameAtIndex(0).EvaluateExpression(expression)
    if returned.IsValid() and returned.GetError().Success():
        at = (thread.GetThreadID(), 0)
        report["returned"] = values.describe(returned, at, "returned", "$returned")


_REASONS = {
    lldb.eStopReasonBreakpoint: _at_breakpoint,
    lldb.eStopReasonWatchpoint: _at_watchpoint,
    lldb.eStopReasonSignal: _signalled,
    lldb.eStopReasonInstrumentation: _reported,
    lldb.eStopReasonPlanComplete: _stepped,
    lldb.eStopReasonTrace: _stepped,
}
