"""Runs inside LLDB: adds one command, `ff`, that takes and answers JSON.

LLDB waits for the program itself (`SetAsync(False)`): the answer to a command that resumes the
program is the next stop, read from LLDB's own structures.
"""

import contextlib
import json
import sys
import traceback
from typing import Any

import breakpoints_agent as breakpoints  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]
import memory_agent as memory  # type: ignore[import-not-found]
import state_agent as state  # type: ignore[import-not-found]
import stops_agent as stops  # type: ignore[import-not-found]
import values_agent as values  # type: ignore[import-not-found]
import watchpoints_agent as watches  # type: ignore[import-not-found]

_PREFIX = "@ff "
#: added by `thread_plans_agent`: an interrupted step must not end by itself later
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


# --- start --------------------------------------------------------------------------------------


def open_target(program: str) -> None:
    error = lldb.SBError()
    state.State.debugger.CreateTarget(program, None, None, True, error)
    state.check(error)


def launch(streams: list[str], options: dict[str, Any]) -> dict[str, Any]:
    info = lldb.SBLaunchInfo(options["args"])
    info.SetWorkingDirectory(options["cwd"])
    info.SetEnvironmentEntries(options["env"], False)
    info.SetLaunchFlags(lldb.eLaunchFlagStopAtEntry)
    for number, path in enumerate(streams):
        info.AddOpenFileAction(number, path, number == 0, number != 0)
    error = lldb.SBError()
    state.target().Launch(info, error)
    state.check(error)
    breakpoints.signals()
    return dict(stops.stop())


def attach(pid: int) -> dict[str, Any]:
    error = lldb.SBError()
    state.target().AttachToProcessWithID(lldb.SBListener(), pid, error)
    state.check(error)
    breakpoints.signals()
    return dict(stops.stop())


def connect(host: str, port: int) -> dict[str, Any]:
    """Attach to a program through the debug server that holds it."""
    error = lldb.SBError()
    url = f"connect://{host}:{port}"
    state.target().ConnectRemote(state.State.debugger.GetListener(), url, "gdb-remote", error)
    state.check(error)
    breakpoints.signals()
    return dict(stops.stop())


def core(path: str) -> dict[str, Any]:
    error = lldb.SBError()
    state.target().LoadCore(path, error)
    state.check(error)
    return dict(stops.stop())


def select(thread: int, level: int) -> None:
    """Select the frame that LLDB's own commands refer to."""
    chosen = state.thread(thread)
    state.process().SetSelectedThread(chosen)
    chosen.SetSelectedFrame(level)


def pid() -> int:
    return int(state.process().GetProcessID())


def kill() -> None:
    state.check(state.process().Kill())


def detach() -> None:
    state.check(state.process().Detach())


def save_core(path: str) -> None:
    good, output = state.run(f'process save-core --style full "{path}"')
    if not good:
        raise state.Refused(output)


# --- execution ----------------------------------------------------------------------------------


def go(only: Any = None) -> dict[str, Any]:
    values.shown.clear()
    process = state.process()
    others = [each for each in process if only is not None and each.GetThreadID() != only]

    def resume() -> None:
        state.run(_FORGET_STEPS)
        state.check(process.Continue())

    for each in others:
        each.Suspend()
    try:
        return dict(stops.run_until_stop(resume))
    finally:
        for each in others:
            each.Resume()


def step(kind: str, thread: int) -> dict[str, Any]:
    values.shown.clear()

    def resume() -> None:
        state.run(_FORGET_STEPS)
        if kind == "out":
            stops.expect_returned(state.thread(thread))
        error = lldb.SBError()
        _STEPS[kind](state.thread(thread), error)
        state.check(error)

    return dict(stops.run_until_stop(resume))


def jump(thread: int, path: str, line: int) -> None:
    values.shown.clear()
    state.check(state.thread(thread).JumpToLine(lldb.SBFileSpec(path, False), line))


def force_return(thread: int, value: str | None) -> None:
    frame = state.thread(thread).GetFrameAtIndex(0)
    returned = lldb.SBValue() if value is None else frame.EvaluateExpression(value)
    if value is not None:
        state.check(returned.GetError())
    state.check(state.thread(thread).ReturnFromFrame(frame, returned))
    values.shown.clear()


def raw(command: str) -> dict[str, Any]:
    process = state.process()
    before = process.GetStopID()
    good, output = state.run(command)
    process = state.process()
    resumed = process.IsValid() and (
        process.GetStopID() != before or process.GetState() == lldb.eStateExited
    )
    if resumed:
        values.shown.clear()
    return {"good": good, "output": output, **(stops.stop() if resumed else {})}


# --- inspection ---------------------------------------------------------------------------------


def threads() -> list[dict[str, Any]]:
    return [
        {"id": each.GetThreadID(), "name": each.GetName() or f"thread {each.GetIndexID()}"}
        for each in state.process()
    ]


def frames(thread: int, start: int, count: int, has_optimized: bool) -> list[dict[str, Any]]:
    listed = []
    stopped = state.thread(thread)
    if not start:
        values.gone.clear()
    for level in range(start, start + count):
        frame = stopped.GetFrameAtIndex(level)
        if not frame.IsValid():
            break
        entry = frame.GetLineEntry()
        has_line = entry.IsValid() and entry.GetLine() > 0
        listed.append(
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
            # Importable after the first command, which comes after this file.
            import optimized_agent as optimized  # type: ignore[import-not-found]

            code = optimized.describe_frame(state.State.debugger, frame, level)
            values.gone[thread, level] = set(code["gone"])
            listed[-1]["code"] = code
    if listed and not start:
        listed[0]["lock_owner"] = sys.modules["lock_owner_agent"].owner_of(stopped)
    return listed


def scope(thread: int, level: int, kind: str) -> list[dict[str, Any]]:
    frame = values.frame_of(state.process(), thread, level)
    return list(values.variables(frame, (thread, level), kind))


def exception(thread: int) -> dict[str, Any]:
    """Describe the exception that a thread stopped at."""
    stop = state.State.stop
    name = stop.get("filter")
    if stop.get("exception") is not None:
        return dict(stop["exception"])
    mode = "unhandled" if name == "uncaught" else None
    return {"type": "panic" if name == "panic" else "exception", "message": "", "mode": mode}


def arguments(thread: int, level: int) -> list[str]:
    frame = values.frame_of(state.process(), thread, level)
    return [value.GetName() for value in values.arguments(frame)]


def children(
    thread: int, level: int, expression: str, start: int, count: Any
) -> list[dict[str, Any]]:
    frame = values.frame_of(state.process(), thread, level)
    return list(values.children(frame, (thread, level), expression, start, count))


def evaluate(thread: int, level: int, expression: str, how: str) -> Any:
    frame = values.frame_of(state.process(), thread, level)
    value = values.evaluate(frame, expression)
    if how == "truth":
        return values.is_true(value)
    if how == "text":
        return values.brief(values.followed(frame, value))
    values.shown.pop((thread, level, expression), None)
    if value.GetType().IsArrayType() and values.is_unsized(frame, expression):
        return values.without_elements(value)
    return values.result(value, (thread, level), expression)


# --- machine level ------------------------------------------------------------------------------


def read_memory(address: int, count: int) -> str:
    return str(memory.read_memory(state.process(), address, count))


def write_memory(address: int, data: str) -> int:
    return int(memory.write_memory(state.process(), address, data))


def disassemble(address: int, count: int, offset: int) -> list[dict[str, Any]]:
    return list(memory.disassemble(state.target(), address, count, offset))


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
        breakpoints.break_at,
        breakpoints.unbreak,
        breakpoints.filters,
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
    name, *args = json.loads(command)
    try:
        answer = {"answer": _KNOWN[name](*args)}
    except state.Refused as error:
        answer = {"error": str(error)}
    except Exception:
        answer = {"error": traceback.format_exc(limit=-2), "bug": True}
    result.AppendMessage(_PREFIX + json.dumps(answer))


def __lldb_init_module(debugger: Any, _: Any) -> None:
    state.State.debugger = debugger
    debugger.SetAsync(False)
    with contextlib.suppress(Exception):
        debugger.HandleCommand("command script delete ff")
    debugger.HandleCommand(f"command script add -o -f {__name__}.ff ff")
    print(f"{_PREFIX}{json.dumps({'hello': debugger.GetVersionString()})}")
