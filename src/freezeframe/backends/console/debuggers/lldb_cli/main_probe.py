"""Runs inside LLDB: one command, `ff`, that takes and answers JSON.

LLDB is told to wait for the program by itself (`SetAsync(False)`): a command that lets it run is
answered by the next stop, which LLDB's own structures tell.
"""

import contextlib
import json
import traceback
from typing import Any

import held_probe as held  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]
import machine_probe as machine  # type: ignore[import-not-found]
import marks_probe as marks  # type: ignore[import-not-found]
import stops_probe as stops  # type: ignore[import-not-found]
import values_probe as values  # type: ignore[import-not-found]
import watches_probe as watches  # type: ignore[import-not-found]

_PREFIX = "@ff "
#: what `threads_probe` adds: a step that was interrupted does not end by itself later on
_FORGET_STEPS = "freezeframe-forget-steps"
_STEPS = {
    "over": lambda thread, error: thread.StepOver(lldb.eOnlyDuringStepping, error),
    "into": lambda thread, error: thread.StepInto(
        None, lldb.LLDB_INVALID_LINE_NUMBER, error, lldb.eOnlyDuringStepping
    ),
    "out": lambda thread, error: thread.StepOut(error),
    "instruction-over": lambda thread, error: thread.StepInstruction(True, error),
    "instruction-into": lambda thread, error: thread.StepInstruction(False, error),
}


# --- how it begins ------------------------------------------------------------------------------


def open_target(program: str) -> None:
    error = lldb.SBError()
    held.State.debugger.CreateTarget(program, None, None, True, error)
    held.check(error)


def launch(streams: list[str], told: dict[str, Any]) -> dict[str, Any]:
    info = lldb.SBLaunchInfo(told["args"])
    info.SetWorkingDirectory(told["cwd"])
    info.SetEnvironmentEntries(told["env"], False)
    info.SetLaunchFlags(lldb.eLaunchFlagStopAtEntry)
    for number, path in enumerate(streams):
        info.AddOpenFileAction(number, path, number == 0, number != 0)
    error = lldb.SBError()
    held.target().Launch(info, error)
    held.check(error)
    marks.signals()
    return dict(stops.stop())


def attach(pid: int) -> dict[str, Any]:
    error = lldb.SBError()
    held.target().AttachToProcessWithID(lldb.SBListener(), pid, error)
    held.check(error)
    marks.signals()
    return dict(stops.stop())


def connect(host: str, port: int) -> dict[str, Any]:
    """Join a program through a debug server that holds it."""
    error = lldb.SBError()
    url = f"connect://{host}:{port}"
    held.target().ConnectRemote(held.State.debugger.GetListener(), url, "gdb-remote", error)
    held.check(error)
    marks.signals()
    return dict(stops.stop())


def core(path: str) -> dict[str, Any]:
    error = lldb.SBError()
    held.target().LoadCore(path, error)
    held.check(error)
    return dict(stops.stop())


def select(thread: int, level: int) -> None:
    """Make a frame the one that LLDB's own words speak of."""
    chosen = held.thread(thread)
    held.process().SetSelectedThread(chosen)
    chosen.SetSelectedFrame(level)


def pid() -> int:
    return int(held.process().GetProcessID())


def kill() -> None:
    held.check(held.process().Kill())


def detach() -> None:
    held.check(held.process().Detach())


def save_core(path: str) -> None:
    good, said = held.run(f'process save-core --style full "{path}"')
    if not good:
        raise held.Refused(said)


# --- running ------------------------------------------------------------------------------------


def go(only: Any = None) -> dict[str, Any]:
    values.shown.clear()
    process = held.process()
    others = [each for each in process if only is not None and each.GetThreadID() != only]

    def move() -> None:
        held.run(_FORGET_STEPS)
        held.check(process.Continue())

    for each in others:
        each.Suspend()
    try:
        return dict(stops.moved(move))
    finally:
        for each in others:
            each.Resume()


def step(kind: str, thread: int) -> dict[str, Any]:
    values.shown.clear()

    def move() -> None:
        held.run(_FORGET_STEPS)
        error = lldb.SBError()
        _STEPS[kind](held.thread(thread), error)
        held.check(error)

    return dict(stops.moved(move))


def jump(thread: int, path: str, line: int) -> None:
    values.shown.clear()
    held.check(held.thread(thread).JumpToLine(lldb.SBFileSpec(path, False), line))


def force_return(thread: int, value: str | None) -> None:
    frame = held.thread(thread).GetFrameAtIndex(0)
    returned = lldb.SBValue() if value is None else frame.EvaluateExpression(value)
    if value is not None:
        held.check(returned.GetError())
    held.check(held.thread(thread).ReturnFromFrame(frame, returned))
    values.shown.clear()


def raw(command: str) -> dict[str, Any]:
    process = held.process()
    before = process.GetStopID()
    good, said = held.run(command)
    process = held.process()
    moved = process.IsValid() and (
        process.GetStopID() != before or process.GetState() == lldb.eStateExited
    )
    if moved:
        values.shown.clear()
    return {"good": good, "said": said, **(stops.stop() if moved else {})}


# --- seeing -------------------------------------------------------------------------------------


def threads() -> list[dict[str, Any]]:
    return [
        {"id": each.GetThreadID(), "name": each.GetName() or f"thread {each.GetIndexID()}"}
        for each in held.process()
    ]


def frames(thread: int, start: int, count: int, has_optimized: bool) -> list[dict[str, Any]]:
    told = []
    stopped = held.thread(thread)
    if not start:
        values.gone.clear()
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
                "arguments": [(v.GetName(), values.short(v)) for v in values.arguments(frame)],
            }
        )
        if has_optimized:
            # Known from the first command on, which comes after this file.
            import optimized_probe as optimized  # type: ignore[import-not-found]

            code = optimized.told_of(held.State.debugger, frame, level)
            values.gone[thread, level] = set(code["gone"])
            told[-1]["code"] = code
    return told


def scope(thread: int, level: int, kind: str) -> list[dict[str, Any]]:
    frame = values.frame_of(held.process(), thread, level)
    return list(values.variables(frame, (thread, level), kind))


def exception(thread: int) -> dict[str, Any]:
    """Tell what is known of the exception that a thread stands at."""
    told = held.State.stop
    name = told.get("filter")
    if told.get("exception") is not None:
        return dict(told["exception"])
    mode = "unhandled" if name == "uncaught" else None
    return {"type": "panic" if name == "panic" else "exception", "message": "", "mode": mode}


def arguments(thread: int, level: int) -> list[str]:
    frame = values.frame_of(held.process(), thread, level)
    return [value.GetName() for value in values.arguments(frame)]


def children(
    thread: int, level: int, expression: str, start: int, count: Any
) -> list[dict[str, Any]]:
    frame = values.frame_of(held.process(), thread, level)
    return list(values.children(frame, (thread, level), expression, start, count))


def evaluate(thread: int, level: int, expression: str, how: str) -> Any:
    frame = values.frame_of(held.process(), thread, level)
    value = values.evaluate(frame, expression)
    if how == "truth":
        return values.is_true(value)
    if how == "text":
        return values.brief(value)
    values.shown.pop((thread, level, expression), None)
    return values.result(value, (thread, level), expression)


# --- machine level ------------------------------------------------------------------------------


def read_memory(address: int, count: int) -> str:
    return str(machine.read_memory(held.process(), address, count))


def write_memory(address: int, data: str) -> int:
    return int(machine.write_memory(held.process(), address, data))


def disassemble(address: int, count: int, offset: int) -> list[dict[str, Any]]:
    return list(machine.disassemble(held.target(), address, count, offset))


# --- the command --------------------------------------------------------------------------------

_KNOWN = {
    each.__name__: each
    for each in (
        open_target,
        launch,
        attach,
        connect,
        core,
        pid,
        select,
        kill,
        detach,
        save_core,
        go,
        step,
        jump,
        force_return,
        raw,
        marks.break_at,
        marks.unbreak,
        marks.filters,
        watches.watch,
        watches.unwatch,
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
    except held.Refused as error:
        answer = {"error": str(error)}
    except Exception:
        answer = {"error": traceback.format_exc(limit=-2), "bug": True}
    result.AppendMessage(_PREFIX + json.dumps(answer))


def __lldb_init_module(debugger: Any, _: Any) -> None:
    held.State.debugger = debugger
    debugger.SetAsync(False)
    with contextlib.suppress(Exception):
        debugger.HandleCommand("command script delete ff")
    debugger.HandleCommand(f"command script add -o -f {__name__}.ff ff")
    print(f"{_PREFIX}{json.dumps({'hello': debugger.GetVersionString()})}")
