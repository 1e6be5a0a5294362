"""Frames of a stop, by number or by function."""

from __future__ import annotations

import difflib
import re

from freezeframe.errors import NotFound, UsageError
from freezeframe.model.calls import CallSite
from freezeframe.model.stops import Frame
from freezeframe.session.source_cache import Sources
from freezeframe.session.stop_state import StopState

#: frames that are searched for a function
_MOST_SEARCHED = 1000


def site_of(frame: Frame, sources: Sources) -> CallSite:
    """Return where a frame is, with the text of its line if that can be read."""
    text = None
    if frame.path is not None and frame.line is not None:
        text = sources.line(frame.path, frame.line)
    return CallSite(frame.path or "", frame.line or 0, frame.function, (text or "").strip())


async def frame_at(stop: StopState, which: str | None) -> Frame:
    """Return the frame that *which* names, by default the selected one. Raises NotFound."""
    if which is None:
        return await stop.current_frame()
    return await stop.frame(await number_of(stop, which))


async def number_of(stop: StopState, which: str, *, outward: bool = False) -> int:
    """Return the number of a frame: *which* itself, or that of a function's innermost frame.

    If one of the function's frames is selected and *outward* is set, it is the next outer one.
    Raises UsageError, and NotFound with the nearest name.
    """
    try:
        index = int(which, 0)
    except ValueError:
        return await _frame_of(stop, which, outward)
    if index < 0:
        raise UsageError("frames are counted from 0, the innermost.", next="dbg backtrace")
    return index


async def _frame_of(stop: StopState, function: str, outward: bool) -> int:
    frames = await stop.frames(_MOST_SEARCHED)

    def matches(name: str) -> bool:
        return name == function or re.split(r"\.|::|#", name.partition("(")[0])[-1] == function

    found = [frame.index for frame in frames if matches(frame.function)]
    if not found:
        names = [frame.function for frame in frames]
        near = difflib.get_close_matches(function, names, 1, 0.5)
        raise NotFound(
            f"no frame of this stack is in a function {function}.",
            next=f"dbg frame {near[0]}" if near else "dbg backtrace",
        )
    outer = [index for index in found if index > stop.selected and stop.selected in found]
    return outer[0] if outer and outward else found[0]
