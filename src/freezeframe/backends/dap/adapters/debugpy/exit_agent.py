"""Debugging of what runs after the program's last line; runs inside the debuggee.

Follows the rules of `agent.py`; becomes the module `_freezeframe_exit`. Python joins the threads,
marks the main thread as ended, and then calls in it what was registered with `atexit`. pydevd ends
with the last thread: a breakpoint in such a function would be passed. Here it ends with pydevd's
own exit function, which was registered before those of the program and so runs after them.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

#: pydevd's modules that ask whether a thread is alive, each with a name of its own for that
_QUERIES = (
    "pydevd",
    "_pydevd_bundle.pydevd_additional_thread_info_regular",
    "_pydevd_bundle.pydevd_cython",
    "_pydevd_bundle.pydevd_net_command_factory_json",
    "_pydevd_bundle.pydevd_net_command_factory_xml",
    "_pydevd_bundle.pydevd_trace_dispatch_regular",
    "_pydevd_sys_monitoring._pydevd_sys_monitoring",
)
#: the threads that run the program's exit functions
_exiting: list[Any] = []


def exit_functions(debugger: Any) -> None:
    """Keep *debugger* until the program's exit functions have run, and no longer."""
    dispose = debugger.dispose_and_kill_all_pydevd_threads

    def dispose_and_kill_all_pydevd_threads(wait: bool = True, timeout: float = 0.5) -> None:
        if _exiting and threading.current_thread() is debugger.check_alive_thread:
            return
        # pydevd waits 500 ms for a thread of its own that cannot end before this one does. It
        # closes the connection if it does not wait, and would lose the last messages.
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
    _quietly(_see_exiting_threads, debugger)


def _see_exiting_threads(debugger: Any) -> None:
    """Make pydevd trace the thread that calls the exit functions, which has ended by its state."""
    alive: Any = sys.modules["_pydev_bundle.pydev_is_thread_alive"].is_thread_alive

    def is_thread_alive(thread: Any) -> bool:
        return any(thread is each for each in _exiting) or bool(alive(thread))

    for name in _QUERIES:
        module: Any = sys.modules.get(name)
        for each in ("is_thread_alive", "pydevd_is_thread_alive"):
            if getattr(module, each, None) is alive:
                setattr(module, each, is_thread_alive)
    monitoring: Any = sys.modules.get("_pydevd_sys_monitoring._pydevd_sys_monitoring")
    if monitoring is not None:
        monitoring.ThreadInfo.is_thread_alive = lambda self: is_thread_alive(self.thread)

    def has_user_threads_alive() -> bool:
        utils: Any = sys.modules["_pydevd_bundle.pydevd_utils"]
        return any(
            alive(each) and (not each.daemon or hasattr(each, "__pydevd_main_thread"))
            for each in utils.get_non_pydevd_threads()
        )

    debugger.has_user_threads_alive = has_user_threads_alive


def _hurry_at_exit(watcher: Any) -> None:
    event = watcher._wait_event = _Hurry(watcher._wait_event)
    module: Any = threading
    end = module._shutdown

    def _shutdown() -> None:
        event.hurry()
        end()

    def undo() -> None:
        # The program may have replaced it by its own meanwhile.
        if module._shutdown is _shutdown:
            module._shutdown = end

    module._shutdown = _shutdown
    sys.modules["_freezeframe_patches"]._undo.append(undo)


class _Hurry:
    """The event that pydevd's watcher waits on, set once the interpreter begins to exit.

    The watcher would look every 200 ms whether the program's threads have ended.
    """

    def __init__(self, event: Any) -> None:
        self._event = event
        self._hurried = False
        self._pause = threading.Event()

    def hurry(self) -> None:
        thread: Any = threading.current_thread()
        _exiting.append(thread)
        if getattr(thread, "additional_info", None) is not None:
            # A step from the program's last line ends with the program.
            thread.additional_info.pydev_step_cmd = -1
        self._hurried = True
        self._event.set()

    def set(self) -> None:
        self._event.set()

    def wait(self, timeout: float | None = None) -> None:
        if self._hurried:
            self._pause.wait(0.005)
        else:
            self._event.wait(timeout)


def _quietly(call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception:
        return None
