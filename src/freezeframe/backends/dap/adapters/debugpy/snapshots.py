"""What `async_probe.py` tells of threads and tasks, read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from freezeframe.backends.snapshots import Snapshot
from freezeframe.model.answers import Stack
from freezeframe.model.stops import Frame, Task, Thread
from freezeframe.model.values import Value

from .exceptions import is_foreign


def read(text: str) -> Snapshot:
    """Return the snapshot; an empty one where the text cannot be read."""
    try:
        told = json.loads(text)
        return Snapshot(
            tuple(_stack(number, each) for number, each in enumerate(told.get("threads", ()), 1)),
            tuple(_task(each) for each in told.get("tasks", ())),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return Snapshot()


def _task(told: Mapping[str, Any]) -> Task:
    frame = _frame(0, told) if told["path"] is not None else None
    return Task(str(told["name"]), str(told["state"]), frame, told["awaits"], told["by"])


def _stack(number: int, told: Mapping[str, Any]) -> Stack:
    frames = tuple(_frame(index, each) for index, each in enumerate(told["frames"]))
    values = {
        index: tuple(Value(str(name), str(text)) for name, text in each["values"])
        for index, each in enumerate(told["frames"])
        if each["values"]
    }
    waits = told["waits"]
    state = f"in {waits}" if waits else "waiting" if told["asleep"] else "running"
    thread = Thread(number, str(told["name"]), state, frames[0] if frames else None)
    return Stack(thread, frames, selected=-1, values=values)


def _frame(index: int, told: Mapping[str, Any]) -> Frame:
    path = str(told["path"])
    return Frame(
        index,
        str(told["function"]),
        path,
        int(told["line"]) if told["line"] is not None else None,
        library=is_foreign(path),
    )
