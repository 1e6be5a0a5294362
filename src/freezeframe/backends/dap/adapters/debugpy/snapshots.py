"""Parse the threads and tasks that `async_agent.py` reports."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.backends.python import read_task
from freezeframe.backends.snapshots import Snapshot
from freezeframe.model.answers import Stack
from freezeframe.model.calls import CallSite
from freezeframe.model.stops import Frame, Task, Thread
from freezeframe.model.values import Value
from freezeframe.model.waits import Hold, Wait, WaitFacts

from .exceptions import is_foreign


def read(text: str) -> Snapshot:
    """Return the snapshot; an empty one if the text cannot be read."""
    try:
        answer = json.loads(text)
        return Snapshot(
            tuple(map(_stack, _numbered(answer.get("threads", ())))),
            tuple(_task(each) for each in answer.get("tasks", ())),
            waits=_facts(answer["waits"]) if "waits" in answer else None,
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return Snapshot()


def _facts(answer: Mapping[str, Any]) -> WaitFacts:
    waits = (
        Wait(
            str(each["waiter"]),
            str(each["name"]),
            str(each["kind"]),
            str(each["what"] or ""),
            each["resource"],
            tuple(map(str, each["targets"])),
            is_any=bool(each["any"]),
            at=_site(each["at"]),
            detail=str(each["detail"]),
        )
        for each in answer["waits"]
    )
    holds = (
        Hold(str(each["holder"]), str(each["resource"]), _site(each["at"]), bool(each["certain"]))
        for each in answer["holds"]
    )
    return WaitFacts(tuple(waits), tuple(holds))


def _site(entry: Mapping[str, Any] | None) -> CallSite | None:
    if entry is None:
        return None
    where = str(entry["path"]), int(entry["line"] or 0), str(entry["function"])
    return CallSite(*where, str(entry["text"]))


def _task(entry: Mapping[str, Any]) -> Task:
    return read_task(entry, library=entry["path"] is not None and is_foreign(entry["path"]))


def _numbered(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the threads in the order of their numbers; unknown ones get the next free numbers."""
    last = max((int(each["id"]) for each in entries if each["id"] is not None), default=0)
    free = itertools.count(last + 1)
    found = [each if each["id"] is not None else {**each, "id": next(free)} for each in entries]
    return sorted(found, key=lambda each: int(each["id"]))


def _stack(entry: Mapping[str, Any]) -> Stack:
    frames = tuple(_frame(index, each) for index, each in enumerate(entry["frames"]))
    values = {
        index: tuple(Value(str(name), str(text)) for name, text in each["values"])
        for index, each in enumerate(entry["frames"])
        if each["values"]
    }
    waits = entry["waits"]
    state = f"in {waits}" if waits else "waiting" if entry["asleep"] else "running"
    thread = Thread(int(entry["id"]), str(entry["name"]), state, frames[0] if frames else None)
    return Stack(thread, frames, selected=-1, values=values)


def _frame(index: int, entry: Mapping[str, Any]) -> Frame:
    path = str(entry["path"])
    return Frame(
        index,
        str(entry["function"]),
        path,
        int(entry["line"]) if entry["line"] is not None else None,
        library=is_foreign(path),
    )
