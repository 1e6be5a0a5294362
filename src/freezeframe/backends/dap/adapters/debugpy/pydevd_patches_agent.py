"""Patches for what pydevd (debugpy 1.8) does to a program; runs inside the debuggee.

Sent there together with `agent.py`, under the same rules: Python 3.8 on, nothing of this package,
no harm. It becomes the module `_freezeframe_patches`. Knowledge of pydevd's internals is here and
nowhere else. Each patch takes the debugger of this process, and is applied once to each debugger.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: what a thread stopped for last
_stopped_for = threading.local()
#: modules that are not loaded yet: name → text; those that a process needs once it stops, and those
#: that let it run untraced: up to 3.11, 3.11 alone, from 3.12 on
_later: dict[str, str] = {}
_untraced: list[dict[str, str]] = []
_loading = threading.Lock()
#: functions that undo the patches' changes to the program
_undo: list[Callable[[], Any]] = []
#: exception filter → names of the types that it is narrowed to
_only: dict[str, list[str]] = {}
#: the debugger of this process, also after it was disposed
_latest: dict[str, Any] = {}


def _quietly(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception:
        return None


def current() -> Any:
    """Return the debugger of this process, or None."""
    pydevd = sys.modules.get("pydevd")
    return pydevd.get_global_debugger() if pydevd is not None else None


def leave() -> None:
    """Undo the changes to the program itself, the last change first."""
    while _undo:
        _quietly(_undo.pop())


def delay(debugger: Any) -> None:
    import socket  # pydevd sends header and body separately; Nagle delays the body by 40 ms

    debugger.writer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def buffering(debugger: Any) -> None:
    # Output printed before a stop must be visible at that stop, as on a terminal.
    for stream in (sys.__stdout__, sys.__stderr__):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and not stream.line_buffering:  # type: ignore[union-attr]
            _buffer_lines(reconfigure)

    wait = debugger.do_wait_suspend

    def do_wait_suspend(*arguments: Any, **named: Any) -> Any:
        _quietly(_flush)
        return wait(*arguments, **named)

    debugger.do_wait_suspend = do_wait_suspend


def _buffer_lines(reconfigure: Any) -> None:
    _quietly(lambda: reconfigure(line_buffering=True))
    _undo.append(lambda: reconfigure(line_buffering=False))


def _flush() -> None:
    # Not the program's: gevent's poll lets other greenlets run, and the debugger does not see them.
    select: Any = sys.modules["_pydev_bundle._pydev_saved_modules"].select

    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is None or stream.closed:
            continue
        # A pipe without a reader must not delay the report of the stop.
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLOUT)
        if poll.poll(0):
            stream.flush()


def later(texts: Any, untraced: Any) -> None:
    """Keep the texts of modules that a process needs once it stops, and of those of `untraced`."""
    _later.update(texts)
    _untraced[:] = map(dict, untraced)
    # In a forked process the lock may have been held by a thread that does not exist there.
    globals()["_loading"] = threading.Lock()


def values(debugger: Any) -> None:
    # pydevd sorts variables, runs properties, and truncates texts without a note.
    wait = debugger.do_wait_suspend

    def do_wait_suspend(*arguments: Any, **named: Any) -> Any:
        _quietly(_install_values, debugger)
        try:
            return wait(*arguments, **named)
        finally:
            _quietly(_resume_values)

    debugger.do_wait_suspend = do_wait_suspend


def snapshot(stacks: bool, waits: bool) -> str:
    """Return tasks, *stacks* of threads and what they wait for, as JSON; the program may run."""
    _load()
    agents: Any = sys.modules
    agents["_freezeframe_values"].install(current())
    return str(agents["_freezeframe_async"].snapshot(stacks, waits, _is_debugger_s))


def _load() -> None:
    # Threads may stop together, each for the first time.
    with _loading:
        _compile(_later)


def _install_values(debugger: Any) -> None:
    _load()
    agents: Any = sys.modules
    agents["_freezeframe_values"].install(debugger)
    _quietly(agents["_freezeframe_hooks"].install)
    agents["_freezeframe_changes"].stopped()
    for name in ("async", "raised", "templates", "sources"):
        agents[f"_freezeframe_{name}"].install()


def _compile(texts: dict[str, str]) -> None:
    for name, text in texts.items():
        if name not in sys.modules:
            module = type(sys)(name)
            exec(compile(text, current.__code__.co_filename, "exec"), module.__dict__)
            sys.modules[name] = module
    sys.modules["_freezeframe"].use_saved_threading()


def untraced(debugger: Any) -> None:
    # In 3.11 pydevd traces every call of the program, which runs 3 to 12 times as long; in later
    # versions it gets every line of a function that has a breakpoint.
    if sys.implementation.name != "cpython":
        return
    stage = (sys.version_info >= (3, 11)) + (sys.version_info >= (3, 12))
    for group in ((0,), (0, 1), (2,))[stage]:
        _compile(_untraced[group])
    agent = ("shared_tracing", "tracing", "monitoring")[stage]
    sys.modules[f"_freezeframe_{agent}"].install(debugger)


def _resume_values() -> None:
    sys.modules["_freezeframe_values"].resumed()


def system_exit(debugger: Any) -> None:
    # `breakOnSystemExit: []` still stops on sys.exit("text"); tests end otherwise.
    failures = sys.modules["_freezeframe_failures"]
    debugger.ignore_system_exit_code = lambda exit: not failures.is_failure(exit)


def slow_values(debugger: Any) -> None:
    # After 3 s on one value pydevd resumes all other threads, so that the stop is incomplete.
    comm = sys.modules["_pydevd_bundle.pydevd_comm"]
    comm.PYDEVD_UNBLOCK_THREADS_ON_VARIABLES_TIMEOUT = -1.0  # type: ignore[attr-defined]
    # After 3 s on an expression it writes twenty lines of advice into the program's output.
    constants = sys.modules["_pydevd_bundle.pydevd_constants"]
    constants.PYDEVD_WARN_EVALUATION_TIMEOUT = 1e6  # type: ignore[attr-defined]


def slow_conditions(debugger: Any) -> None:
    # pydevd compiles a condition again at every hit; ours are long, and never raise.
    handle = debugger.handle_breakpoint_condition
    tests: dict[str, Any] = {}

    def handle_breakpoint_condition(info: Any, point: Any, frame: Any) -> Any:
        condition = point.condition
        if point.hit_condition or not condition or "'_freezeframe'" not in condition:
            return handle(info, point, frame)
        test = tests.get(condition)
        if test is None:
            agent: Any = sys.modules["_freezeframe"]
            test = tests[condition] = agent.tester(condition)
        if test is None:
            return handle(info, point, frame)
        return test(frame.f_globals, frame.f_locals)

    debugger.handle_breakpoint_condition = handle_breakpoint_condition


def slow_exit(debugger: Any) -> None:
    # pydevd polls for the end of the program, and ends before its exit functions.
    sys.modules["_freezeframe_exit"].exit_functions(debugger)


def doubled_output(debugger: Any) -> None:
    # Output of a statement that we run goes to the program's streams and to us; we read both.
    from contextlib import contextmanager

    io: Any = sys.modules["_pydevd_bundle.pydevd_io"]

    @contextmanager
    def redirect_stream_to_pydb_io_messages_context() -> Any:
        before = (sys.stdout, sys.stderr)
        to_us = [
            io.IORedirector(None, io.RedirectToPyDBIoMessages(number, stream, wrap_buffer=True))
            for number, stream in enumerate(before, 1)
        ]
        sys.stdout, sys.stderr = to_us
        try:
            yield
        finally:
            # Unless the statement itself replaced the stream.
            if sys.stdout is to_us[0]:
                sys.stdout = before[0]
            if sys.stderr is to_us[1]:
                sys.stderr = before[1]

    io.redirect_stream_to_pydb_io_messages_context = redirect_stream_to_pydb_io_messages_context


def repeated_raises(debugger: Any) -> None:
    # `raised` stops again in every frame that the exception leaves; only the first, where it is
    # raised, is wanted.
    add = debugger.add_break_on_exception

    def add_break_on_exception(*arguments: Any, **named: Any) -> Any:
        # Not with justMyCode: it may be raised in a library, where no stop is wanted.
        if "notify_on_first_raise_only" in named and not named.get("ignore_libraries"):
            named["notify_on_first_raise_only"] = True
        return add(*arguments, **named) if not _only else _add_narrowed(add, arguments, named)

    debugger.add_break_on_exception = add_break_on_exception
    # Filters may have been set before this agent came.
    for each in list((debugger.break_on_caught_exceptions or {}).values()):
        if not each.ignore_libraries:
            each.notify_on_first_raise_only = True


class Named(type):
    """A type that every class belongs to that has one of its *names*, or inherits from one.

    pydevd looks a class up when a filter is set; the program's classes do not exist yet.
    """

    names: tuple[str, ...] = ()

    def __subclasscheck__(cls, kind: type) -> bool:
        return any(
            base.__name__ in cls.names or f"{base.__module__}.{base.__qualname__}" in cls.names
            for base in kind.__mro__
        )


def narrow(types: dict[str, list[str]]) -> None:
    """Stop at exceptions of these types only; filter → names. For filters that are set later."""
    _only.clear()
    _only.update(types)


def _add_narrowed(add: Callable[..., Any], arguments: Any, named: dict[str, Any]) -> Any:
    """Set each filter separately, narrowed ones with their types."""
    flags = {
        "notify_on_handled_exceptions": "raised",
        "notify_on_unhandled_exceptions": "uncaught",
        "notify_on_user_unhandled_exceptions": "userUnhandled",
    }
    added = None
    for flag, filter in flags.items():
        if not named.get(flag):
            continue
        added = add(*arguments, **dict(named, **{each: int(each == flag) for each in flags}))
        if added is not None and filter in _only:
            added.type = Named("Named", (), {"names": tuple(_only[filter])})
    return added


def unseen_exceptions(debugger: Any) -> None:
    # pydevd does not see an uncaught RecursionError: its tracing fails with it. The interpreter's
    # excepthook sees it.
    _latest["debugger"] = debugger
    stop = debugger.do_stop_on_unhandled_exception

    def do_stop_on_unhandled_exception(thread: Any, frame: Any, frames: Any, arg: Any) -> Any:
        if _has_parent() and not getattr(_stopped_for, "in_greenlet", False):
            return None
        _stopped_for.seen = arg[1]
        step = trace = _without_debugger(arg[2], arg[1])
        shown = []
        while step is not None:
            shown.append(step.tb_frame)
            step = step.tb_next
        # A file that does not compile has no frame to stop in (3.11 would, with an empty stack).
        if not shown:
            return None
        return stop(thread, frame if frame in shown else shown[-1], frames, (*arg[:2], trace))

    debugger.do_stop_on_unhandled_exception = do_stop_on_unhandled_exception
    if not hasattr(sys.excepthook, "freezeframe"):
        _replace(sys, _hooked(sys.excepthook, lambda *exception: exception))
    if not hasattr(threading.excepthook, "freezeframe"):
        _replace(
            threading,
            _hooked(
                threading.excepthook,
                lambda args: (args.exc_type, args.exc_value, args.exc_traceback),
            ),
        )


def _replace(module: Any, hook: Callable[..., Any]) -> None:
    before, module.excepthook = module.excepthook, hook

    def undo() -> None:
        # The program may have replaced our hook by its own meanwhile.
        if module.excepthook is hook:
            module.excepthook = before

    _undo.append(undo)


def _hooked(
    hook: Callable[..., Any], exception_of: Callable[..., tuple[Any, Any, Any]]
) -> Callable[..., Any]:
    def excepthook(*arguments: Any) -> Any:
        kind, value, trace = exception_of(*arguments)
        shown = _quietly(_without_debugger, trace, value)
        _quietly(_stop_for, kind, value, shown)
        if len(arguments) == 3 and value is not None:
            value.__traceback__ = shown
            arguments = (kind, value, shown)
        if hook is not sys.__excepthook__:
            return hook(*arguments)
        # From 3.13 on the interpreter prints with Python code: no exception in there is a stop.
        tracing = _quietly(_pause_tracing)
        try:
            return hook(*arguments)
        finally:
            if tracing is not None:
                _quietly(tracing)

    excepthook.freezeframe = True  # type: ignore[attr-defined]
    return excepthook


def _pause_tracing() -> Callable[[], Any] | None:
    monitoring = sys.modules["_pydevd_sys_monitoring.pydevd_sys_monitoring"]
    paused = monitoring.suspend_current_thread_tracing()
    return monitoring.resume_current_thread_tracing if paused else None


def _without_debugger(trace: Any, error: Any) -> Any:
    """Remove the debugger's frames from both ends of a traceback, and its errors from *error*."""
    _quietly(sys.modules["_freezeframe_recursion"].cut_context, error, _is_debugger_s)
    while trace is not None and _is_debugger_s(trace.tb_frame):
        trace = trace.tb_next
    step = trace
    while step is not None and step.tb_next is not None:
        # From here on it is the tracing of the last line, which also runs out of stack.
        if _traces(step.tb_next.tb_frame):
            step.tb_next = None
        step = step.tb_next
    return trace


def _is_debugger_s(frame: Any) -> bool:
    debugger = _latest["debugger"]
    return _traces(frame) or bool(debugger.get_file_type(frame) == debugger.PYDEV_FILE)


def _traces(frame: Any) -> bool:
    # By name: pydevd recognizes neither its own compiled files nor ours.
    name = os.path.basename(str(frame.f_code.co_filename))
    return name.startswith(("pydevd_", "_pydevd_", "<frozen freezeframe"))


def _stop_for(kind: Any, value: Any, trace: Any) -> None:
    seen = getattr(_stopped_for, "seen", None)
    _stopped_for.seen, debugger = None, current()
    if seen is value or debugger is None or trace is None or debugger.pydb_disposed:
        return
    debugger.trigger_exception_handler((kind, value, trace))


def _has_parent() -> bool:
    """Return whether this is a greenlet whose exceptions another one gets, or gevent's hub."""
    greenlets: Any = sys.modules.get("greenlet")
    current_greenlet = getattr(greenlets, "getcurrent", None)
    return current_greenlet is not None and current_greenlet().parent is not None


def stop_for_greenlet(kind: Any, value: Any, trace: Any) -> None:
    """Stop for an exception that ends the current greenlet, and no other gets."""
    _stopped_for.in_greenlet = True
    try:
        _stop_for(kind, value, _without_debugger(trace, value))
    finally:
        _stopped_for.in_greenlet = False
        _stopped_for.seen = None  # kept, it would keep the exception's objects alive


def functions(debugger: Any) -> None:
    # pydevd knows functions by `co_name` only, and no generators up to 3.11.
    sys.modules["_freezeframe_functions"].install(debugger)


def edited_files(debugger: Any) -> None:
    # pydevd moves breakpoints to lines of the file; what runs may have been loaded before an edit.
    api: Any = sys.modules["_pydevd_bundle.pydevd_api"]
    lines = api._get_code_lines
    if hasattr(lines, "freezeframe"):
        return

    def _get_code_lines(code: Any) -> Any:
        agent: Any = sys.modules["_freezeframe_loaded"]
        loaded = _quietly(agent.edited_lines, code) if type(code) is str else None
        return lines(code) if loaded is None else loaded

    _get_code_lines.freezeframe = True  # type: ignore[attr-defined]
    api._get_code_lines = _get_code_lines


def coroutines(debugger: Any) -> None:
    # pydevd's steps end in the event loop where a coroutine of the user's code yields to it.
    suspend, wait = debugger.set_suspend, debugger.do_wait_suspend

    def agent() -> Any:
        return sys.modules.get("_freezeframe_async")

    def set_suspend(thread: Any, reason: int, *arguments: Any, **named: Any) -> Any:
        if agent() is not None and _quietly(agent().goes_on, debugger, thread, reason):
            return None
        return suspend(thread, reason, *arguments, **named)

    def do_wait_suspend(thread: Any, frame: Any, *arguments: Any, **named: Any) -> Any:
        if agent() is not None and agent().declined():
            return None
        try:
            return wait(thread, frame, *arguments, **named)
        finally:
            if agent() is not None:
                _quietly(agent().resumed, thread, frame)

    debugger.set_suspend = set_suspend
    debugger.do_wait_suspend = do_wait_suspend


PATCHES = (
    delay,
    functions,
    buffering,
    values,
    doubled_output,
    system_exit,
    slow_values,
    slow_conditions,
    slow_exit,
    repeated_raises,
    unseen_exceptions,
    edited_files,
    coroutines,
)
