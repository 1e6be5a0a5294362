"""Run a Python program with a probe at one line, at nearly full speed."""

from __future__ import annotations

import array
import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from freezeframe import files, paths
from freezeframe.backends.backend import Launch
from freezeframe.model.fast_dataclass import dataclass

from .traced_run import run_to_end, start_injected

#: bytes of one block of hits, and of what one process writes
_MAX_BLOCK, _MAX_FILE = 16_000_000, 400_000_000

#: gets the values of each expression, for some hits: integers, or texts
OnHits = Callable[[list[Sequence[str] | Sequence[int]]], None]


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    path: str
    line: int
    expressions: tuple[str, ...]
    #: recording ends at the first hit where this holds, and the program with it
    until: str | None = None
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class ProbedRun:
    """How a program with a probe ended."""

    #: None: it was killed at the time limit
    status: int | None
    #: the hit where the condition held
    found: int | None = None
    #: whether the file was loaded, and whether it has code at the line
    loaded: bool = False
    has_line: bool = False
    exception: str | None = None
    #: hits at which the condition raised, and what it raised last
    undecided: int = 0
    problem: str = ""
    #: processes that ended without writing their last hits
    unfinished: int = 0
    processes: int = 0


async def run_probed(target: Launch, request: ProbeRequest, on_hits: OnHits) -> ProbedRun:
    """Run *target* to its end or to the condition; hits are given to *on_hits* afterwards.

    Raises Unsupported if no agent can be put into the program, and LaunchFailed if it does not
    start.
    """
    directory = paths.scratch()
    probe = {
        "path": os.path.realpath(request.path),
        "line": request.line,
        "expressions": list(request.expressions),
        "until": request.until,
    }
    settings: dict[str, object] = {"probe": probe, "directory": directory}
    try:
        program = start_injected(target, settings, directory, None)
        status, _ = await run_to_end(program, request.seconds)
        return await asyncio.to_thread(_read, directory, status, on_hits)
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, True)


def _read(directory: str, status: int | None, on_hits: OnHits) -> ProbedRun:
    names = sorted(name for name in os.listdir(directory) if name.startswith("probe."))
    ends: list[dict[str, Any]] = []
    for name in names:
        for record in _records(os.path.join(directory, name)):
            if "columns" in record:
                on_hits(record["columns"])
            else:
                ends.append(record)
    last = next((each for each in ends if each.get("found") is not None), None)
    exception = next((each["exception"] for each in ends if each.get("exception")), None)
    return ProbedRun(
        status,
        int(last["found"]) if last is not None else None,
        any(each.get("loaded") for each in ends),
        any(each.get("has_line") for each in ends),
        str(exception) if exception else None,
        sum(int(each.get("undecided") or 0) for each in ends),
        next((str(each["problem"]) for each in ends if each.get("problem")), ""),
        len(names) - len(ends),
        len(names),
    )


def _column(column: Any, file: BinaryIO) -> Sequence[str] | Sequence[int]:
    """Return the texts of a column, or its integers, which are packed behind the record.

    Raises ValueError if they are cut off.
    """
    if not isinstance(column, dict):
        return list(map(str, column))
    size = 8 * int(column["q"])
    packed = file.read(size) if 0 <= size <= _MAX_BLOCK else b""
    if len(packed) != size:
        raise ValueError(size)
    return array.array("q", packed)


def _records(path: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file; what was cut off or is damaged is left out."""
    with os.fdopen(files.open_input(path), "rb") as file:
        left = _MAX_FILE
        while left > 0 and (line := file.readline(_MAX_BLOCK)):
            try:
                record = json.loads(line)
                if "columns" in record:
                    record["columns"] = [_column(each, file) for each in record["columns"]]
            except (ValueError, TypeError, KeyError):
                return
            left = _MAX_FILE - file.tell()
            if isinstance(record, dict):
                yield record
