"""Details of an exception that stopped the program; runs inside the debuggee.

Follows the rules of `agent.py`; becomes the module `_freezeframe_raised`. pydevd shows the wrong
lines of a call that spans several, calls every exception in a chain a cause, and knows neither
notes nor the exceptions of a group. `exceptions.py` reads what replaces pydevd's text: JSON, after
a prefix.
"""

from __future__ import annotations

import json
import sys
from typing import Any

_exceptions: Any = sys.modules["_freezeframe_exceptions"]
_PREFIX = "@freezeframe "
_MOST_FRAMES = 1200


def install() -> None:
    """Report exceptions instead of pydevd, in this process, from now on."""
    comm: Any = sys.modules["_pydevd_bundle.pydevd_comm"]
    if hasattr(comm, "freezeframe_raised"):
        return
    comm.freezeframe_raised = True
    original = comm.build_exception_info_response

    def build_exception_info_response(
        debugger: Any, thread_id: Any, *rest: Any, **named: Any
    ) -> Any:
        frames = debugger.suspended_frames_manager.get_frames_list(thread_id)
        chained = getattr(frames, "chained_frames_list", None)
        if frames is not None:
            # Earlier exceptions are reported here, and frames of tasks belong to no exception.
            frames.chained_frames_list = None
        try:
            response = original(debugger, thread_id, *rest, **named)
        finally:
            if frames is not None:
                frames.chained_frames_list = chained
        try:
            details = _details(debugger, frames, response.body.breakMode == "unhandled")
            if details is not None:
                response.body.details.stackTrace = _PREFIX + json.dumps(details)
        except Exception:
            # pydevd's text is better than none.
            pass
        return response

    comm.build_exception_info_response = build_exception_info_response


def _details(debugger: Any, frames: Any, is_unhandled: bool) -> dict[str, Any] | None:
    error: Any = frames.exc_desc if frames is not None else None
    if not issubclass(type(error), BaseException):
        return None
    at: dict[int, tuple[int, int]] = {}
    trace = frames.trace_obj if frames.trace_obj is not None else error.__traceback__
    while trace is not None:
        at[id(trace.tb_frame)] = (trace.tb_lineno, trace.tb_lasti)
        trace = trace.tb_next
    lines = []
    for frame in list(frames)[:_MOST_FRAMES]:
        if debugger.get_file_type(frame) == debugger.PYDEV_FILE:
            continue
        line, instruction = at.get(id(frame), (frame.f_lineno, frame.f_lasti))
        text = _exceptions.line_text(frame, line, instruction)
        lines.append([frame.f_code.co_filename, line, frame.f_code.co_name, text])
    return {
        "lines": lines[::-1],
        "links": _exceptions.links(error, is_unhandled),
        "details": _exceptions.details(error, is_unhandled),
        "failing": sys.modules["_freezeframe_failures"].is_failure(error),
        "test": sys.modules["_freezeframe_failures"].failing_test(error),
    }
