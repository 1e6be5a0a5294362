"""Cures for what pydevd (debugpy 1.8) does to a program; runs inside the debuggee.

Sent there together with `main_probe.py`, under the same rules: Python 3.8 on, nothing of this
package, no harm. It becomes the module `_freezeframe_cures`. What we know about the inside of
pydevd stands here and nowhere else. Each cure takes the debugger of this process, and is applied
once to each.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: what a thread stopped for last
_marks = threading.local()
#: modules that are not there yet: name → text; those that a process needs which stops, and those
#: that let it run untraced
_later: dict[str, str] = {}
_untraced: dict[str, str] = {}
_loading = threading.Lock()
#: what gives the program back what cures changed about it
_undo: list[Callable[[], Any]] = []
#: filter of exceptions → names of the types that it is narrowed to
_only: dict[str, list[str]] = {}
#: the debugger of this process, also when it has been put away
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
    """Undo what was changed about the program itself, the last change first."""
    while _undo:
        _quietly(_undo.pop())


def delay(debugger: Any) -> None:
    import socket  # pydevd sends a header and its body apart; Nagle holds the body back for 40 ms

    debugger.writer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def buffering(debugger: Any) -> None:
    # What was printed before a stop must be seen at that stop, as on a terminal.
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
    import select

    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is None or stream.closed:
            continue
        # A pipe that nobody reads must not keep the stop from being told.
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLOUT)
        if poll.poll(0):
            stream.flush()


def later(texts: Any, untraced: Any) -> None:
    """Keep the texts of modules that a process which stops needs, and of those of `untraced`."""
    _later.update(texts)
    _untraced.update(untraced)
    # In a forked process the lock may have been held by a thread that does not exist there.
    globals()["_loading"] = threading.Lock()


def values(debugger: Any) -> None:
    # pydevd sorts variables, runs properties, and cuts texts without saying how much is missing.
    wait = debugger.do_wait_suspend

    def do_wait_suspend(*arguments: Any, **named: Any) -> Any:
        _quietly(_tell_values, debugger)
        try:
            return wait(*arguments, **named)
        finally:
            _quietly(_resume_values)

    debugger.do_wait_suspend = do_wait_suspend


def snapshot(stacks: bool) -> str:
    """Return the living tasks, with the *stacks* of threads, as JSON; the program may run."""
    _load()
    probes: Any = sys.modules
    probes["_freezeframe_values"].install(current())
    return str(probes["_freezeframe_async"].snapshot(stacks, _is_debugger_s))


def _load() -> None:
    # Threads may stop together, each for the first time.
    with _loading:
        _compile(_later)


def _tell_values(debugger: Any) -> None:
    _load()
    probes: Any = sys.modules
    probes["_freezeframe_values"].install(debugger)
    _quietly(probes["_freezeframe_hooks"].install)
    probes["_freezeframe_changes"].stopped()
    for name in ("async", "raised", "templates", "sources"):
        probes[f"_freezeframe_{name}"].install()


def _compile(texts: dict[str, str]) -> None:
    for name, text in texts.items():
        if name not in sys.modules:
            module = type(sys)(name)
            exec(compile(text, current.__code__.co_filename, "exec"), module.__dict__)
            sys.modules[name] = module


def untraced(debugger: Any) -> None:
    # In 3.11 pydevd traces every call of the program, which runs 3 to 12 times as long; later it
    # looks at every line of a function that has a breakpoint.
    if sys.implementation.name != "cpython" or sys.version_info < (3, 11):
        return
    later = "_freezeframe_monitoring"
    own = sys.version_info >= (3, 12)
    _compile({name: text for name, text in _untraced.items() if (name == later) is own})
    probes: Any = sys.modules
    if own:
        probes[later].install(debugger)
    else:
        probes["_freezeframe_tracing"].govern(debugger)


def _resume_values() -> None:
    sys.modules["_freezeframe_values"].resumed()


def system_exit(debugger: Any) -> None:
    # `breakOnSystemExit: []` still stops on sys.exit("text"); a test is not meant to end so.
    failures = sys.modules["_freezeframe_failures"]
    debugger.ignore_system_exit_code = lambda exit: not failures.is_failure(exit)


def slow_values(debugger: Any) -> None:
    # After 3 s on one value pydevd lets all other threads run: a stop that is none.
    comm = sys.modules["_pydevd_bundle.pydevd_comm"]
    comm.PYDEVD_UNBLOCK_THREADS_ON_VARIABLES_TIMEOUT = -1.0  # type: ignore[attr-defined]
    # After 3 s on an expression it writes twenty lines of advice among the program's output.
    constants = sys.modules["_pydevd_bundle.pydevd_constants"]
    constants.PYDEVD_WARN_EVALUATION_TIMEOUT = 1e6  # type: ignore[attr-defined]


def slow_conditions(debugger: Any) -> None:
    # pydevd compiles a condition anew at every pass; ours are long, and never raise.
    handle = debugger.handle_breakpoint_condition
    tests: dict[str, Any] = {}

    def handle_breakpoint_condition(info: Any, point: Any, frame: Any) -> Any:
        condition = point.condition
        if point.hit_condition or not condition or "'_freezeframe'" not in condition:
            return handle(info, point, frame)
        test = tests.get(condition)
        if test is None:
            probe: Any = sys.modules["_freezeframe"]
            test = tests[condition] = probe.tester(condition)
        if test is None:
            return handle(info, point, frame)
        return test(frame.f_globals, frame.f_locals)

    debugger.handle_breakpoint_condition = handle_breakpoint_condition


def slow_exit(debugger: Any) -> None:
    # pydevd polls every 200 ms for the end of the program and then waits 500 ms for a thread of
    # its own that cannot end before this one does.
    dispose = debugger.dispose_and_kill_all_pydevd_threads

    def dispose_and_kill_all_pydevd_threads(wait: bool = True, timeout: float = 0.5) -> None:
        # Closed by pydevd as soon as it does not wait, the connection would lose its last words.
        connection, debugger._client_socket = debugger._client_socket, None
        writer = debugger.writer
        dispose(wait=False, timeout=timeout)
        if wait and writer is not None and writer is not threading.current_thread():
            _quietly(writer.join, timeout)
        if connection is not None:
            _quietly(connection.close)

    debugger.dispose_and_kill_all_pydevd_threads = dispose_and_kill_all_pydevd_threads
    watch = debugger._create_check_output_thread

    def _create_check_output_thread() -> None:
        watch()
        _quietly(_hurry_at_exit, debugger.check_alive_thread)

    debugger._create_check_output_thread = _create_check_output_thread
    if debugger.check_alive_thread is not None:
        _hurry_at_exit(debugger.check_alive_thread)


def _hurry_at_exit(watcher: Any) -> None:
    watcher._wait_event = _Hurry(watcher._wait_event)
    threading._register_atexit(watcher._wait_event.hurry)  # type: ignore[attr-defined]


class _Hurry:
    """The event that pydevd's watcher sleeps on, awake once the interpreter begins to end."""

    def __init__(self, event: Any) -> None:
        self._event = event
        self._hurried = False
        self._pause = threading.Event()

    def hurry(self) -> None:
        self._hurried = True
        self._event.set()

    def set(self) -> None:
        self._event.set()

    def wait(self, timeout: float | None = None) -> None:
        if self._hurried:
            self._pause.wait(0.005)
        else:
            self._event.wait(timeout)


def doubled_output(debugger: Any) -> None:
    # What a statement that we run prints goes to the program's streams and to us; we read both.
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
            # Unless it was the statement's purpose to put another stream there.
            if sys.stdout is to_us[0]:
                sys.stdout = before[0]
            if sys.stderr is to_us[1]:
                sys.stderr = before[1]

    io.redirect_stream_to_pydb_io_messages_context = redirect_stream_to_pydb_io_messages_context


def repeated_raises(debugger: Any) -> None:
    # `raised` stops again in every frame that the exception leaves; once, where it starts, is what
    # was asked for.
    add = debugger.add_break_on_exception

    def add_break_on_exception(*arguments: Any, **named: Any) -> Any:
        # Not with justMyCode: it may start in a library, where nobody wants to stop.
        if "notify_on_first_raise_only" in named and not named.get("ignore_libraries"):
            named["notify_on_first_raise_only"] = True
        return add(*arguments, **named) if not _only else _add_narrowed(add, arguments, named)

    debugger.add_break_on_exception = add_break_on_exception


class Named(type):
    """A type to which every class belongs that has one of its *names*, or inherits from one.

    pydevd looks a class up when it is asked to stop at it; the program's own are not there yet.
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
    """Set each filter by itself, those that are narrowed with their types."""
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
    # pydevd does not see an uncaught RecursionError: its own tracing dies of it. The interpreter's
    # last hook does.
    _latest["debugger"] = debugger
    stop = debugger.do_stop_on_unhandled_exception

    def do_stop_on_unhandled_exception(thread: Any, frame: Any, frames: Any, arg: Any) -> Any:
        _marks.seen = arg[1]
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
        # The program may have put its own in the place of ours meanwhile.
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
    """Cut the debugger's own frames off both ends of a traceback, and its errors off *error*."""
    _quietly(sys.modules["_freezeframe_recursion"].cut_context, error, _is_debugger_s)
    while trace is not None and _is_debugger_s(trace.tb_frame):
        trace = trace.tb_next
    step = trace
    while step is not None and step.tb_next is not None:
        # From here on it is the tracing of the last line: it, too, runs out of stack.
        if _traces(step.tb_next.tb_frame):
            step.tb_next = None
        step = step.tb_next
    return trace


def _is_debugger_s(frame: Any) -> bool:
    debugger = _latest["debugger"]
    return _traces(frame) or bool(debugger.get_file_type(frame) == debugger.PYDEV_FILE)


def _traces(frame: Any) -> bool:
    # By name: pydevd does not know its own compiled files, nor ours.
    name = os.path.basename(str(frame.f_code.co_filename))
    return name.startswith(("pydevd_", "_pydevd_", "<frozen freezeframe"))


def _stop_for(kind: Any, value: Any, trace: Any) -> None:
    seen = getattr(_marks, "seen", None)
    _marks.seen, debugger = None, current()
    if seen is value or debugger is None or trace is None or debugger.pydb_disposed:
        return
    debugger.trigger_exception_handler((kind, value, trace))


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
        probe: Any = sys.modules["_freezeframe_loaded"]
        loaded = _quietly(probe.edited_lines, code) if type(code) is str else None
        return lines(code) if loaded is None else loaded

    _get_code_lines.freezeframe = True  # type: ignore[attr-defined]
    api._get_code_lines = _get_code_lines


def coroutines(debugger: Any) -> None:
    # pydevd's steps end in the event loop where a coroutine of the user's gives control to it.
    suspend, wait = debugger.set_suspend, debugger.do_wait_suspend

    def probe() -> Any:
        return sys.modules.get("_freezeframe_async")

    def set_suspend(thread: Any, reason: int, *arguments: Any, **named: Any) -> Any:
        if probe() is not None and _quietly(probe().goes_on, debugger, thread, reason):
            return None
        return suspend(thread, reason, *arguments, **named)

    def do_wait_suspend(thread: Any, frame: Any, *arguments: Any, **named: Any) -> Any:
        if probe() is not None and probe().declined():
            return None
        try:
            return wait(thread, frame, *arguments, **named)
        finally:
            if probe() is not None:
                _quietly(probe().resumed, thread, frame)

    debugger.set_suspend = set_suspend
    debugger.do_wait_suspend = do_wait_suspend


CURES = (
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
