"""Let the program use `sys.settrace` beside pydevd; runs inside the debuggee.

Sent there together with `agent.py`, under the same rules, and used up to CPython 3.11, where pydevd
traces the program by `sys.settrace`. It becomes the module `_freezeframe_shared_tracing`.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_sharing: Any = sys.modules["_freezeframe_trace_sharing"]
_OWN = ("pydevd", "_pydevd", "_freezeframe")
_module_of: Any = type.__dict__["__module__"].__get__


def is_own(tracer: Any) -> bool:
    """Return whether a trace function is pydevd's or ours."""
    if type(tracer) is functools.partial:
        tracer = tracer.func
    kind = type(tracer)
    if kind in (types.MethodType, types.BuiltinMethodType):
        kind = type(tracer.__self__)
    named = kind is types.FunctionType or kind.__name__ == "cython_function_or_method"
    module = tracer.__module__ if named else _module_of(kind)
    return isinstance(module, str) and module.startswith(_OWN)


def install(debugger: Any, requested: Callable[[], Any] | None = None) -> None:
    """Call the program's trace functions together with those of *debugger*.

    *requested* returns the trace function that the current thread needs, or None; without it pydevd
    traces every thread.
    """
    tracing: Any = sys.modules["pydevd_tracing"]
    # pydevd's replacement warns on the program's stderr, inside the new trace function.
    tracing.restore_sys_set_trace_func()
    wait = debugger.do_wait_suspend

    def do_wait_suspend(*arguments: Any, **named: Any) -> Any:
        found = _sharing.locals_of(sys._getframe())
        try:
            return wait(*arguments, **named)
        finally:
            _sharing.restore(found)
            if "_freezeframe_watching" in sys.modules:
                sys.modules["_freezeframe_watching"].trace_begun()

    enable = debugger.enable_tracing

    def enable_tracing(*arguments: Any, **named: Any) -> None:
        enable(*arguments, **named)
        _sharing.rejoin()

    debugger.do_wait_suspend = do_wait_suspend
    debugger.enable_tracing = enable_tracing

    def traced(before: Any) -> Any:
        if getattr(threading.current_thread(), "is_pydev_daemon_thread", False):
            return None
        if requested is not None:
            return requested()
        return before if before is not None and is_own(before) else None

    files = {each.__code__.co_filename for each in (install, tracing.SetTrace)}
    _sharing.watch(is_own, traced, files)
