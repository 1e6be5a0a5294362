"""Pass lines that do not stop without calling pydevd; runs inside the debuggee.

Follows the rules of `agent.py`, from Python 3.12 on; becomes the module `_freezeframe_monitoring`.
pydevd gets an event for every line of a function that has a breakpoint, and takes 5 to 20 µs for
each where its compiled files are another version's. Here a line without a breakpoint costs one
event, and a line whose condition does not hold costs the condition. Everything else goes to pydevd.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import types
from typing import Any

#: id of code → the code, and the tests of its lines with a breakpoint: None for no test
_known: dict[int, tuple[Any, dict[int, Any] | None]] = {}
#: thread → the frame and line whose condition was found to hold
_verdicts: dict[int, tuple[Any, int]] = {}
_SUSPENDED = 2
#: by the type's id: hashing a class of the program would run its code
_FRAMES: dict[int, str] = {
    id(types.GeneratorType): "gi_frame",
    id(types.CoroutineType): "cr_frame",
    id(types.AsyncGeneratorType): "ag_frame",
}


def install(debugger: Any) -> None:
    """Wrap pydevd's callback for lines; raises if that callback is not the known one."""
    pydevd: Any = sys.modules["_pydevd_sys_monitoring._pydevd_sys_monitoring"]
    shown: Any = sys.modules["_pydevd_sys_monitoring.pydevd_sys_monitoring"]
    _start_in_forks(shown)
    if shown.update_monitor_events is not pydevd.update_monitor_events:
        return  # the compiled callback
    _keep_tags(pydevd)
    _end_with_program(pydevd)
    _end_quietly(pydevd)
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    event = monitoring.events.LINE
    if not hasattr(pydevd._line_event, "freezeframe"):
        callback = _wrap_line_event(pydevd, _one_deeper(pydevd._line_event), monitoring.DISABLE)
        tool = monitoring.DEBUGGER_ID
        before = monitoring.register_callback(tool, event, callback)
        if before is None:
            monitoring.register_callback(tool, event, None)
        pydevd._line_event = callback
        _report_jumps(pydevd, shown, monitoring)
    _known.clear()
    _wrap(debugger)


def _start_in_forks(shown: Any) -> None:
    """Request the events of the breakpoints in a forked process, which inherits the parent's tool.

    pydevd requests them only where it registers its tool.
    """
    start = shown.start_monitoring
    if hasattr(start, "freezeframe"):
        return

    def start_monitoring(all_threads: bool = False) -> None:
        start(all_threads=all_threads)
        if all_threads:
            shown.update_monitor_events()
            shown.restart_events()

    start_monitoring.freezeframe = True  # type: ignore[attr-defined]
    shown.start_monitoring = start_monitoring


class _Tagged:
    """Replaces an exception where pydevd writes into its attributes."""


def _keep_tags(pydevd: Any) -> None:
    """Keep pydevd's tags out of the exception, whose fields belong to the program.

    The exception may not be kept alive here either: it is the same as before while its traceback
    goes on.
    """
    find = pydevd._get_unhandled_exception_frame
    if hasattr(find, "freezeframe"):
        return
    traceback_of = vars(BaseException)["__traceback__"].__get__
    last = threading.local()

    def _get_unhandled_exception_frame(exc: Any, depth: int) -> Any:
        trace = traceback_of(exc)
        known = getattr(last, "known", None)
        before = (id(exc), id(trace.tb_next)) if trace is not None else None
        tagged = known[1] if known is not None and known[0] == before else _Tagged()
        last.known = ((id(exc), id(trace)), tagged)
        try:
            return find(tagged, depth + 1)
        except RecursionError:
            return None  # raised here it would replace the program's; the last frame is not so deep

    _get_unhandled_exception_frame.freezeframe = True  # type: ignore[attr-defined]
    pydevd._get_unhandled_exception_frame = _get_unhandled_exception_frame


def _end_with_program(pydevd: Any) -> None:
    """Finish the program's outermost frame by running on: its caller is the debugger's."""
    stop = pydevd._stop_on_return
    if hasattr(stop, "freezeframe"):
        return

    class Outermost:
        f_back = None

    def _stop_on_return(
        debugger: Any, thread: Any, info: Any, step: int, frame: Any, value: Any
    ) -> Any:
        caller = frame.f_back
        while caller is not None and os.path.basename(caller.f_code.co_filename) == "runpy.py":
            caller = caller.f_back
        patches: Any = sys.modules["_freezeframe_patches"]
        if caller is not None and patches._is_debugger_s(caller):
            frame = Outermost
        return stop(debugger, thread, info, step, frame, value)

    _stop_on_return.freezeframe = True  # type: ignore[attr-defined]
    pydevd._stop_on_return = _stop_on_return


def _end_quietly(pydevd: Any) -> None:
    """Keep pydevd from writing to the program's stderr about threads that live to the very end."""
    kind = pydevd._DeleteDummyThreadOnDel
    forget = kind.__del__
    if hasattr(forget, "freezeframe"):
        return

    def __del__(self: Any) -> None:
        try:
            forget(self)
        except Exception:
            pass  # the interpreter has cleared pydevd's module

    __del__.freezeframe = True  # type: ignore[attr-defined]
    kind.__del__ = __del__


def _one_deeper(function: Any) -> Any:
    """Return pydevd's callback for one more caller in between: it counts frames."""
    code = function.__code__
    constants = tuple(2 if type(each) is int and each == 1 else each for each in code.co_consts)
    if constants == code.co_consts:
        raise LookupError("pydevd counts frames in another way")
    return types.FunctionType(code.replace(co_consts=constants), function.__globals__)


def _wrap_line_event(pydevd: Any, line_event: Any, disable: Any) -> Any:
    local, stepping = pydevd._thread_local_info, pydevd.any_thread_stepping
    frame_at = sys._getframe
    recursion: Any = sys.modules["_freezeframe_recursion"]
    hold, give_back = recursion.hold, recursion.give_back

    def _line_event(code: Any, line: int) -> Any:
        try:
            thread = local.thread_info
            info = thread.additional_info
            is_running = (
                info.pydev_step_cmd == -1 and info.pydev_state != _SUSPENDED and thread.trace
            )
            known = _known[id(code)][1]
        except AttributeError:
            # A thread that pydevd does not know yet, or one of pydevd's.
            return line_event(code, line)
        except KeyError:
            _learn(pydevd, code, frame_at(1))
            return line_event(code, line)
        if known is None or not is_running or "f_disable_next_line_if_match" in local.__dict__:
            return line_event(code, line)
        if line not in known:
            # Reported again when a thread steps or stops, or a breakpoint is set.
            try:
                return line_event(code, line) if stepping() else disable
            except RecursionError:
                return None  # the program has not called anything
        test = known[line]
        frame = frame_at(1)
        if test is not None and not test(frame.f_globals, frame.f_locals):
            return None
        ident = threading.get_ident()
        if test is not None:
            _verdicts[ident] = (frame, line)
        held = hold(frame)
        try:
            return line_event(code, line)
        finally:
            _verdicts.pop(ident, None)
            if held:
                give_back()

    _line_event.freezeframe = True  # type: ignore[attr-defined]
    return _line_event


def _report_jumps(pydevd: Any, shown: Any, monitoring: Any) -> None:
    """Report each pass of a loop that is one line, which has one event for that line.

    pydevd asks for jumps up to Python 3.12 only. A line event that repeats a jump is dropped by
    pydevd itself.
    """
    event, tool = monitoring.events.JUMP, monitoring.DEBUGGER_ID
    update = pydevd.update_monitor_events
    callback = pydevd._jump_event = _wrap_jump_event(
        _one_deeper(pydevd._jump_event), pydevd.any_thread_stepping, monitoring.DISABLE
    )

    def register() -> None:
        of_lines = monitoring.register_callback(tool, monitoring.events.LINE, None)
        monitoring.register_callback(tool, monitoring.events.LINE, of_lines)
        monitoring.register_callback(tool, event, callback if of_lines is not None else None)

    def update_monitor_events(*arguments: Any, **named: Any) -> Any:
        try:
            return update(*arguments, **named)
        finally:
            register()

    pydevd.update_monitor_events = shown.update_monitor_events = update_monitor_events
    register()


def _wrap_jump_event(jump_event: Any, stepping: Any, disable: Any) -> Any:
    frame_at = sys._getframe

    def _jump_event(code: Any, source: int, target: int) -> Any:
        if target > source:
            return disable
        known = _known.get(id(code), (None, None))[1]
        if known is None or frame_at(1).f_lineno in known or stepping():
            return jump_event(code, source, target)
        # Reported again as a line without a breakpoint is.
        return disable

    return _jump_event


def _learn(pydevd: Any, code: Any, frame: Any) -> None:
    lines: dict[int, Any] | None = None
    try:
        facts = pydevd._get_func_code_info(code, frame)
    except Exception:
        return
    if facts is None:
        return  # the debugger is being disposed
    if facts.breakpoint_found and not facts.plugin_line_breakpoint_found:
        lines = {line: _test_of(point) for line, point in facts.bp_line_to_breakpoint.items()}
    _known[id(code)] = (code, lines)


def _watch_generators() -> None:
    """Report lines of generators and coroutines that have begun: pydevd waits for their start."""
    pydevd: Any = sys.modules["_pydevd_sys_monitoring._pydevd_sys_monitoring"]
    for each in gc.get_objects():
        name = _FRAMES.get(id(type(each)))
        frame = getattr(each, name, None) if name is not None else None
        try:
            if (
                frame is not None
                and pydevd._get_func_code_info(frame.f_code, frame).breakpoint_found
            ):
                pydevd._enable_line_tracing(frame.f_code)
        except Exception:
            pass


def _test_of(point: Any) -> Any:
    condition = point.condition
    if condition and "'_freezeframe'" in condition and not point.hit_condition:
        agent: Any = sys.modules["_freezeframe"]
        return agent.tester(condition)
    return None


def _wrap(debugger: Any) -> None:
    changed, judge = debugger.on_breakpoints_changed, debugger.handle_breakpoint_condition

    def on_breakpoints_changed(*arguments: Any, **named: Any) -> Any:
        try:
            return changed(*arguments, **named)
        finally:
            _known.clear()
            if debugger.ready_to_run:
                _watch_generators()
                # A line may have been disabled by earlier knowledge.
                sys.monitoring.restart_events()  # type: ignore[attr-defined]

    def handle_breakpoint_condition(info: Any, point: Any, frame: Any) -> Any:
        verdict = _verdicts.get(threading.get_ident())
        if verdict is not None and verdict[0] is frame and verdict[1] == frame.f_lineno:
            return True
        return judge(info, point, frame)

    debugger.on_breakpoints_changed = on_breakpoints_changed
    debugger.handle_breakpoint_condition = handle_breakpoint_condition
