"""Parse the snapshot of a running program that `Threads.java` sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.backends.snapshots import Snapshot
from freezeframe.model.answers import Stack
from freezeframe.model.stops import Frame, Thread
from freezeframe.model.values import Value


def read(threads: Sequence[Mapping[str, Any]]) -> Snapshot:
    """Return the stacks of the threads, each with the variables of its user frames."""
    return Snapshot(tuple(_stack(each) for each in threads))


def _stack(thread_info: Mapping[str, Any]) -> Stack:
    frames = tuple(
        Frame(
            index,
            str(each["function"]),
            each.get("path"),
            each.get("line"),
            module=each.get("module"),
            library=bool(each.get("library")),
        )
        for index, each in enumerate(thread_info["frames"])
    )
    values = {
        index: tuple(Value(str(name), str(text)) for name, text in each["values"])
        for index, each in enumerate(thread_info["frames"])
        if each.get("values")
    }
    thread = Thread(
        int(thread_info["id"]),
        str(thread_info["name"]),
        str(thread_info["state"]),
        frames[0] if frames else None,
    )
    return Stack(thread, frames, selected=-1, values=values)
