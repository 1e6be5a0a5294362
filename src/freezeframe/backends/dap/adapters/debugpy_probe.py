"""What runs inside the debuggee: the text of this file is sent there and executed.

Nothing here runs in the daemon. The text must work in every Python from 3.8 on, needs nothing of
this package, and must never harm the program: each cure is applied on its own and a failure of
one leaves the program as it was. It becomes the module `_freezeframe` in `sys.modules`; `install`
may be called as often as anyone likes, in forked children too.

`debugpy_conditions.py` writes the expressions that reach the functions below.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Names of pydevd's own: what this file knows about the inside of debugpy 1.8 stands in the
# `_cure_…` functions alone.

_lock = threading.Lock()
_state: dict[str, Any] = {"session": None, "pid": None, "debugger": None}
_counts: dict[str, int] = {}
_points: dict[str, list[dict[str, Any]]] = {}
_failures: dict[str, str] = {}
_passed: dict[int, list[str]] = {}
_fifos: dict[str, int] = {}
_marks = threading.local()


class Unstuck(Exception):
    """Thrown into a thread that spends too long on showing a value.

    An Exception, so that pydevd shows the value without its repr and goes on with the next.
    """


class UnstuckAtAll(BaseException):
    """The same, for code that survives every Exception; ends the whole request."""


def install(session: str) -> str:
    """Apply every cure to this process and return what it is, as JSON.

    A new *session*, or a process that was forked from one where this ran, starts its counts anew.
    """
    forked = _state["pid"] not in (None, os.getpid())
    if forked or _state["session"] != session:
        _counts.clear()
        _failures.clear()
        _passed.clear()
    if forked:
        # The lock may have been held by a thread that does not exist here.
        globals()["_lock"] = threading.Lock()
        for descriptor in _fifos.values():
            _quietly(os.close, descriptor)
        _fifos.clear()
    _state["session"] = session
    _state["pid"] = os.getpid()
    done = []
    debugger = _debugger()
    if debugger is not None and debugger is not _state["debugger"]:
        _state["debugger"] = debugger
        for cure in _CURES:
            try:
                cure(debugger)
                done.append(cure.__name__)
            except Exception:
                pass
    return json.dumps(
        {
            "pid": os.getpid(),
            "ppid": os.getppid(),
            "forked": forked,
            "role": _role(forked),
            "argv": [str(word) for word in getattr(sys, "argv", ())][:20],
            "cwd": _quietly(os.getcwd),
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "cures": done,
        }
    )


def _debugger() -> Any:
    pydevd = sys.modules.get("pydevd")
    return pydevd.get_global_debugger() if pydevd is not None else None


def _quietly(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception:
        return None


def _role(forked: bool) -> str:
    """Say `program`, or which process of multiprocessing's machinery this is."""
    command = " ".join(str(word) for word in getattr(sys, "orig_argv", ()))
    if "from multiprocessing.forkserver import main" in command:
        return "worker" if forked else "forkserver"
    if "from multiprocessing.resource_tracker import main" in command:
        return "tracker"
    if "from multiprocessing.spawn import spawn_main" in command:
        return "worker"
    return "fork" if forked else "program"


# --- breakpoints --------------------------------------------------------------------------------


def at(spec: str, frame_globals: dict[str, Any], frame_locals: Any) -> bool:
    """Return whether to stop here. The condition of every breakpoint that needs more than a line.

    *spec* is a JSON list of the points that share this line. Each may have `when` (an expression),
    `op` and `n` (how its hits are counted: only passes where `when` holds), and `log` with `to`
    (write a line instead of stopping). A `when` that raises counts as a stop when `on_error` is
    "stop"; in any case `failure` has the reason.
    """
    points = _points.get(spec)
    if points is None:
        points = _points[spec] = _prepare(spec)
    stops = []
    for point in points:
        key, code = point["key"], point["code"]
        try:
            if code is not None and not _value(code, frame_globals, frame_locals):
                continue
        except Exception as error:
            _failures[key] = f"{type(error).__name__}: {error}"
            if point.get("on_error") == "stop":
                stops.append(key)
            continue
        if "op" in point and not hit(key, point["op"], point["n"]):
            continue
        if "log" in point:
            log(point.get("to"), point["log"], frame_globals, frame_locals)
        else:
            stops.append(key)
    if stops:
        _passed[threading.get_ident()] = stops
    return bool(stops)


def _prepare(spec: str) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = json.loads(spec)
    for point in points:
        point["code"] = _compiled(point["when"]) if "when" in point else None
        for part in point.get("log", ()):
            if isinstance(part, dict):
                part["code"] = _compiled(part["value"])
    return points


def _compiled(expression: str) -> Any:
    try:
        return compile(expression.strip(), "<expression>", "eval")
    except Exception as error:
        # Raised at each pass, like an expression that compiles and fails.
        return error


def _value(code: Any, frame_globals: dict[str, Any], frame_locals: Any) -> Any:
    if isinstance(code, Exception):
        raise code
    if any(hasattr(constant, "co_code") for constant in code.co_consts):
        # A generator or lambda inside an expression sees globals only: hand it the locals there.
        merged = dict(frame_globals)
        merged.update(frame_locals)
        return eval(code, merged)
    return eval(code, frame_globals, frame_locals)


def hit(key: str, op: str, n: int) -> bool:
    """Count one pass of *key* in this process and compare the count with *n*."""
    with _lock:
        count = _counts[key] = _counts.get(key, 0) + 1
    if op == "==":
        return count == n
    if op == "!=":
        return count != n
    if op == ">=":
        return count >= n
    if op == ">":
        return count > n
    if op == "<=":
        return count <= n
    if op == "<":
        return count < n
    if op == "%":
        return n != 0 and count % n == 0
    return True


def count(key: str) -> int:
    """Return how often *key* was passed in this process."""
    return _counts.get(key, 0)


def failure(key: str) -> str:
    """Return and forget why the condition of *key* last raised, or an empty string."""
    return _failures.pop(key, "")


def passed() -> str:
    """Return, as JSON, the keys that made each thread stop, by thread ident, and forget them."""
    taken = {str(ident): keys for ident, keys in list(_passed.items())}
    _passed.clear()
    return json.dumps(taken)


def log(
    path: str | None, parts: list[Any], frame_globals: dict[str, Any], frame_locals: Any
) -> bool:
    """Write one line to the FIFO at *path* and return False: a condition that never stops.

    The line is in the pipe when this returns, whatever the program does next. Without a reader
    it goes through the debugger's own connection.
    """
    words = []
    for part in parts:
        if isinstance(part, str):
            words.append(part)
            continue
        try:
            value = _value(part["code"], frame_globals, frame_locals)
            words.append(_formatted(value, part.get("convert"), part.get("format") or ""))
        except Exception as error:
            words.append(f"<{type(error).__name__}: {error}>")
    line = "".join(words) + "\n"
    try:
        _write(path, line)
    except Exception:
        _quietly(_send_output, line)
    return False


def _formatted(value: Any, conversion: str | None, spec: str) -> str:
    if conversion == "r":
        value = repr(value)
    elif conversion == "a":
        value = ascii(value)
    elif conversion == "s":
        value = str(value)
    return format(value, spec)


def _write(path: str | None, line: str) -> None:
    if path is None:
        raise ValueError("no place to write to")
    data = line.encode("utf-8", "backslashreplace")
    with _lock:
        descriptor = _fifos.get(path)
        if descriptor is None:
            # Non-blocking, so that a reader who is gone is an error and not a wait for ever.
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.set_blocking(descriptor, True)
            _fifos[path] = descriptor
        while data:
            data = data[os.write(descriptor, data) :]


def _send_output(line: str) -> None:
    debugger = _debugger()
    debugger.writer.add_command(debugger.cmd_factory.make_io_message(line, 1))


# --- a value that never shows -------------------------------------------------------------------


def unstick(patience_s: float = 1.0) -> int:
    """Interrupt every stopped thread that is busy answering a request; return how many were.

    Call it without a frame, while the request hangs. It throws again until the request is
    answered, each value that hangs being given up on its own, and returns after *patience_s* at
    the latest. A thread that is deep in C code (a sleep, a lock) is reached when that returns.
    """
    reached = set()
    pause = threading.Event()
    for attempt in range(max(1, int(patience_s / 0.05))):
        busy = _throw(Unstuck if attempt < 10 else UnstuckAtAll)
        if not busy:
            break
        reached.update(busy)
        pause.wait(0.05)
    return len(reached)


def _throw(kind: type) -> list[int]:
    import ctypes

    busy = []
    interval = sys.getswitchinterval()
    # The thread must not finish between the look and the throw: the exception would then land in
    # the debugger's wait loop.
    sys.setswitchinterval(10)
    try:
        for ident, frame in list(sys._current_frames().items()):
            if _answers_a_request(frame):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(ident), ctypes.py_object(kind)
                )
                busy.append(ident)
    finally:
        sys.setswitchinterval(interval)
    return busy


def _answers_a_request(frame: Any) -> bool:
    inside = []
    while frame is not None:
        name = frame.f_code.co_name
        if name == "_do_wait_suspend":
            return "do_it" in inside
        inside.append(name)
        frame = frame.f_back
    return False


# --- cures --------------------------------------------------------------------------------------


def _cure_delay(debugger: Any) -> None:
    # pydevd sends a header and its body apart; Nagle then holds the body back for 40 ms.
    import socket

    debugger.writer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _cure_buffering(debugger: Any) -> None:
    # What was printed before a stop must be seen at that stop, as on a terminal.
    for stream in (sys.__stdout__, sys.__stderr__):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and not stream.line_buffering:  # type: ignore[union-attr]
            _quietly(lambda change=reconfigure: change(line_buffering=True))

    wait = debugger.do_wait_suspend

    def do_wait_suspend(*arguments: Any, **named: Any) -> Any:
        _quietly(_flush)
        return wait(*arguments, **named)

    debugger.do_wait_suspend = do_wait_suspend


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


def _cure_system_exit(debugger: Any) -> None:
    # `breakOnSystemExit: []` still stops on sys.exit("text").
    debugger.ignore_system_exit_code = lambda _exit: True


def _cure_slow_values(debugger: Any) -> None:
    # After 3 s on one value pydevd lets all other threads run: a stop that is none.
    comm = sys.modules["_pydevd_bundle.pydevd_comm"]
    comm.PYDEVD_UNBLOCK_THREADS_ON_VARIABLES_TIMEOUT = -1.0  # type: ignore[attr-defined]


def _cure_tracker(debugger: Any) -> None:
    # multiprocessing's resource tracker is no program of the user's; followed, it outlives the
    # program by 0.7 s.
    monkey = sys.modules["_pydev_bundle.pydev_monkey"]
    patch = monkey.patch_args
    if getattr(patch, "freezeframe", False):
        return

    def patch_args(args: Any, is_exec: bool = False) -> Any:
        if any("multiprocessing.resource_tracker" in str(word) for word in args):
            return args
        return patch(args, is_exec)

    patch_args.freezeframe = True  # type: ignore[attr-defined]
    monkey.patch_args = patch_args  # type: ignore[attr-defined]


def _cure_exit(debugger: Any) -> None:
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


def _cure_unseen_exceptions(debugger: Any) -> None:
    # pydevd does not see an uncaught RecursionError: its own tracing dies of it. The interpreter's
    # last hook does.
    stop = debugger.do_stop_on_unhandled_exception

    def do_stop_on_unhandled_exception(thread: Any, frame: Any, frames: Any, arg: Any) -> Any:
        _marks.seen = arg[1]
        step = arg[2]
        while step is not None and _is_debugger_s(step.tb_frame):
            step = step.tb_next
        # A file that does not compile has no frame to stop in (3.11 would, with an empty stack).
        return stop(thread, frame, frames, arg) if step is not None else None

    debugger.do_stop_on_unhandled_exception = do_stop_on_unhandled_exception
    if not hasattr(sys.excepthook, "freezeframe"):
        sys.excepthook = _hooked(sys.excepthook, lambda *exception: exception)
    if not hasattr(threading.excepthook, "freezeframe"):
        threading.excepthook = _hooked(
            threading.excepthook,
            lambda args: (args.exc_type, args.exc_value, args.exc_traceback),
        )


def _hooked(
    hook: Callable[..., Any], exception_of: Callable[..., tuple[Any, Any, Any]]
) -> Callable[..., Any]:
    def excepthook(*arguments: Any) -> Any:
        kind, value, trace = exception_of(*arguments)
        shown = _quietly(_without_debugger, trace)
        _quietly(_stop_for, kind, value, shown)
        if len(arguments) == 3 and value is not None:
            value.__traceback__ = shown
            arguments = (kind, value, shown)
        return hook(*arguments)

    excepthook.freezeframe = True  # type: ignore[attr-defined]
    return excepthook


def _without_debugger(trace: Any) -> Any:
    """Cut the debugger's own frames off both ends of a traceback: the program's is what remains."""
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
    debugger = _state["debugger"]
    return _traces(frame) or bool(debugger.get_file_type(frame) == debugger.PYDEV_FILE)


def _traces(frame: Any) -> bool:
    # By name: pydevd does not know its own compiled files.
    return os.path.basename(frame.f_code.co_filename).startswith("pydevd_")


def _stop_for(kind: Any, value: Any, trace: Any) -> None:
    seen = getattr(_marks, "seen", None)
    _marks.seen = None
    debugger = _debugger()
    if seen is value or debugger is None or trace is None or debugger.pydb_disposed:
        return
    debugger.trigger_exception_handler((kind, value, trace))


_CURES = (
    _cure_delay,
    _cure_buffering,
    _cure_system_exit,
    _cure_slow_values,
    _cure_tracker,
    _cure_exit,
    _cure_unseen_exceptions,
)
