"""Trace the threads of the program; runs inside the debuggee.

`threading.settrace` has no effect on threads that are started by `_thread` itself.
"""

from __future__ import annotations

import _thread
import functools
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def watch(trace: Callable[..., Any], on_uncaught: Callable[[BaseException], None]) -> None:
    """Call *trace* first in each new thread, and *on_uncaught* where an exception ends one.

    *trace* is called with an event of the thread's, or without one.
    """
    threading.settrace(trace)
    original_hook = threading.excepthook

    def on_thread_exception(args: Any) -> None:
        if args.exc_value is not None and args.exc_type is not SystemExit:
            on_uncaught(args.exc_value)
        original_hook(args)

    threading.excepthook = on_thread_exception
    original = _thread.start_new_thread

    @functools.wraps(original)
    def start_new_thread(function: Any, *args: Any) -> int:
        if not callable(function):
            return original(function, *args)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> None:
            try:
                trace()
                function(*args, **kwargs)
            except SystemExit:
                raise
            except BaseException as error:
                on_uncaught(error)
                raise

        return original(run, *args)

    _thread.start_new_thread = _thread.start_new = start_new_thread
