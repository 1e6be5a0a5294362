"""Breakpoints on functions; runs inside the debuggee, under the rules of `agent.py`.

Becomes the module `_freezeframe_functions`. pydevd compares a name with `co_name` and nothing else:
not with the name that a module exports a function by, and, up to Python 3.11, never for generators
and coroutines. Here `function_names_agent.py` decides which functions a name matches.
"""

from __future__ import annotations

import re
import sys
import threading
from typing import Any

_names: Any = sys.modules["_freezeframe_names"]
_GENERATOR_OR_COROUTINE = 0x20 | 0x80
_ONLY = re.compile(r'"only": "([^"\\]+)"')
_CMD_SET_FUNCTION_BREAK = 208
#: the file of code that was given to `exec` as a text
_MADE = "<string>"


class Functions(dict):  # type: ignore[type-arg]
    """Function breakpoints by name; pydevd looks them up for each function that is called."""

    def __init__(self, breakpoints: dict[str, Any]) -> None:
        super().__init__(breakpoints)
        self._names = {
            name: _ONLY.findall(point.condition or "") or [name]
            for name, point in breakpoints.items()
        }
        self._found: dict[Any, Any] = {}

    def get(self, name: str, default: Any = None) -> Any:
        # pydevd's compiled code has no frames: the nearest is the function's.
        frame: Any = sys._getframe(1)
        for _ in range(4):
            if frame is None or frame.f_code.co_name == name:
                break
            frame = frame.f_back
        if frame is None or frame.f_code.co_name != name:
            return super().get(name, default)
        found = self.find(frame)
        if found is not None and name == "<lambda>" and stops_alone():
            return _KEEP_TRACING
        return default if found is None else found

    def find(self, frame: Any) -> Any:
        """Return the breakpoint for the function that *frame* runs, or None."""
        code = frame.f_code
        if not _names.is_function(code):
            return None
        try:
            return self._found[code]
        except KeyError:
            pass
        found = super().get(code.co_name)
        if found is None:
            for name, patterns in self._names.items():
                if any(_names.matches(each, code, frame.f_globals) for each in patterns):
                    found = self[name]
                    break
        self._found[code] = found
        return found


class _KeepTracing:
    """A breakpoint where pydevd does not stop (it never does at the call of a lambda): it only
    keeps pydevd from skipping the function at its next call."""

    expression = condition = None
    has_condition = is_logpoint = False
    suspend_policy = "NONE"
    breakpoint_id = -1


_KEEP_TRACING = _KeepTracing()


def stops_alone() -> bool:
    """Return whether pydevd uses `sys.settrace`, where it does not stop at the start of a
    coroutine."""
    return sys.version_info < (3, 12)


def install(debugger: Any) -> None:
    """Look up function breakpoints here from now on."""
    api: Any = sys.modules["_pydevd_bundle.pydevd_api"].PyDevdAPI
    if not hasattr(api, "freezeframe_functions"):
        api.freezeframe_functions = True
        their_set = api.set_function_breakpoints

        def set_function_breakpoints(self: Any, py_db: Any, points: Any) -> Any:
            answer = their_set(self, py_db, points)
            _replace(py_db)
            return answer

        api.set_function_breakpoints = set_function_breakpoints
        _see_made_code(type(debugger))
    _replace(debugger)


def _see_made_code(debugger_type: Any) -> None:
    """Stop at breakpoints in code that `exec` made, which pydevd takes for a library's."""
    their_type = debugger_type.get_file_type

    def get_file_type(self: Any, frame: Any, *arguments: Any, **named: Any) -> Any:
        kind = their_type(self, frame, *arguments, **named)
        code = frame.f_code
        if kind is None or code.co_filename != _MADE or kind == self.PYDEV_FILE:
            return kind
        functions = self.function_breakpoint_name_to_breakpoint
        if _MADE in self.breakpoints or (functions and functions.find(frame) is not None):
            self.get_cache_file_type()[code.co_firstlineno, _MADE, code] = None
            return None
        return kind

    debugger_type.get_file_type = get_file_type


def _replace(debugger: Any) -> None:
    table = Functions(debugger.function_breakpoint_name_to_breakpoint)
    debugger.function_breakpoint_name_to_breakpoint = table
    if not stops_alone():
        return
    debugger.__dict__.pop("get_file_type", None)
    if not table:
        return
    their_type = debugger.get_file_type

    def get_file_type(frame: Any, *arguments: Any, **named: Any) -> Any:
        # Called for each traced call, before pydevd decides that it is none.
        kind = their_type(frame, *arguments, **named)
        code = frame.f_code
        skipped = code.co_flags & _GENERATOR_OR_COROUTINE or code.co_name == "<lambda>"
        if skipped and kind is None and _begins(frame):
            _stop_at_call(debugger, table, frame)
        return kind

    debugger.get_file_type = get_file_type


def _begins(frame: Any) -> bool:
    """Return whether this thread is about to run the first instruction of *frame*."""
    caller: Any = sys._getframe(2)
    for _ in range(2):
        if caller is frame:
            break
        caller = caller.f_back
    return caller is frame and bool(_names.begins(frame))


def _stop_at_call(debugger: Any, table: Functions, frame: Any) -> None:
    point = table.find(frame)
    if point is None:
        return
    thread = threading.current_thread()
    info = sys.modules["_pydevd_bundle.pydevd_additional_thread_info"].set_additional_thread_info(
        thread
    )
    if point.has_condition and not debugger.handle_breakpoint_condition(info, point, frame):
        return
    debugger.set_suspend(
        thread, _CMD_SET_FUNCTION_BREAK, suspend_other_threads=point.suspend_policy == "ALL"
    )
    info.hit_breakpoint_ids = [point.breakpoint_id]
    debugger.do_wait_suspend(thread, frame, "call", None)
