"""Runs inside the debuggee: the text of this file is sent there and executed.

Nothing here runs in the daemon. The text must work in every Python from 3.8 on, import nothing of
this package, and never harm the program: each patch is applied separately, and one that fails
leaves the program as it was. The text becomes the module `_freezeframe` in `sys.modules`; `install`
may be called repeatedly, also in forked children.

`conditions.py` writes the expressions that call the functions below.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_lock = threading.Lock()
_state: dict[str, Any] = {"session": None, "pid": None, "debugger": None}
_counts: dict[str, list[Any]] = {}
_points: dict[str, list[dict[str, Any]]] = {}
_failures: dict[str, str] = {}
_passed: dict[int, list[str]] = {}
_fifos: dict[str, int] = {}


class Unstuck(Exception):
    """Thrown into a thread that takes too long to show a value.

    An Exception, so that pydevd shows the value without its repr and goes on with the next.
    """


class UnstuckAtAll(BaseException):
    """The same for code that catches every Exception; ends the whole request."""


def install(session: str) -> str:
    """Apply every patch to this process and return facts about it, as JSON.

    A new *session*, or a process forked from one where this ran, restarts its counts.
    """
    forked = _state["pid"] not in (None, os.getpid())
    if forked or _state["session"] != session:
        for counter in _counts.values():
            counter[0] = itertools.count(1).__next__
        _failures.clear()
        _passed.clear()
    if forked:
        # The lock may have been held by a thread that does not exist here.
        globals()["_lock"] = threading.Lock()
        for descriptor in _fifos.values():
            _quietly(os.close, descriptor)
        _fifos.clear()
    if _state["pid"] is None:
        getattr(os, "register_at_fork", dict)(after_in_child=_leave_fork_alone)
    _state["session"] = session
    _state["pid"] = os.getpid()
    _quietly(use_saved_threading)
    done = []
    debugger = sys.modules["_freezeframe_patches"].current()
    if debugger is not None and debugger is not _state["debugger"]:
        _state["debugger"] = debugger
        patches: Any = sys.modules["_freezeframe_patches"]
        for patch in (
            failing_tests,
            *patches.PATCHES,
            sys.modules["_freezeframe_threads"].simultaneous_hits,
            sys.modules["_freezeframe_recursion"].make_room,
            sys.modules["_freezeframe_threads"].held_signals,
            patches.untraced,  # the last: it wraps what the others installed
        ):
            try:
                patch(debugger)
                done.append(patch.__name__)
            except Exception:
                pass
    return json.dumps(
        {
            "pid": os.getpid(),
            "ppid": os.getppid(),
            "forked": forked,
            "role": _role(forked),
            "argv": [str(arg) for arg in getattr(sys, "argv", ())][:20],
            "cwd": _quietly(os.getcwd),
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "patches": done,
        }
    )


def failing_tests(debugger: Any) -> None:
    """Stop for a failing test as for an uncaught exception."""
    patches: Any = sys.modules["_freezeframe_patches"]

    def stop(kind: Any, value: Any, trace: Any) -> None:
        try:
            patches._stop_for(kind, value, trace)
        finally:
            patches._stopped_for.seen = None  # kept, it would keep the test's objects alive

    def is_program(frame: Any) -> bool:
        return bool(patches.current().in_project_scope(frame))

    failures: Any = sys.modules["_freezeframe_failures"]
    failures.watch(is_program, stop, patches._undo)


def use_saved_threading() -> None:
    """Make every agent module use the `threading` that pydevd saves where gevent patches it."""
    saved = sys.modules["_pydev_bundle._pydev_saved_modules"].threading
    for name, module in list(sys.modules.items()):
        if name.startswith("_freezeframe") and "threading" in vars(module):
            module.threading = saved  # type: ignore[attr-defined]


def leave() -> None:
    """Undo every change to the program; the debugger detaches after this."""
    watching = sys.modules.get("_freezeframe_watching")
    if watching is not None:
        _quietly(watching.leave)
    tracing = sys.modules.get("_freezeframe_tracing")
    if tracing is not None:
        _quietly(tracing.leave)
    sys.modules["_freezeframe_patches"].leave()
    attach = sys.modules.pop("_freezeframe_join", None)
    if attach is not None:
        attach.give_back()


def _leave_fork_alone() -> None:
    """Let a forked process that pydevd does not follow run as if there were no debugger.

    It has pydevd's callbacks and none of its threads: each stop would wait for ever.
    """
    if sys._getframe(1).f_code.co_name == "new_fork":
        return  # pydevd's own, which connects the process, or forgets the debugger
    debugger = sys.modules["_freezeframe_patches"].current()
    if debugger is None:
        return
    _quietly(leave)
    debugger.pydb_disposed = True
    sys.modules["_pydevd_bundle.pydevd_constants"].GlobalDebuggerHolder.global_dbg = None
    if sys.version_info >= (3, 12):
        monitoring = sys.monitoring
        _quietly(monitoring.set_events, monitoring.DEBUGGER_ID, 0)
        _quietly(monitoring.free_tool_id, monitoring.DEBUGGER_ID)
    else:
        sys.settrace(None)
    if "pydevd" in getattr(sys.breakpointhook, "__module__", ""):
        sys.breakpointhook = sys.__breakpointhook__


def _quietly(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception:
        return None


def _role(forked: bool) -> str:
    """Return `program`, or which process of multiprocessing's machinery this is."""
    command = " ".join(str(arg) for arg in getattr(sys, "orig_argv", ()))
    if "from multiprocessing.forkserver import main" in command:
        return "worker" if forked else "forkserver"
    if "from multiprocessing.resource_tracker import main" in command:
        return "tracker"
    if "from multiprocessing.spawn import spawn_main" in command:
        return "worker"
    return "fork" if forked else "program"


# --- breakpoints --------------------------------------------------------------------------------


def at(spec: str, frame_globals: dict[str, Any], frame_locals: Any) -> bool:
    """Return whether to stop here. The condition of every breakpoint that is more than a line.

    *spec* is a JSON list of the breakpoints that share this line. Each may have `only` (the
    qualified name of the one function that matches among those of one name), `when` (an
    expression), `hits` (compares `count`, the hits so far where `when` holds), and `log` with
    `to` (write a line instead of stopping). A `when` that raises counts as a stop when `on_error`
    is "stop"; in any case `failure` has the reason.
    """
    points = _points.get(spec)
    if points is None:
        points = _points[spec] = _prepare(spec)
    stops = []
    for point in points:
        key, code = point["key"], point["code"]
        if "only" in point and not _is_function(point["only"], frame_globals):
            continue
        try:
            if code is not None and not _value(code, frame_globals, frame_locals):
                continue
        except Exception as error:
            _failures[key] = f"{type(error).__name__}: {error}"
            if point.get("on_error") == "stop":
                stops.append(key)
            continue
        # Counted in this process; a breakpoint whose condition or hit count changes counts anew.
        if "hits" in point and not point["acts"](point["hit"][0]()):
            continue
        if "log" in point:
            log(point.get("to"), point["log"], frame_globals, frame_locals)
        else:
            stops.append(key)
    if stops:
        _passed[threading.get_ident()] = stops
    return bool(stops)


def tester(condition: str) -> Callable[[Any, Any], Any] | None:
    """Return a function of globals and locals that evaluates a *condition* with `at`.

    A line that is hit a million times must be cheap: a plain expression becomes a function of the
    locals that it reads.
    """
    constants = compile(condition, "<condition>", "eval").co_consts
    specs = [each for each in constants if isinstance(each, str) and each.startswith("[{")]
    if len(specs) != 1:
        return None
    spec = specs[0]
    points = _points[spec] = _prepare(spec)
    point = points[0]
    names = () if point["code"] is None else _names_read(point["code"])
    if len(points) > 1 or names is None or point.keys() & {"only", "log"}:
        return lambda frame_globals, frame_locals: at(spec, frame_globals, frame_locals)
    test: Any = None

    def again(frame_globals: dict[str, Any], frame_locals: Any) -> bool:
        nonlocal test
        test = _compiled_test(point, names or (), frame_globals, frame_locals, again)
        return bool(test(frame_globals, frame_locals))

    test = again
    return lambda frame_globals, frame_locals: test(frame_globals, frame_locals)


def _compiled_test(
    point: Any, names: tuple[str, ...], frame_globals: dict[str, Any], frame_locals: Any, again: Any
) -> Any:
    """Return the function of `tester` for a module and the names that have a value now; it calls
    *again* where these are others.
    """
    key = point["key"]
    local = [name for name in names if name in frame_locals]

    def fail(error: Exception) -> bool:
        _failures[key] = f"{type(error).__name__}: {error}"
        return hold() if point.get("on_error") == "stop" else False

    def hold() -> bool:
        _passed[threading.get_ident()] = [key]
        return True

    lines = [
        "def _ff_make(_ff_known, _ff_again, _ff_fail, _ff_hold, _ff_missing, _ff_error, _ff_hit):",
        " def _ff_test(_ff_globals, _ff_locals):",
        "  if _ff_globals is not _ff_known: return _ff_again(_ff_globals, _ff_locals)",
        *(
            f"  if {name!r} in _ff_locals: return _ff_again(_ff_globals, _ff_locals)"
            for name in names
            if name not in local
        ),
        "  try:",
        "   pass",
        *(f"   {name} = _ff_locals[{name!r}]" for name in local),
        "  except _ff_missing: return _ff_again(_ff_globals, _ff_locals)",
        f"  try: _ff_holds = True if (\n{point.get('when', 'True').strip()}\n) else False",
        "  except _ff_error as _ff_raised: return _ff_fail(_ff_raised)",
        *(
            [f"  count = _ff_hit[0]() if _ff_holds else 0; _ff_holds = count and {point['hits']}"]
            if "hits" in point
            else ()
        ),
        "  return _ff_hold() if _ff_holds else False",
        " return _ff_test",
    ]
    made: dict[str, Any] = {}
    exec("\n".join(lines), frame_globals, made)
    hit = point.get("hit")
    return made["_ff_make"](frame_globals, again, fail, hold, KeyError, Exception, hit)


def _names_read(code: Any) -> tuple[str, ...] | None:
    """Return the names that an expression reads; None if it does more than read them."""
    if code is None or isinstance(code, Exception) or _has_scopes(code):
        return None
    import opcode

    read, stores = opcode.opmap["LOAD_NAME"], {opcode.opmap["STORE_NAME"], opcode.EXTENDED_ARG}
    bytecode = code.co_code
    if any(op in stores for op in bytecode[::2]):
        return None
    offsets = (at for at in range(0, len(bytecode), 2) if bytecode[at] == read)
    return tuple(sorted({code.co_names[bytecode[at + 1]] for at in offsets}))


def _is_function(name: str, frame_globals: dict[str, Any]) -> bool:
    """Return whether the frame that a condition is evaluated for runs the function of that name."""
    # In between are the condition's own frame, which has the same globals, and pydevd's.
    frame = sys._getframe(2).f_back
    while frame is not None and frame.f_globals is not frame_globals:
        frame = frame.f_back
    if frame is None:
        return True
    names: Any = sys.modules["_freezeframe_names"]
    return bool(names.matches(name, frame.f_code, frame_globals))


def _prepare(spec: str) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = json.loads(spec)
    for point in points:
        point["code"] = _compiled(point["when"]) if "when" in point else None
        if "hits" in point:
            point["acts"] = eval("lambda count: " + point["hits"])
            counter = f"{point['key']} {point['hits']} {point.get('when')}"
            # Counted in C, and so by one thread at a time.
            point["hit"] = _counts.setdefault(counter, [itertools.count(1).__next__])
        for part in point.get("log", ()):
            if isinstance(part, dict):
                part["code"] = _compiled(part["value"])
    return points


def _compiled(expression: str) -> Any:
    try:
        return compile(expression.strip(), "<expression>", "eval")
    except Exception as error:
        # Raised at each hit, like an expression that compiles and fails.
        return error


def _value(code: Any, frame_globals: dict[str, Any], frame_locals: Any) -> Any:
    if isinstance(code, Exception):
        raise code.with_traceback(None)
    if _has_scopes(code):
        # A generator or lambda inside an expression sees globals only: pass the locals there.
        merged = dict(frame_globals)
        merged.update(frame_locals)
        return eval(code, merged)
    return eval(code, frame_globals, frame_locals)


def _has_scopes(code: Any) -> bool:
    return any(hasattr(constant, "co_code") for constant in code.co_consts)


def failure(key: str) -> str:
    """Return and clear why the condition of *key* last raised, or an empty string."""
    return _failures.pop(key, "")


def passed() -> str:
    """Return, as JSON, the keys that made each thread stop, by thread ident, and clear them."""
    taken = {str(ident): keys for ident, keys in list(_passed.items())}
    _passed.clear()
    return json.dumps(taken)


def log(
    path: str | None, parts: list[Any], frame_globals: dict[str, Any], frame_locals: Any
) -> bool:
    """Write one line to the FIFO at *path* and return False: a condition that never stops.

    The line is in the pipe when this returns, whatever the program does next. Without a reader it
    goes through the debugger's connection.
    """
    pieces = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
            continue
        try:
            value = _value(part["code"], frame_globals, frame_locals)
            pieces.append(_formatted(value, part.get("convert"), part.get("format") or ""))
        except Exception as error:
            pieces.append(f"<{type(error).__name__}: {error}>")
    line = "".join(pieces) + "\n"
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
            # Non-blocking, so that a missing reader is an error and not an endless wait.
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.set_blocking(descriptor, True)
            _fifos[path] = descriptor
        while data:
            data = data[os.write(descriptor, data) :]


def _send_output(line: str) -> None:
    debugger = sys.modules["_freezeframe_patches"].current()
    debugger.writer.add_command(debugger.cmd_factory.make_io_message(line, 1))


# --- values that hang ---------------------------------------------------------------------------


def unstick(patience_s: float = 1.0) -> int:
    """Interrupt every stopped thread that is busy answering a request; return how many were.

    Call it without a frame, while the request hangs. It throws again until the request is answered,
    giving up each value that hangs, and returns after *patience_s* at the latest. A thread that is
    inside C code for longer (a sleep, a lock) is not interrupted.
    """
    reached = set()
    pause = threading.Event()
    for attempt in range(max(1, int(patience_s / 0.05))):
        busy = _throw(Unstuck if attempt < 10 else UnstuckAtAll)
        if not busy:
            break
        reached.update(busy)
        if attempt == 15:
            for ident in busy:
                _quietly(sys.modules["_freezeframe_blocked"].wake, ident)
            pause.wait(0.2)
        pause.wait(0.05)
    else:
        for ident in busy:
            _quietly(sys.modules["_freezeframe_blocked"].withdraw, ident)
    return len(reached)


def blocked() -> str:
    """Return which thread is stuck in a request, and where; empty if none is."""
    hidden = sys.modules["_freezeframe_patches"]._is_debugger_s
    return str(sys.modules["_freezeframe_blocked"].where(_is_answering_request, hidden))


def beside(frame: int, expression: str) -> Any:
    """Return the value of an *expression* in a frame of a thread that is stuck in a request."""
    debugger = sys.modules["_freezeframe_patches"].current()
    return sys.modules["_freezeframe_blocked"].beside(debugger, frame, expression)


def _throw(kind: type) -> list[int]:
    import ctypes

    busy = []
    interval = sys.getswitchinterval()
    # The thread must not finish between the check and the throw: the exception would then be raised
    # in the debugger's wait loop.
    sys.setswitchinterval(10)
    try:
        for ident, frame in list(sys._current_frames().items()):
            if _is_answering_request(frame):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(ident), ctypes.py_object(kind)
                )
                busy.append(ident)
    finally:
        sys.setswitchinterval(interval)
    return busy


def _is_answering_request(frame: Any) -> bool:
    inside = []
    while frame is not None:
        name = frame.f_code.co_name
        if name == "_do_wait_suspend":
            return "do_it" in inside
        inside.append(name)
        frame = frame.f_back
    return False
