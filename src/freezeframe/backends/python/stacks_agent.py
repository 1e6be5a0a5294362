"""Stacks of running threads; runs inside the program.

Becomes the module `_freezeframe_stacks`. A thread that waits inside the interpreter (for a lock, a
queue, a socket, a line of input) does not stop; any other thread can still read its frames. Works
in every Python from 3.8 on, imports nothing of this package, and runs no code of the program.
"""

from __future__ import annotations

import itertools
import linecache
import os
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_text: Any = sys.modules["_freezeframe_text"]
_MOST_THREADS = 20
_MOST_FRAMES = 40
#: frames with variables, and variables of one
_MOST_SHOWN = 6
_MOST_VALUES = 12
_LONGEST = 200


def of_threads(is_hidden: Callable[[Any], bool]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield each thread of the program with its frames, innermost first."""
    threads = {each.ident: each for each in list(threading._active.values())}  # type: ignore[attr-defined]
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
        if frames:
            yield thread, frames


def listing(
    is_library: Callable[[str], bool], is_hidden: Callable[[Any], bool]
) -> list[dict[str, Any]]:
    """Return each thread of the program with its frames, innermost first."""
    found = [
        _thread(thread, frames, is_library)
        for thread, frames in itertools.islice(of_threads(is_hidden), _MOST_THREADS)
    ]
    found.sort(key=lambda each: each["name"] != "MainThread")
    return found


def _thread(thread: Any, frames: list[Any], is_library: Callable[[str], bool]) -> dict[str, Any]:
    user_frame = next((f for f in frames if not is_library(f.f_code.co_filename)), None)
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
        "ident": thread.ident,
        "waits": _waits(frames, user_frame),
        "asleep": _asleep(thread),
        "frames": stack,
    }


def _values(frame: Any) -> list[tuple[str, str]]:
    found = []
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
        found.append((name, text))
        if len(found) == _MOST_VALUES:
            break
    return found


def _asleep(thread: Any) -> bool | None:
    """Return whether the system has put a thread to sleep; None if unknown."""
    try:
        with open(f"/proc/self/task/{thread.native_id}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"R"
    except (OSError, IndexError, AttributeError):
        return None


def _waits(frames: list[Any], user_frame: Any) -> str | None:
    """Return the call that a thread is in: into a library, or the text of its line."""
    if user_frame is None:
        return None
    at = frames.index(user_frame)
    if at:
        inner = frames[at - 1]
        name = getattr(inner.f_code, "co_qualname", inner.f_code.co_name)
        return f"{inner.f_globals.get('__name__')}.{name}"
    return _called(user_frame)


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
    if line is None or start is None or end is None:
        return None
    text = linecache.getline(frame.f_code.co_filename, line)
    if line != last:
        # To enter the context is a call of the whole statement up to 3.11.
        head = re.sub(r"\s+#.*", "", text.strip())
        return head[:-1] if head.startswith("with ") and head.endswith(":") else None
    call = text.encode("utf-8", "replace")[start:end].decode("utf-8", "replace")
    if call.startswith("with "):
        # The whole statement, which is one line up to 3.12.
        call = call.partition(":")[0]
        return call if ":" in text else None
    if text.lstrip().startswith("with ") and "(" not in call:
        return f"with {call}"
    return call if "(" in call else None
