"""Ends a recording: at a line, at the failure of a test, at the end of the process.

Runs inside the traced program as the module `_freezeframe_endings`, and imports nothing of this
package. Writes how it ended as the last record.
"""

from __future__ import annotations

import sys
from typing import Any

_log: Any = sys.modules["_freezeframe_log"]
_system: Any = _log.system
_recorder: Any = sys.modules["_freezeframe_recorder"]


#: children that are named, and characters of the command line of each
_MOST_NAMED = 3
_MOST_COMMAND = 80


class _Ending:
    is_written = False
    #: the process ends where the recording does
    exits = False
    driver: Any = None
    #: command lines of children that were started without the variable that begins a trace
    untraced: Any = []


def install(driver: Any, exits: bool) -> None:
    """Write the end of the recording when the process ends, however it does."""
    import atexit

    _Ending.driver, _Ending.exits = driver, exits
    atexit.register(_at_exit)
    _log.file.on_rotate = _recorder.rewrite_frames
    _log.file.on_deadline = lambda: end("timeout")
    _recorder.Settings.on_until = lambda: end("reached")
    if hasattr(_system, "register_at_fork"):
        _system.register_at_fork(after_in_child=_in_child)
    driver.watch_children(_note_child)
    _around_exit()


def end(how: str, error: Any = None, trace: Any = None) -> None:
    """End the recording, and the process if that was requested."""
    if not _Ending.is_written:
        _Ending.is_written = True
        remark = _Ending.driver.remark()
        _Ending.driver.end()
        _write(how, error, trace, remark)
    if _Ending.exits or how == "timeout":
        for stream in (sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()  # type: ignore[union-attr]
            except Exception:
                continue
        _system._exit(0)


def _write(how: str, error: Any, trace: Any, remark: str) -> None:
    string = _log.string
    step, path, line, text = _last_step(), "", -1, ""
    if error is not None:
        text = _recorder.describe(error)
        step, path, line = _raised_at(trace)
    _log.file.steps = _recorder.last_step()
    for fault in _recorder.faults:
        _log.records.extend((_log.REMARK, string(f"a fault of the tracer: {fault}")))
    for command in dict.fromkeys(_Ending.untraced):
        child = f"a child with an environment of its own was not traced: {command}"
        _log.records.extend((_log.REMARK, string(child)))
    if remark:
        _log.records.extend((_log.REMARK, string(remark)))
    _log.records.extend((_log.END, string(how), string(text), string(path), line, step))
    _log.flush()


def _note_child(given: Any, env: Any) -> None:
    """Remember a Python child that is started with an environment of its own.

    `os.environ` does not have what makes children traced, so that no copy of it has.
    """
    if env is None or len(_Ending.untraced) >= _MOST_NAMED:
        return
    # Nothing but text is looked at: methods of other objects are the program's code.
    args = [each for each in given if type(each) is str] if type(given) in (list, tuple) else []
    name = args[0].rpartition("/")[2] if args else ""
    if "python" in name or (name.endswith("sh") and "python" in " ".join(args)):
        # Up to what it runs: arguments may be secrets.
        behind = " ".join(args[1:]).split()
        options = 0
        while options < len(behind) and behind[options][:1] == "-":
            options += 1
        _Ending.untraced.append(" ".join([name, *behind[: options + 1]])[:_MOST_COMMAND])


def _last_step() -> int:
    """Return the step that the innermost traced frame of this thread executes."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        state = _recorder.states.get(id(frame))
        if state is not None and state.plan.running is frame.f_code and not state.is_cut:
            return int(state.step)
        frame = frame.f_back
    return -1


def _raised_at(trace: Any) -> tuple[int, str, int]:
    """Return step, path and line of the innermost traced frame of a traceback."""
    found = (-1, "", -1)
    while trace is not None:
        frame = trace.tb_frame
        plan = _recorder.plans.get(id(frame.f_code))
        if plan is not None:
            state = _recorder.states.get(id(frame))
            step = _recorder.left.get(id(frame), -1)
            if state is not None:
                step = -1 if state.is_cut else state.step
            found = (step, plan.path, trace.tb_lineno)
        trace = trace.tb_next
    return found


def _at_exit() -> None:
    try:
        error = getattr(sys, "last_value", None)
        if error is not None:
            end_quietly("raised", error, getattr(sys, "last_traceback", None))
        else:
            end_quietly("exited")
    except Exception:
        return


def end_quietly(how: str, error: Any = None, trace: Any = None) -> None:
    """End the recording, and leave the process as it is."""
    exits, _Ending.exits = _Ending.exits, False
    try:
        end(how, error, trace)
    finally:
        _Ending.exits = exits


def _in_child() -> None:
    """Go on in the files of a forked child."""
    try:
        if not _Ending.is_written:
            _log.reopen()
            _recorder.rewrite_frames()
    except Exception:
        return


def _around_exit() -> None:
    """Write the end before `os._exit`, which children of multiprocessing call."""
    import os

    leave = _system._exit

    def _exit(status: int) -> Any:
        try:
            end_quietly("exited")
        except Exception:
            pass
        leave(status)

    os._exit = _exit


# --- failing tests ------------------------------------------------------------------------------


def watch_tests(failures: Any) -> None:
    """End the recording at the first failure of a test."""

    def is_program(frame: Any) -> bool:
        return _recorder.plan_of(frame.f_code) is not None

    def stop(kind: Any, value: Any, trace: Any) -> None:
        end("raised", value, trace)

    failures.watch(is_program, stop, [])
