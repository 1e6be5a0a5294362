"""Threads that are blocked in C while they show a value; runs inside the debuggee.

Follows the rules of `agent.py`; becomes the module `_freezeframe_blocked`. A `__repr__` that waits
for a lock cannot be interrupted by an exception, and its thread answers nothing while it waits. The
main thread can be woken by a signal; the frames of any other thread can be read from outside.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from typing import Any

#: seconds that an expression may take for a blocked thread
_PATIENCE_S = 2.0


def wake(ident: int) -> bool:
    """Interrupt the main thread in a blocking call; return False if the program handles the
    signal."""
    main = threading.main_thread()
    if ident != main.ident or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    withdraw(ident)  # only the signal's exception must be raised
    text: Any = sys.modules.get("_freezeframe_text")
    if text is not None:
        text.interrupted.add(ident)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(ident, signal.SIGINT)
    else:  # Windows: a call in C is not cut short
        _thread.interrupt_main()
    return True


class _Received(BaseException):
    """Thrown to a thread that expects it."""


def withdraw(ident: int) -> None:
    """Take back an exception that was thrown to a thread and has not been raised there."""
    import ctypes

    throw = ctypes.pythonapi.PyThreadState_SetAsyncExc
    throw(ctypes.c_ulong(ident), None)
    if sys.version_info >= (3, 13):
        return
    # The interpreter looks for an exception to raise, at every call, until one is raised in any
    # thread; 3.11 never gets beyond the first instruction of a traced function meanwhile.
    try:
        throw(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(_Received))
        for _ in range(100):
            pass
    except _Received:
        pass


def where(busy: Any, is_hidden: Any) -> str:
    """Return which thread answers a request and where it is, as text; empty if none does."""
    for ident, frame in list(sys._current_frames().items()):
        if not busy(frame):
            continue
        name = getattr(threading._active.get(ident), "name", "a thread")  # type: ignore[attr-defined]
        while frame.f_back is not None and is_hidden(frame):
            frame = frame.f_back
        code = frame.f_code
        function = getattr(code, "co_qualname", code.co_name)
        return f"{name} at {os.path.basename(code.co_filename)}:{frame.f_lineno} in {function}"
    return ""


def beside(debugger: Any, frame_id: int, expression: str) -> Any:
    """Return the value of an *expression* in a frame of a thread that cannot evaluate it."""
    schema: Any = sys.modules["_pydevd_bundle._debug_adapter.pydevd_base_schema"]
    frame_id = schema.BaseSchema._translate_id_from_dap(frame_id)
    frames = debugger.suspended_frames_manager
    frame = frames.find_frame(frames.get_thread_id_for_variable_reference(frame_id), frame_id)
    if frame is None:
        raise LookupError("the frame is gone")
    return _evaluated(frame, expression)


def _evaluated(frame: Any, expression: str) -> Any:
    code = compile(expression.strip(), "<expression>", "eval")
    results: list[Any] = []

    def work() -> None:
        try:
            value = eval(code, frame.f_globals, frame.f_locals)
            repr(value)  # if it blocks here, it blocks no other thread
            results.append((value, None))
        except BaseException as error:
            results.append((None, error))

    thread: Any = threading.Thread(target=work, daemon=True)
    thread.is_pydev_daemon_thread = thread.pydev_do_not_trace = True
    thread.start()
    thread.join(_PATIENCE_S)
    if not results:
        raise TimeoutError("it is blocked as well")
    value, error = results[0]
    if error is not None:
        raise error
    return value
