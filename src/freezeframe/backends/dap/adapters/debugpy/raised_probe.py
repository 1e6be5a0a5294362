"""What is told of an exception that stopped the program; runs inside the debuggee.

Under the rules of `main_probe.py`; it becomes the module `_freezeframe_raised`. pydevd shows the
wrong lines of a call that is written over several, calls every exception in a chain a cause, and
knows neither notes nor the exceptions of a group. `exceptions.py` reads what stands in the place of
its text: JSON, behind a mark.
"""

from __future__ import annotations

import json
import sys
from typing import Any

_exceptions: Any = sys.modules["_freezeframe_exceptions"]
_MARK = "@freezeframe "
_MOST_FRAMES = 1200


def install() -> None:
    """Tell exceptions in pydevd's place, in this process, from now on."""
    comm: Any = sys.modules["_pydevd_bundle.pydevd_comm"]
    if hasattr(comm, "freezeframe_raised"):
        return
    comm.freezeframe_raised = True
    theirs = comm.build_exception_info_response

    def build_exception_info_response(
        debugger: Any, thread_id: Any, *rest: Any, **named: Any
    ) -> Any:
        frames = debugger.suspended_frames_manager.get_frames_list(thread_id)
        chained = getattr(frames, "chained_frames_list", None)
        if frames is not None:
            # Those before it are told here, and the frames of tasks are no exception's.
            frames.chained_frames_list = None
        try:
            response = theirs(debugger, thread_id, *rest, **named)
        finally:
            if frames is not None:
                frames.chained_frames_list = chained
        try:
            told = _told(debugger, frames, response.body.breakMode == "unhandled")
            if told is not None:
                response.body.details.stackTrace = _MARK + json.dumps(told)
        except Exception:
            # Its own text is better than none.
            pass
        return response

    comm.build_exception_info_response = build_exception_info_response


def _told(debugger: Any, frames: Any, asked: bool) -> dict[str, Any] | None:
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
        "links": _exceptions.links(error, asked),
        "details": _exceptions.details(error, asked),
        "failing": sys.modules["_freezeframe_failures"].is_failure(error),
    }
