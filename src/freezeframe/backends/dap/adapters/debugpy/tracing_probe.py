"""Run the program untraced wherever nothing needs tracing; runs inside the debuggee.

Sent there together with `main_probe.py`, under the same rules, and used in CPython 3.11 only, where
pydevd would trace every call of the program by `sys.settrace`. It becomes the module
`_freezeframe_tracing`.

Lines with a breakpoint call a hook (see `line_hooks_probe.py`). A hook whose condition holds turns
tracing on for its thread, and pydevd stops at the `line` event that follows. Steps, `pause` and a
stop of all threads turn tracing on in the threads that they concern, until these resume. What
cannot be done this way is traced as ever: see `_reasons`.
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
_state: dict[str, Any] = {
    "debugger": None,
    #: every thread is traced
    "everywhere": False,
    #: pydevd's own, which sets the trace function of another thread
    "library": None,
    "audited": False,
}
#: the trace function that pydevd made for a thread, by ident
_tracers: dict[int, Any] = {}
#: thread → the frame and line whose condition was found to hold
_verdicts: dict[int, tuple[Any, int]] = {}
#: files whose code came to life in a way that cannot be instrumented
_foreign: set[str] = set()
_SUSPENDED = 2
_GREENLETS = getattr(sys.modules.get("_pydevd_bundle.pydevd_constants"), "SUPPORT_GEVENT", False)


# --- one thread ---------------------------------------------------------------------------------


def _is_traced(frame: Any) -> bool:
    """Return whether *frame* is none of ours: pydevd sees its lines, or evaluates what runs it."""
    ident = threading.get_ident()
    if ident not in _hooks.armed:
        return False
    info = getattr(threading._active.get(ident), "additional_info", None)  # type: ignore[attr-defined]
    return frame.f_trace is not None or (info is not None and bool(info.is_tracing))


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
        frame.f_trace = Once()
    with _hooks.lock:
        _arm(ident)


class Once:
    """The trace function of a frame that reached a breakpoint; known to `changes_probe.py`."""

    __slots__ = ("_inner",)

    def __init__(self) -> None:
        #: what pydevd would have as the frame's trace function
        self._inner: Any = None

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        ident = threading.get_ident()
        if _state["debugger"].pydb_disposed:
            _disarm()
            frame.f_trace = None
            return None
        try:
            trace = self._inner or _state["debugger"].trace_dispatch
            self._inner = trace(frame, event, arg)
            if event == "return" and "_freezeframe_async" in sys.modules:
                sys.modules["_freezeframe_async"].left(frame)
        finally:
            _verdicts.pop(ident, None)
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


def _set_trace() -> Any:
    tracing: Any = sys.modules["pydevd_tracing"]
    return tracing.TracingFunctionHolder._original_tracing or sys.settrace


def _arm(ident: int, tracer: Any = None) -> None:
    """Trace a thread. *tracer* is called for its calls; the frames that it is in have their own."""
    if tracer is None:
        tracer = _tracers.get(ident) or _state["debugger"].trace_dispatch
    if ident not in _hooks.armed:
        _hooks.armed[ident] = sys.gettrace() if ident == threading.get_ident() else None
    _state["library"].AttachDebuggerTracing(
        ctypes.c_int(0),
        ctypes.py_object(_set_trace()),
        ctypes.py_object(tracer),
        ctypes.c_uint(ident & 0xFFFFFFFF),
        ctypes.py_object(None),
    )


def _disarm() -> None:
    """Trace the current thread no more."""
    with _hooks.lock:
        before = _hooks.armed.pop(threading.get_ident(), None)
    _set_trace()(before)


def _forget(ident: int) -> None:
    """A thread has ended: the next one may get its ident, and must not get its trace function."""
    with _hooks.lock:
        _hooks.armed.pop(ident, None)
    _tracers.pop(ident, None)
    _verdicts.pop(ident, None)


def _idle(frame: Any, event: str, arg: Any) -> Any:
    """The trace function of a thread that was to be traced and is no more."""
    if _needs_tracing(threading.get_ident()):
        with _hooks.lock:
            _arm(threading.get_ident())
        return _state["debugger"].trace_dispatch(frame, event, arg)
    _disarm()
    frame.f_trace = None
    return None


def _others() -> Iterator[tuple[int, Any]]:
    """Yield the program's threads with the frames that they are in, without the current one."""
    own = threading.get_ident()
    for ident, frame in list(sys._current_frames().items()):
        thread = threading._active.get(ident)  # type: ignore[attr-defined]
        ours = getattr(thread, "is_pydev_daemon_thread", False)
        if ident != own and not ours and not getattr(thread, "pydev_do_not_trace", False):
            yield ident, frame


def _arm_others() -> None:
    with _hooks.lock:
        for ident, _ in _others():
            _arm(ident)


def _relax_others() -> None:
    """Threads that were to stop and did not, because they wait in C, need not be traced now."""
    with _hooks.lock:
        for ident, frame in _others():
            info = getattr(threading._active.get(ident), "additional_info", None)  # type: ignore[attr-defined]
            waits = info is not None and info.is_in_wait_loop
            if ident in _hooks.armed and not waits and not _needs_tracing(ident):
                _relax(ident, frame)


def _relax(ident: int, frame: Any) -> None:
    """Have a thread of which *frame* is the innermost stop its tracing at its next event."""
    _arm(ident, _idle)
    while frame is not None:
        if frame.f_trace is not None:
            frame.f_trace = _idle
        frame = frame.f_back


# --- what pydevd asks for -----------------------------------------------------------------------


def govern(debugger: Any) -> None:
    """Let the program of *debugger* run untraced; returns without a change where that cannot be."""
    if sys.version_info[:2] != (3, 11) or sys.implementation.name != "cpython" or _GREENLETS:
        return
    if debugger.frame_eval_func is not None or _state["debugger"] is debugger:
        return
    tracing: Any = sys.modules["pydevd_tracing"]
    _state["library"] = tracing._load_python_helper_lib()
    if _state["library"] is None or _instrument is None:
        return
    # pydevd's own warns, in the program's stderr and under the eyes of the new trace function.
    tracing.restore_sys_set_trace_func()
    forked = _state["debugger"] is not None
    for each in (_hooks.armed, _tracers, _verdicts):
        each.clear()
    _hooks.lock = threading.RLock()
    _state.update(debugger=debugger, everywhere=False)
    main = sys.modules.get("__main__")
    begins = main is sys.modules.get("pydevd") or not hasattr(main, "__file__")
    _hooks.state["fresh"] = begins and not forked and "_freezeframe_join" not in sys.modules
    _wrap(debugger)
    _hooks.state.update(is_traced=_is_traced, stop=_stop)
    _hooks.watch_loading()
    _heed_breakpoint_calls()
    if not _state["audited"]:
        _state["audited"] = True
        sys.addaudithook(_audit)
        os.register_at_fork(after_in_child=_mute)
    refresh()
    if not _state["everywhere"]:
        for ident, frame in _others():
            _relax(ident, frame)
        if threading.get_ident() in _hooks.armed or sys.gettrace() is not None:
            _disarm()


def _mute() -> None:
    """A forked process is left alone until it is governed in its turn."""
    _state["debugger"] = _Gone
    _hooks.armed.clear()
    _hooks.lock = threading.RLock()
    for hooks in _hooks.by_file.values():
        for hook in hooks.values():
            hook.test = _hooks.never


class _Gone:
    pydb_disposed = True
    ready_to_run = False


def _wrap(debugger: Any) -> None:
    enable, suspend = debugger.enable_tracing, debugger.set_suspend
    wait, changed = debugger.do_wait_suspend, debugger.on_breakpoints_changed
    patch, judge = debugger.patch_threads, debugger.handle_breakpoint_condition
    created, disable = debugger.notify_thread_created, debugger.disable_tracing

    def is_governed() -> bool:
        return _state["debugger"] is debugger

    def enable_tracing(thread_trace_func: Any = None, apply_to_all_threads: bool = False) -> None:
        if not is_governed():
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
        if is_governed():
            _forget(threading.get_ident())

    def set_suspend(thread: Any, *arguments: Any, **named: Any) -> Any:
        result = suspend(thread, *arguments, **named)
        if is_governed():
            _arm_others()
        return result

    def do_wait_suspend(*arguments: Any, **named: Any) -> Any:
        try:
            return wait(*arguments, **named)
        finally:
            if is_governed():
                _resumed()
            elif threading.get_ident() in _hooks.armed:
                _disarm()

    def on_breakpoints_changed(*arguments: Any, **named: Any) -> Any:
        result = changed(*arguments, **named)
        if is_governed():
            refresh()
        return result

    def patch_threads() -> None:
        patch()
        if is_governed():
            # `enable_tracing` is called in each new thread.
            threading.settrace(None)

    def handle_breakpoint_condition(info: Any, point: Any, frame: Any) -> Any:
        verdict = _verdicts.get(threading.get_ident())
        if verdict is not None and verdict[0] is frame and verdict[1] == frame.f_lineno:
            return True
        return judge(info, point, frame)

    def notify_thread_created(thread_id: Any, thread: Any, *arguments: Any, **named: Any) -> Any:
        if is_governed():
            _see_end(thread)
        return created(thread_id, thread, *arguments, **named)

    debugger.enable_tracing = enable_tracing
    debugger.disable_tracing = disable_tracing
    debugger.set_suspend = set_suspend
    debugger.do_wait_suspend = do_wait_suspend
    debugger.on_breakpoints_changed = on_breakpoints_changed
    debugger.patch_threads = patch_threads
    debugger.handle_breakpoint_condition = handle_breakpoint_condition
    debugger.notify_thread_created = notify_thread_created


def _heed_breakpoint_calls() -> None:
    """Trace a thread that calls `breakpoint()` and is to stop at its next line."""
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


def _see_end(thread: Any) -> None:
    """Stop for an exception that ends *thread*, whoever reports it: no tracing sees it."""
    invoke = getattr(thread, "_invoke_excepthook", None)
    if invoke is None or hasattr(invoke, "freezeframe"):
        return

    def _invoke_excepthook(*arguments: Any) -> Any:
        if not hasattr(threading.excepthook, "freezeframe"):
            _see_exception(*sys.exc_info())
        return invoke(*arguments)

    _invoke_excepthook.freezeframe = True  # type: ignore[attr-defined]
    thread._invoke_excepthook = _invoke_excepthook


def _see_exception(kind: Any, value: Any, trace: Any) -> None:
    try:
        if kind is not SystemExit:
            sys.modules["_freezeframe_cures"]._stop_for(kind, value, trace)
    except Exception:
        pass


# --- breakpoints --------------------------------------------------------------------------------


def refresh() -> None:
    """Do what the breakpoints of the debugger need now."""
    debugger = _state["debugger"]
    with _hooks.lock:
        added = set()
        wanted = {file: dict(lines) for file, lines in debugger.breakpoints.items() if lines}
        for file, hooks in _hooks.by_file.items():
            for line, hook in hooks.items():
                if line not in wanted.get(file, ()):
                    hook.test = _hooks.never
        for file, points in wanted.items():
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
            yield _hooks.lacks_hooks(frame.f_code)
            frame = frame.f_back
    _hooks.begun[:] = [each for each in _hooks.begun if _hooks.is_alive(each())]
    yield _hooks.begun


def _audit(event: str, arguments: Any) -> None:
    if event not in _AUDITED or _hooks.state["busy"]:
        return
    if event == "exec" and arguments[0].co_filename[:1] == "<":
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
    """Code is put together: by whom, and from what, is not known."""
    if _hooks.by_file and isinstance(filename, str) and not filename.startswith("<"):
        file = _hooks.file_of(filename)
        if file in _hooks.by_file:
            with _hooks.lock:
                _foreign.add(file)
                _decide()


def _is_reported(hook: Any, kind: Any, value: Any, trace: Any) -> None:
    """An exception ends the program, and somebody else's hook shows it."""
    if not hasattr(hook, "freezeframe"):
        _see_exception(kind, value, trace)


_AUDITED: dict[str, Callable[..., None]] = {
    "exec": _runs,
    "function.__new__": _runs,
    "code.__new__": _is_made,
    "sys.excepthook": _is_reported,
}


def leave() -> None:
    """Run the program as if no debugger had ever been there."""
    if _state["debugger"] is None:
        return
    with _hooks.lock:
        _hooks.remove()
        _foreign.clear()
        _state.update(debugger=_Gone, everywhere=False)
        for ident, frame in _others():
            if ident in _hooks.armed:
                _relax(ident, frame)
