"""Stacks of threads that nothing has stopped; runs inside the program.

It becomes the module `_freezeframe_stacks`. A thread that waits inside the interpreter (for a lock,
a queue, a socket, a line of input) does not come to a stop; its frames can be read all the same by
any other thread. Works in every Python from 3.8 on, needs nothing of this package, and runs nothing
of the program's.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_text: Any = sys.modules["_freezeframe_text"]
_MOST_THREADS = 20
_MOST_FRAMES = 40
#: frames with variables, and variables of one
_MOST_SHOWN = 6
_MOST_VALUES = 12
_LONGEST = 200


def listing(
    is_library: Callable[[str], bool], is_hidden: Callable[[Any], bool]
) -> list[dict[str, Any]]:
    """Return each thread of the program with its frames, innermost first."""
    threads = {each.ident: each for each in list(threading._active.values())}  # type: ignore[attr-defined]
    told: list[dict[str, Any]] = []
    frame: Any
    for ident, frame in sys._current_frames().items():
        thread = threads.get(ident)
        if thread is None or getattr(thread, "is_pydev_daemon_thread", False):
            continue
        frames: list[Any] = []
        while frame is not None and len(frames) < _MOST_FRAMES:
            if not is_hidden(frame):
                frames.append(frame)
            frame = frame.f_back
        if frames and len(told) < _MOST_THREADS:
            told.append(_thread(thread, frames, is_library))
    told.sort(key=lambda each: each["name"] != "MainThread")
    return told


def _thread(thread: Any, frames: list[Any], is_library: Callable[[str], bool]) -> dict[str, Any]:
    own = next((f for f in frames if not is_library(f.f_code.co_filename)), None)
    shown = 0
    stack = []
    for frame in frames:
        path = frame.f_code.co_filename
        library = is_library(path)
        values: list[tuple[str, str]] = []
        if not library and shown < _MOST_SHOWN and frame.f_code.co_name != "<module>":
            shown += 1
            values = _values(frame)
        stack.append(
            {
                "function": str(getattr(frame.f_code, "co_qualname", frame.f_code.co_name)),
                "path": path if path.startswith("<") else os.path.abspath(path),
                "line": frame.f_lineno,
                "library": library,
                "values": values,
            }
        )
    return {
        "name": str(thread.name),
        "waits": _waits(frames, own),
        "asleep": _asleep(thread),
        "frames": stack,
    }


def _values(frame: Any) -> list[tuple[str, str]]:
    told = []
    try:
        named = dict(frame.f_locals)
    except Exception:
        return []
    for name, value in named.items():
        if name.startswith(("__", ".", "@")):
            continue
        try:
            text = _text.text_of(value, _LONGEST)
        except Exception:
            text = f"<{type(value).__name__}>"
        told.append((name, text))
        if len(told) == _MOST_VALUES:
            break
    return told


def _asleep(thread: Any) -> bool | None:
    """Return whether the system has put a thread to sleep; None where it does not tell."""
    try:
        with open(f"/proc/self/task/{thread.native_id}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"R"
    except (OSError, IndexError, AttributeError):
        return None


def _waits(frames: list[Any], own: Any) -> str | None:
    """Return the call that a thread is in: of a library, or the words of its line."""
    if own is None:
        return None
    at = frames.index(own)
    if at:
        inner = frames[at - 1]
        name = getattr(inner.f_code, "co_qualname", inner.f_code.co_name)
        return f"{inner.f_globals.get('__name__')}.{name}"
    return _called(own)


def _called(frame: Any) -> str | None:
    """Return the text of the call that *frame* is in."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None or frame.f_lasti < 0:
        return None
    found = list(positions())
    at = frame.f_lasti // 2
    if at >= len(found):
        return None
    line, last, start, end = found[at]
    if line is None or line != last or start is None or end is None:
        return None
    text = linecache.getline(frame.f_code.co_filename, line)
    words = text.encode("utf-8", "replace")[start:end].decode("utf-8", "replace")
    if text.lstrip().startswith("with ") and "(" not in words:
        return f"with {words}"
    return words if "(" in words else None
