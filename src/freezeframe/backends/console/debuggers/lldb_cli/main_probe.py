"""Runs inside LLDB: one command, `ff`, that takes and answers JSON.

LLDB is told to wait for the program by itself (`SetAsync(False)`): a command that lets it run is
answered by the next stop, which LLDB's own structures tell.
"""

import contextlib
import json
import re
import traceback
from typing import Any

import exceptions_probe as exceptions  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]
import machine_probe as machine  # type: ignore[import-not-found]
import values_probe as values  # type: ignore[import-not-found]

Refused = values.Refused
_PREFIX = "@ff "
_FATAL = "SIGSEGV SIGABRT SIGBUS SIGFPE SIGILL SIGSYS"
#: frames in which the end of a C++ program that nobody wanted is told
_NEAR = 24
_TERMINATE = re.compile(r"std::terminate|__cxa_r?e?throw|__verbose_terminate")
_STEPS = {
    "over": lambda thread, error: thread.StepOver(lldb.eOnlyDuringStepping, error),
    "into": lambda thread, error: thread.StepInto(
        None, lldb.LLDB_INVALID_LINE_NUMBER, error, lldb.eOnlyDuringStepping
    ),
    "out": lambda thread, error: thread.StepOut(error),
    "instruction-over": lambda thread, error: thread.StepInstruction(True, error),
    "instruction-into": lambda thread, error: thread.StepInstruction(False, error),
}


class State:
    """What is kept between commands."""

    debugger: Any = None
    #: the numbers of the breakpoints behind exception filters
    filters: dict[int, str] = {}
    signals = ""
    #: by number: address, type and last text of what is watched
    watched: dict[int, list[Any]] = {}


def _target() -> Any:
    return State.debugger.GetSelectedTarget()


def _process() -> Any:
    return _target().GetProcess()


def _run(command: str) -> tuple[bool, str]:
    result = lldb.SBCommandReturnObject()
    State.debugger.GetCommandInterpreter().HandleCommand(command, result)
    said = (result.GetOutput() or "") + (result.GetError() or "")
    return bool(result.Succeeded()), said


# --- how it begins ------------------------------------------------------------------------------


def open_target(program: str) -> None:
    error = lldb.SBError()
    State.debugger.CreateTarget(program, None, None, True, error)
    machine.check(error)


def launch(streams: list[str], told: dict[str, Any]) -> dict[str, Any]:
    info = lldb.SBLaunchInfo(told["args"])
    info.SetWorkingDirectory(told["cwd"])
    info.SetEnvironmentEntries(told["env"], False)
    info.SetLaunchFlags(lldb.eLaunchFlagStopAtEntry)
    for number, path in enumerate(streams):
        info.AddOpenFileAction(number, path, number == 0, number != 0)
    error = lldb.SBError()
    _target().Launch(info, error)
    machine.check(error)
    _signals()
    return _stop()


def attach(pid: int) -> dict[str, Any]:
    error = lldb.SBError()
    _target().AttachToProcessWithID(lldb.SBListener(), pid, error)
    machine.check(error)
    _signals()
    return _stop()


def core(path: str) -> dict[str, Any]:
    error = lldb.SBError()
    _target().LoadCore(path, error)
    machine.check(error)
    return _stop()


def select(thread: int, level: int) -> None:
    """Make a frame the one that LLDB's own words speak of."""
    chosen = _thread(thread)
    _process().SetSelectedThread(chosen)
    chosen.SetSelectedFrame(level)


def pid() -> int:
    return int(_process().GetProcessID())


def kill() -> None:
    machine.check(_process().Kill())


def detach() -> None:
    machine.check(_process().Detach())


def save_core(path: str) -> None:
    good, said = _run(f'process save-core --style full "{path}"')
    if not good:
        raise Refused(said)


# --- running ------------------------------------------------------------------------------------


def go(only: Any = None) -> dict[str, Any]:
    values.shown.clear()
    process = _process()
    held = [each for each in process if only is not None and each.GetThreadID() != only]
    for each in held:
        each.Suspend()
    try:
        machine.check(process.Continue())
    finally:
        for each in held:
            each.Resume()
    return _stop()


def step(kind: str, thread: int) -> dict[str, Any]:
    values.shown.clear()
    error = lldb.SBError()
    _STEPS[kind](_thread(thread), error)
    machine.check(error)
    return _stop()


def jump(thread: int, path: str, line: int) -> None:
    values.shown.clear()
    machine.check(_thread(thread).JumpToLine(lldb.SBFileSpec(path, False), line))


def raw(command: str) -> dict[str, Any]:
    process = _process()
    before = process.GetStopID()
    good, said = _run(command)
    process = _process()
    moved = process.IsValid() and (
        process.GetStopID() != before or process.GetState() == lldb.eStateExited
    )
    if moved:
        values.shown.clear()
    return {"good": good, "said": said, **(_stop() if moved else {})}


def _thread(number: int) -> Any:
    thread = _process().GetThreadByID(number)
    if not thread.IsValid():
        raise Refused("there is no such thread")
    return thread


def _stop() -> dict[str, Any]:
    """Tell where the program stands, or how it ended."""
    process = _process()
    if process.GetState() in (lldb.eStateExited, lldb.eStateDetached):
        code = process.GetExitStatus()
        # A code that could as well be a signal: the packets of LLDB's server tell.
        packets = _run("process plugin packet history")[1] if 0 < code < 65 else ""
        return {"exit": code, "packets": packets[-4000:]}
    thread = _stopped_thread(process)
    frame = thread.GetFrameAtIndex(0)
    entry = frame.GetLineEntry()
    told: dict[str, Any] = {
        "thread": thread.GetThreadID(),
        "path": entry.GetFileSpec().fullpath if entry.IsValid() else None,
        "line": entry.GetLine() or None,
        "function": frame.GetFunctionName(),
        "numbers": [],
        "reason": "other",
    }
    _REASONS.get(thread.GetStopReason(), _other)(thread, told)
    if told["reason"] in ("breakpoint", "step", "other"):
        # A step that ends where a breakpoint lies has come to it.
        here = {str(number) for number in _at(frame.GetPC())}
        told["numbers"] = sorted({*told["numbers"], *here})
    return {"stop": told}


def _stopped_thread(process: Any) -> Any:
    idle = (lldb.eStopReasonNone, lldb.eStopReasonInvalid)
    chosen = process.GetSelectedThread()
    if chosen.IsValid() and chosen.GetStopReason() not in idle:
        return chosen
    for thread in process:
        if thread.GetStopReason() not in idle:
            process.SetSelectedThread(thread)
            return thread
    return chosen


def _at(address: int) -> list[int]:
    return [
        each.GetID()
        for each in _target().breakpoint_iter()
        if each.GetID() not in State.filters and each.FindLocationByAddress(address).IsValid()
    ]


def _other(thread: Any, told: dict[str, Any]) -> None:
    told["description"] = thread.GetStopDescription(400)


def _at_breakpoint(thread: Any, told: dict[str, Any]) -> None:
    hit = range(0, thread.GetStopReasonDataCount(), 2)
    numbers = [thread.GetStopReasonDataAtIndex(index) for index in hit]
    filters = [State.filters[number] for number in numbers if number in State.filters]
    told["reason"] = "exception" if filters else "breakpoint"
    told["numbers"] = [str(number) for number in numbers]
    if filters:
        told["filter"] = filters[0]


def _at_watchpoint(thread: Any, told: dict[str, Any]) -> None:
    number = thread.GetStopReasonDataAtIndex(0)
    told["reason"] = "watchpoint"
    watched = State.watched.get(number)
    if watched is not None:
        before, watched[2] = watched[2], _watched_text(*watched[:2])
        told["watch"] = {"number": number, "old": before, "new": watched[2]}


def _signalled(thread: Any, told: dict[str, Any]) -> None:
    told["reason"] = "signal"
    told["description"] = thread.GetStopDescription(400)
    number = thread.GetStopReasonDataAtIndex(0)
    told["signal"] = _process().GetUnixSignals().GetSignalAsCString(number) or ""
    if told["signal"] == "SIGABRT":
        frames = (thread.GetFrameAtIndex(index) for index in range(_NEAR))
        if any(_TERMINATE.search(frame.GetFunctionName() or "") for frame in frames):
            told["reason"], told["filter"] = "exception", "uncaught"


def _stepped(thread: Any, told: dict[str, Any]) -> None:
    told["reason"] = "step"
    returned = thread.GetStopReturnValue()
    if returned.IsValid() and returned.GetError().Success():
        at = (thread.GetThreadID(), 0)
        told["returned"] = values.told(returned, at, "returned", "$returned")


_REASONS = {
    lldb.eStopReasonBreakpoint: _at_breakpoint,
    lldb.eStopReasonWatchpoint: _at_watchpoint,
    lldb.eStopReasonSignal: _signalled,
    lldb.eStopReasonPlanComplete: _stepped,
    lldb.eStopReasonTrace: _stepped,
}


# --- breakpoints --------------------------------------------------------------------------------


def break_at(place: dict[str, Any], condition: Any) -> dict[str, Any]:
    target = _target()
    if place.get("address") is not None:
        made = _break_at_address(target, place["address"])
    elif place.get("function") is not None:
        made = target.BreakpointCreateByName(place["function"], place.get("module"))
        if not made.GetNumLocations() and not place.get("module"):
            # A generic function: its name goes on behind the one that the user knows.
            name = re.escape(place["function"])
            again = target.BreakpointCreateByRegex(rf"(^|::){name}(<.*>)?(::h[0-9a-f]+)?$")
            made, other = (again, made) if again.GetNumLocations() else (made, again)
            target.BreakpointDelete(other.GetID())
    else:
        made = target.BreakpointCreateByLocation(place["path"], place["line"])
    if condition:
        made.SetCondition(condition)
    told: dict[str, Any] = {"number": str(made.GetID()), "bound": made.GetNumLocations() > 0}
    if told["bound"]:
        entry = made.GetLocationAtIndex(0).GetAddress().GetLineEntry()
        if entry.IsValid():
            told.update(path=entry.GetFileSpec().fullpath, line=entry.GetLine())
    return told


def _break_at_address(target: Any, address: int) -> Any:
    machine.read(_process(), address, 1)
    return target.BreakpointCreateByAddress(address)


def unbreak(number: int) -> None:
    _target().BreakpointDelete(number)


def filters(names: list[str]) -> None:
    target = _target()
    for number in State.filters:
        target.BreakpointDelete(number)
    State.filters = {}
    plus = lldb.eLanguageTypeC_plus_plus
    for name in names:
        if name == "panic":
            made = target.BreakpointCreateByName("rust_panic")
        elif name in ("throw", "catch"):
            made = target.BreakpointCreateForException(plus, name == "catch", name == "throw")
        else:
            continue
        State.filters[made.GetID()] = name
    stop = "true" if "signal" in names else "false"
    State.signals = f"process handle --stop {stop} --notify {stop} --pass true {_FATAL}"
    _signals()


def _signals() -> None:
    if State.signals:
        _run(State.signals)
    _run("process handle SIGSTOP --stop true --notify false --pass false")


def watch(thread: int, level: int, expression: str, access: str, condition: Any) -> dict[str, Any]:
    frame = values.frame_of(_process(), thread, level)
    value = values.evaluate(frame, expression)
    address, kind = value.GetLoadAddress(), value.GetType()
    if address == lldb.LLDB_INVALID_ADDRESS:
        raise Refused(f"`{expression}` has no address: it cannot be watched")
    error = lldb.SBError()
    reads, writes = access != "write", access != "read"
    made = value.Watch(True, reads, writes, error)
    machine.check(error)
    if condition:
        made.SetCondition(condition)
    State.watched[made.GetID()] = [address, kind, values.text_of(value)]
    return {"number": str(made.GetID())}


def _watched_text(address: int, kind: Any) -> str:
    where = lldb.SBAddress(address, _target())
    return str(values.text_of(_target().CreateValueFromAddress("watched", where, kind)))


def unwatch(number: int) -> None:
    State.watched.pop(number, None)
    _target().DeleteWatchpoint(number)


# --- seeing -------------------------------------------------------------------------------------


def threads() -> list[dict[str, Any]]:
    return [
        {"id": each.GetThreadID(), "name": each.GetName() or f"thread {each.GetIndexID()}"}
        for each in _process()
    ]


def frames(thread: int, start: int, count: int) -> list[dict[str, Any]]:
    told = []
    stopped = _thread(thread)
    for level in range(start, start + count):
        frame = stopped.GetFrameAtIndex(level)
        if not frame.IsValid():
            break
        entry = frame.GetLineEntry()
        has_line = entry.IsValid() and entry.GetLine() > 0
        told.append(
            {
                "function": frame.GetFunctionName() or "??",
                "path": entry.GetFileSpec().fullpath if has_line else None,
                "line": entry.GetLine() if has_line else None,
                "column": entry.GetColumn() or None if has_line else None,
                "module": frame.GetModule().GetFileSpec().GetFilename(),
                "address": hex(frame.GetPC()),
                "arguments": [(v.GetName(), values.text_of(v)) for v in values.arguments(frame)],
            }
        )
    return told


def scope(thread: int, level: int, kind: str) -> list[dict[str, Any]]:
    frame = values.frame_of(_process(), thread, level)
    return list(values.variables(frame, (thread, level), kind))


def exception(thread: int) -> dict[str, Any]:
    """Tell what is known of the exception that a thread stands at."""
    told = _stop()["stop"]
    name = told.get("filter")
    if name in ("throw", "catch"):
        frame = values.frame_of(_process(), thread, 0)
        return dict(exceptions.thrown(frame, _process(), name, _run))
    mode = "unhandled" if name == "uncaught" else None
    return {"type": "panic" if name == "panic" else "exception", "message": "", "mode": mode}


def arguments(thread: int, level: int) -> list[str]:
    frame = values.frame_of(_process(), thread, level)
    return [value.GetName() for value in values.arguments(frame)]


def children(
    thread: int, level: int, expression: str, start: int, count: Any
) -> list[dict[str, Any]]:
    frame = values.frame_of(_process(), thread, level)
    return list(values.children(frame, (thread, level), expression, start, count))


def evaluate(thread: int, level: int, expression: str, how: str) -> Any:
    frame = values.frame_of(_process(), thread, level)
    value = values.evaluate(frame, expression)
    if how == "truth":
        return values.is_true(value)
    if how == "text":
        return values.brief(value)
    values.shown.pop((thread, level, expression), None)
    return values.result(value, (thread, level), expression)


# --- machine level ------------------------------------------------------------------------------


def read_memory(address: int, count: int) -> str:
    return str(machine.read_memory(_process(), address, count))


def write_memory(address: int, data: str) -> int:
    return int(machine.write_memory(_process(), address, data))


def disassemble(address: int, count: int, offset: int) -> list[dict[str, Any]]:
    return list(machine.disassemble(_target(), address, count, offset))


# --- the command --------------------------------------------------------------------------------

_KNOWN = {
    each.__name__: each
    for each in (
        open_target,
        launch,
        attach,
        core,
        pid,
        select,
        kill,
        detach,
        save_core,
        go,
        step,
        jump,
        raw,
        break_at,
        unbreak,
        filters,
        watch,
        unwatch,
        threads,
        frames,
        scope,
        exception,
        arguments,
        children,
        evaluate,
        read_memory,
        write_memory,
        disassemble,
    )
}


def ff(debugger: Any, command: str, context: Any, result: Any, _: Any) -> None:
    name, *words = json.loads(command)
    try:
        answer = {"answer": _KNOWN[name](*words)}
    except Refused as error:
        answer = {"error": str(error)}
    except Exception:
        answer = {"error": traceback.format_exc(limit=-2), "bug": True}
    result.AppendMessage(_PREFIX + json.dumps(answer))


def __lldb_init_module(debugger: Any, _: Any) -> None:
    State.debugger = debugger
    debugger.SetAsync(False)
    with contextlib.suppress(Exception):
        debugger.HandleCommand("command script delete ff")
    debugger.HandleCommand(f"command script add -o -f {__name__}.ff ff")
    print(f"{_PREFIX}{json.dumps({'hello': debugger.GetVersionString()})}")
