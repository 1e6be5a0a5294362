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
    _repeat_frames(sys.modules["_pydevd_bundle.pydevd_frame_utils"])
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
    at = _positions(frames.trace_obj if frames.trace_obj is not None else error.__traceback__)
    lines = []
    for frame in list(frames)[:_MOST_FRAMES]:
        if debugger.get_file_type(frame) == debugger.PYDEV_FILE:
            continue
        known = at.get(id(getattr(frame, "_base_frame", frame)))
        if known is None:
            line, instruction = frame.f_lineno, frame.f_lasti
        else:
            line, instruction = known.pop() if len(known) > 1 else known[0]
        text = _exceptions.line_text(frame, line, instruction)
        lines.append([frame.f_code.co_filename, line, frame.f_code.co_name, text])
    return {
        "lines": lines[::-1],
        "links": _exceptions.links(error, is_unhandled),
        "details": _exceptions.details(error, is_unhandled),
        "failing": sys.modules["_freezeframe_failures"].is_failure(error),
        "test": sys.modules["_freezeframe_failures"].failing_test(error),
    }


def _positions(trace: Any) -> dict[int, list[tuple[int, int]]]:
    """Return line and instruction of each entry of a traceback, by the id of its frame.

    `raise error` in the frame that has caught the error gives that frame a second entry.
    """
    at: dict[int, list[tuple[int, int]]] = {}
    while trace is not None:
        at.setdefault(id(trace.tb_frame), []).append((trace.tb_lineno, trace.tb_lasti))
        trace = trace.tb_next
    return at


def _repeat_frames(utils: Any) -> None:
    """Show each entry of a traceback with its own line: pydevd has one line for a frame."""
    listed = utils.create_frames_list_from_traceback

    def create_frames_list_from_traceback(trace: Any, *arguments: Any, **named: Any) -> Any:
        frames = listed(trace, *arguments, **named)
        shown, lines = frames._frames, frames.frame_id_to_lineno
        at = {key: each for key, each in _positions(trace).items() if len(each) > 1}
        begun: set[int] = set()
        for index, frame in enumerate(shown if at else ()):
            known = at.get(id(frame))
            if known:
                line, _ = known.pop()
                if id(frame) in begun:
                    shown[index] = utils._DummyFrameWrapper(frame, line, frame.f_back)
                    shown[index].f_code = frame.f_code
                begun.add(id(frame))
                lines[id(shown[index])] = line
        return frames

    utils.create_frames_list_from_traceback = create_frames_list_from_traceback
