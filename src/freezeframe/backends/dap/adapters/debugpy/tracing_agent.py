"""Run the program untraced wherever nothing needs tracing; runs inside the debuggee.

Sent there together with `agent.py`, under the same rules, and used in CPython 3.11 only, where
pydevd would trace every call of the program by `sys.settrace`. It becomes the module
`_freezeframe_tracing`.

Lines with a breakpoint call a hook (see `line_hooks_agent.py`). A hook whose condition holds turns
tracing on for its thread, and pydevd stops at the `line` event that follows. Steps, `pause` and a
stop of all threads turn tracing on in the threads that they concern, until these resume. What
cannot be done this way is still traced: see `_reasons`.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_instrument: Any = sys.modules.get("_freezeframe_instrument")
_hooks: Any = sys.modules.get("_freezeframe_line_hooks")
_sharing: Any = sys.modules["_freezeframe_trace_sharing"]
_threads: Any = sys.modules["_freezeframe_threads"]
_state: dict[str, Any] = {
    "debugger": None,
    #: every thread is traced
    "everywhere": False,
    #: pydevd's library, which sets the trace function of another thread
    "library": None,
    "audited": False,
}
#: the trace function that pydevd made for a thread, by ident
_tracers: dict[int, Any] = {}
#: thread → the frame and line whose condition was found to hold
_verdicts: dict[int, tuple[Any, int]] = {}
#: files whose code was created in a way that cannot be instrumented
_foreign: set[str] = set()
_SUSPENDED = 2
_GREENLETS = getattr(sys.modules.get("_pydevd_bundle.pydevd_constants"), "SUPPORT_GEVENT", False)


# --- one thread ---------------------------------------------------------------------------------


def _is_traced(frame: Any) -> bool:
    """Return whether pydevd sees the lines of *frame*, or evaluates the code that runs it."""
    ident = threading.get_ident()
    if ident not in _hooks.armed:
        return False
    info = getattr(threading._active.get(ident), "additional_info", None)  # type: ignore[attr-defined]
    own = _sharing.debugger_of(frame.f_trace)
    return own is not None or (info is not None and bool(info.is_tracing))


def _stop(hook: Any, frame: Any) -> None:
    ident = threading.get_ident()
    debugger = _state["debugger"]
    if debugger is None or debugger.pydb_disposed:
        return
    thread: Any = threading.current_thread()
    if getattr(thread, "is_pydev_daemon_thread", False) or _info(thread).is_tracing:
        return
    sys.modules["_freezeframe_recursion"].enlarge(frame)  # for the trace function
    _verdicts[ident] = (frame, hook.line)
    if type(frame.f_trace) is not Once:
        frame.f_trace = Once(frame)
    with _hooks.lock:
        _arm(ident)


class Once(_sharing.Local):  # type: ignore[misc]
    """Trace function of a frame at a breakpoint; `value_changes_agent.py` recognizes it."""

    __slots__ = ("_inner",)

    def __init__(self, frame: Any) -> None:
        #: the trace function that the frame would have under pydevd alone
        self._inner: Any = None
        super().__init__(_sharing.program_of(frame.f_trace), self, frame)

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        ident = threading.get_ident()
        if not _sharing.stops(self.program):
            self.call_program(frame, event, arg)
        if _state["debugger"].pydb_disposed:
            _disarm()
            frame.f_trace = self.program
            return self.program
        try:
            trace = self._inner or _state["debugger"].trace_dispatch
            self._inner = trace(frame, event, arg)
            if event == "return" and "_freezeframe_async" in sys.modules:
                sys.modules["_freezeframe_async"].left(frame)
        finally:
            _verdicts.pop(ident, None)
        if _sharing.stops(self.program):
            self.call_program(frame, event, arg)
        frame.f_trace = self
        if not _needs_tracing(ident):
            self._inner = None
            _disarm()
            sys.modules["_freezeframe_recursion"].give_back()
        return self


def _info(thread: Any) -> Any:
    info = getattr(thread, "additional_info", None)
    return info if info is not None else _state["debugger"].set_additional_thread_info(thread)


def _needs_tracing(ident: int) -> bool:
    if _state["everywhere"] or _state["debugger"].pydb_disposed:
        return not _state["debugger"].pydb_disposed
    info = getattr(threading._active.get(ident), "additional_info", None)  # type: ignore[attr-defined]
    return info is not None and (info.pydev_step_cmd != -1 or info.pydev_state == _SUSPENDED)


def _arm(ident: int, tracer: Any = None) -> None:
    """Trace a thread. *tracer* is called for its calls; its present frames keep theirs."""
    if tracer is None:
        tracer = _tracers.get(ident) or _state["debugger"].trace_dispatch
    _hooks.armed.add(ident)
    _set_tracer(ident, _sharing.joined(tracer, ident))


def _set_tracer(ident: int, tracer: Any) -> None:
    """Set the trace function of any thread."""
    arguments = map(ctypes.py_object, (sys.settrace, tracer))
    thread = ctypes.c_uint(ident & 0xFFFFFFFF)
    attach, zero = _state["library"].AttachDebuggerTracing, ctypes.c_int(0)
    _sharing.as_debugger(attach, zero, *arguments, thread, ctypes.py_object(None))


def _disarm() -> None:
    """Stop tracing the current thread."""
    ident = threading.get_ident()
    with _hooks.lock:
        _hooks.armed.discard(ident)
    _sharing.set_trace(_sharing.programs.get(ident))


def _forget(ident: int) -> None:
    """Drop an ended thread: the next one may get its ident, and must not get its trace function."""
    with _hooks.lock:
        _hooks.armed.discard(ident)
    _sharing.programs.pop(ident, None)
    _tracers.pop(ident, None)
    _verdicts.pop(ident, None)


def _idle(frame: Any, event: str, arg: Any) -> Any:
    """The trace function of a thread that was to be traced and no longer is."""
    if _needs_tracing(threading.get_ident()):
        with _hooks.lock:
            _arm(threading.get_ident())
        return _state["debugger"].trace_dispatch(frame, event, arg)
    _disarm()
    frame.f_trace = None
    return None


def _others() -> Iterator[tuple[int, Any]]:
    """Yield the program's other threads with the frames that they are in."""
    current = threading.get_ident()
    for ident, frame in list(sys._current_frames().items()):
        thread = threading._active.get(ident)  # type: ignore[attr-defined]
        daemon = getattr(thread, "is_pydev_daemon_thread", False)
        if ident != current and not daemon and not getattr(thread, "pydev_do_not_trace", False):
            yield ident, frame


def _arm_others() -> None:
    with _hooks.lock:
        for ident, _ in _others():
            _arm(ident)


def _relax_others() -> None:
    """Stop tracing threads that were to stop and did not, because they wait in C."""
    with _hooks.lock:
        for ident, frame in _others():
            info = getattr(threading._active.get(ident), "additional_info", None)  # type: ignore[attr-defined]
            waits = info is not None and info.is_in_wait_loop
            if ident in _hooks.armed and not waits and not _needs_tracing(ident):
                _relax(ident, frame)


def _relax(ident: int, frame: Any) -> None:
    """Make a thread whose innermost frame is *frame* stop tracing at its next event."""
    _arm(ident, _idle)
    while frame is not None:
        if _sharing.debugger_of(frame.f_trace) is not None:
            _sharing.give(frame, _idle)
        frame = frame.f_back


# --- requests of pydevd -------------------------------------------------------------------------


def install(debugger: Any) -> None:
    """Run the program of *debugger* untraced, or traced by pydevd if that is impossible."""
    if _state["debugger"] is debugger:
        return
    sharing: Any = sys.modules["_freezeframe_shared_tracing"]
    library = sys.modules["pydevd_tracing"]._load_python_helper_lib()
    if _GREENLETS or library is None or debugger.frame_eval_func is not None:
        sharing.install(debugger)
        return
    _state["library"] = library
    forked = _state["debugger"] is not None
    for each in (_hooks.armed, _tracers, _verdicts):
        each.clear()
    _hooks.lock = threading.RLock()
    _state.update(debugger=debugger, everywhere=False)
    main = sys.modules.get("__main__")
    begins = main is sys.modules.get("pydevd") or not hasattr(main, "__file__")
    _hooks.state["fresh"] = begins and not forked and "_freezeframe_join" not in sys.modules
    _wrap_tracing(debugger)
    _wrap_stops(debugger)
    # pytest-timeout, and others, recognize a debugger by the module of the trace function.
    debugger.trace_dispatch.__module__ = "pydevd"
    sharing.install(debugger, _requested)
    _hooks.state.update(is_traced=_is_traced, stop=_stop)
    _hooks.watch_loading()
    _watch_breakpoint_calls()
    if not _state["audited"]:
        _state["audited"] = True
        sys.addaudithook(_audit)
        getattr(os, "register_at_fork", dict)(after_in_child=_mute)
    refresh()
    if not _state["everywhere"]:
        for ident, frame in _others():
            _relax(ident, frame)
        if threading.get_ident() in _hooks.armed or sys.gettrace() is not None:
            _disarm()


def _requested() -> Any:
    ident = threading.get_ident()
    if ident not in _hooks.armed and not _needs_tracing(ident):
        return None
    _hooks.armed.add(ident)
    return _tracers.get(ident) or _state["debugger"].trace_dispatch


def _mute() -> None:
    """Ignore a forked process until `install` is called in it."""
    _state["debugger"] = _Disposed
    _hooks.armed.clear()
    _hooks.lock = threading.RLock()
    _hooks.silence()


class _Disposed:
    pydb_disposed = True
    ready_to_run = False


def _is_governed(debugger: Any) -> bool:
    return _state["debugger"] is debugger


def _wrap_tracing(debugger: Any) -> None:
    """Replace the methods that switch tracing on and off, and those about new threads."""
    enable, disable = debugger.enable_tracing, debugger.disable_tracing
    patch, created = debugger.patch_threads, debugger.notify_thread_created

    def enable_tracing(thread_trace_func: Any = None, apply_to_all_threads: bool = False) -> None:
        if not _is_governed(debugger):
            enable(thread_trace_func, apply_to_all_threads)
            return
        ident = threading.get_ident()
        if not hasattr(debugger._local_thread_trace_func, "thread_trace_func"):
            _tracers.pop(ident, None)
        if thread_trace_func is not None and not apply_to_all_threads:
            debugger._local_thread_trace_func.thread_trace_func = thread_trace_func
            _tracers[ident] = thread_trace_func
        if _needs_tracing(ident):
            with _hooks.lock:
                _arm(ident)

    def disable_tracing() -> None:
        disable()
        if _is_governed(debugger):
            _forget(threading.get_ident())

    def patch_threads() -> None:
        patch()
        if _is_governed(debugger):
            # `enable_tracing` is called in each new thread.
            threading.settrace(None)

    def notify_thread_created(thread_id: Any, thread: Any, *arguments: Any, **named: Any) -> Any:
        if _is_governed(debugger):
            _threads.see_end(thread)
        return created(thread_id, thread, *arguments, **named)

    debugger.enable_tracing = enable_tracing
    debugger.disable_tracing = disable_tracing
    debugger.patch_threads = patch_threads
    debugger.notify_thread_created = notify_thread_created


def _wrap_stops(debugger: Any) -> None:
    """Replace the methods that suspend threads and test breakpoints."""
    suspend, wait = debugger.set_suspend, debugger.do_wait_suspend
    changed, judge = debugger.on_breakpoints_changed, debugger.handle_breakpoint_condition

    def set_suspend(thread: Any, *arguments: Any, **named: Any) -> Any:
        result = suspend(thread, *arguments, **named)
        if _is_governed(debugger):
            _arm_others()
        return result

    def do_wait_suspend(*arguments: Any, **named: Any) -> Any:
        try:
            return wait(*arguments, **named)
        finally:
            if _is_governed(debugger):
                _resumed()
            elif threading.get_ident() in _hooks.armed:
                _disarm()

    def on_breakpoints_changed(*arguments: Any, **named: Any) -> Any:
        result = changed(*arguments, **named)
        if _is_governed(debugger):
            refresh()
        return result

    def handle_breakpoint_condition(info: Any, point: Any, frame: Any) -> Any:
        verdict = _verdicts.get(threading.get_ident())
        if verdict is not None and verdict[0] is frame and verdict[1] == frame.f_lineno:
            return True
        return judge(info, point, frame)

    debugger.set_suspend = set_suspend
    debugger.do_wait_suspend = do_wait_suspend
    debugger.on_breakpoints_changed = on_breakpoints_changed
    debugger.handle_breakpoint_condition = handle_breakpoint_condition


def _watch_breakpoint_calls() -> None:
    """Trace a thread that calls `breakpoint()` and must stop at its next line."""
    pydevd: Any = sys.modules["pydevd"]
    settrace = pydevd._locked_settrace
    if hasattr(settrace, "freezeframe"):
        return

    def _locked_settrace(*arguments: Any, **named: Any) -> Any:
        result = settrace(*arguments, **named)
        ident = threading.get_ident()
        if _needs_tracing(ident):
            with _hooks.lock:
                _arm(ident)
        return result

    _locked_settrace.freezeframe = True  # type: ignore[attr-defined]
    pydevd._locked_settrace = _locked_settrace


def _resumed() -> None:
    if _hooks.begun or _state["everywhere"]:
        _decide()
    _relax_others()
    ident = threading.get_ident()
    if ident in _hooks.armed and not _needs_tracing(ident):
        _disarm()


# --- breakpoints --------------------------------------------------------------------------------


def refresh() -> None:
    """Apply the debugger's current breakpoints."""
    debugger = _state["debugger"]
    with _hooks.lock:
        added = set()
        active = {file: dict(lines) for file, lines in debugger.breakpoints.items() if lines}
        for file, hooks in _hooks.by_file.items():
            for line, hook in hooks.items():
                if line not in active.get(file, ()):
                    hook.test = _hooks.never
        for file, points in active.items():
            hooks = _hooks.by_file.setdefault(file, {})
            for line, point in points.items():
                if line not in hooks:
                    hooks[line] = _hooks.Hook(line)
                    added.add(file)
                hooks[line].test = _hooks.test_of(point)
        if added and not _hooks.state["fresh"]:
            _hooks.instrument_functions(added)
        _decide()


def _decide() -> None:
    """Trace every thread, or none: see `_reasons`."""
    was, now = _state["everywhere"], any(_reasons())
    _state["everywhere"] = now
    debugger = _state["debugger"]
    if now and not was and debugger.ready_to_run:
        debugger.set_tracing_for_untraced_contexts()
        _arm_others()
    elif was and not now:
        # Functions may have been defined meanwhile.
        _hooks.instrument_functions(set(_hooks.by_file))
        _relax_others()


def _reasons() -> Iterator[Any]:
    """Yield what only a trace function of every thread can do."""
    debugger = _state["debugger"]
    yield debugger.break_on_caught_exceptions
    yield debugger.break_on_user_uncaught_exceptions
    yield debugger.has_plugin_line_breaks or debugger.has_plugin_exception_breaks
    yield debugger.function_breakpoint_name_to_breakpoint
    yield any(
        hook.test is not _hooks.never
        for file in _foreign
        for hook in _hooks.by_file.get(file, {}).values()
    )
    if _hooks.state["fresh"] or not _hooks.by_file:
        return
    frame: Any
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            yield _hooks.lacks_hooks(frame.f_code, frame.f_lasti)
            frame = frame.f_back
    _hooks.begun[:] = [each for each in _hooks.begun if _hooks.is_alive(each())]
    yield _hooks.begun


def _audit(event: str, arguments: Any) -> None:
    if event not in _AUDITED or _hooks.state["busy"]:
        return
    if event == "exec" and _hooks.is_made_up(arguments[0].co_filename):
        return
    try:
        _AUDITED[event](*arguments)
    except Exception:
        pass


def _runs(code: Any) -> None:
    """Code is about to run: trace it if it should have hooks and has none."""
    debugger = _state["debugger"]
    _hooks.state["fresh"] = False
    if "_pytest.assertion.rewrite" in sys.modules:
        _hooks.watch_pytest()
    if not _hooks.by_file or debugger.pydb_disposed or not hasattr(code, "co_code"):
        return
    if id(code) in _hooks.codes:
        return
    file = _hooks.file_of(code.co_filename)
    if file in _hooks.by_file and _instrument.has_lines(code, _hooks.by_file[file]):
        with _hooks.lock:
            _foreign.add(file)
            _decide()
            _arm(threading.get_ident())


def _is_made(_code: Any, filename: Any, *_rest: Any) -> None:
    """A code object is created: by whom, and from what, is not known."""
    if _hooks.by_file and isinstance(filename, str) and not _hooks.is_made_up(filename):
        file = _hooks.file_of(filename)
        if file in _hooks.by_file:
            with _hooks.lock:
                _foreign.add(file)
                _decide()


def _is_reported(hook: Any, kind: Any, value: Any, trace: Any) -> None:
    """An exception ends the program, and another hook than ours shows it."""
    if not hasattr(hook, "freezeframe"):
        _threads.see_exception(kind, value, trace)


_AUDITED: dict[str, Callable[..., None]] = {
    "exec": _runs,
    "function.__new__": _runs,
    "code.__new__": _is_made,
    "sys.excepthook": _is_reported,
}


def leave() -> None:
    """Run the program as if no debugger had ever been attached."""
    _sharing.leave()
    if _state["debugger"] is None:
        return
    with _hooks.lock:
        _hooks.remove()
        _foreign.clear()
        _state.update(debugger=_Disposed, everywhere=False)
        for ident, frame in _others():
            if ident in _hooks.armed:
                _relax(ident, frame)
