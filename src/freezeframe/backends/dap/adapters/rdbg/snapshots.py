"""Parse the threads of a running program that `threads_agent.rb` reports."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from freezeframe.backends.backend import Target
from freezeframe.backends.snapshots import Snapshot
from freezeframe.model.answers import Stack
from freezeframe.model.stops import Frame, Thread

_DEADLOCK = (
    "every thread waits for another one: without a debugger Ruby ends here with"
    ' "No live threads left. Deadlock?"'
)

#: scripts that load a program of a gem
_RUNNER = re.compile(r"/bin/(?:bundler?|cucumber|minitest|rake|rspec|spring)\Z")
#: These methods only call blocks.
_ITERATORS = frozenset({"each", "each_with_index", "loop", "map", "times", "tap", "then"})


def is_library(path: str, target: Target | None) -> bool:
    if "/gems/" in path or "/lib/ruby/" in path or path.startswith("<internal:"):
        return True
    return _RUNNER.search(path) is not None


def read(text: str) -> Snapshot:
    """Return the snapshot; an empty one if the text cannot be read."""
    try:
        answer = json.loads(base64.b64decode(text.strip('"')))
        stacks = tuple(map(_stack, answer["threads"]))
        return Snapshot(stacks, notes=(_DEADLOCK,) if answer["deadlock"] and stacks else ())
    except (ValueError, TypeError, KeyError, AttributeError):
        return Snapshot()


def _stack(entry: Mapping[str, Any]) -> Stack:
    frames = tuple(_frame(index, each) for index, each in enumerate(entry["frames"]))
    inner = frames[: next((f.index for f in frames if not f.library), 0)]
    calls = [f.function for f in inner if f.function not in _ITERATORS]
    waits = f"in {calls[-1]}" if calls else ""
    state = "running" if entry["status"] == "run" else waits or "waiting"
    thread = Thread(int(entry["id"]), str(entry["name"]), state, frames[0] if frames else None)
    return Stack(thread, frames, selected=-1)


def _frame(index: int, entry: Mapping[str, Any]) -> Frame:
    path = str(entry["path"])
    library = bool(entry["c"]) or is_library(path, None)
    return Frame(index, str(entry["function"]), path, int(entry["line"]), library=library)
