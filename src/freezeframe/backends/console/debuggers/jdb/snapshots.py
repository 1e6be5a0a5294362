"""What `Threads.java` tells of a program that runs, read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.backends.snapshots import Snapshot
from freezeframe.model.answers import Stack
from freezeframe.model.stops import Frame, Thread
from freezeframe.model.values import Value


def read(told: Sequence[Mapping[str, Any]]) -> Snapshot:
    """Return the stacks of the threads, each with the variables of its own frames."""
    return Snapshot(tuple(_stack(each) for each in told))


def _stack(told: Mapping[str, Any]) -> Stack:
    frames = tuple(
        Frame(
            index,
            str(each["function"]),
            each.get("path"),
            each.get("line"),
            module=each.get("module"),
            library=bool(each.get("library")),
        )
        for index, each in enumerate(told["frames"])
    )
    values = {
        index: tuple(Value(str(name), str(text)) for name, text in each["values"])
        for index, each in enumerate(told["frames"])
        if each.get("values")
    }
    thread = Thread(
        int(told["id"]), str(told["name"]), str(told["state"]), frames[0] if frames else None
    )
    return Stack(thread, frames, selected=-1, values=values)
