"""Queries on the database. Run in the store's thread."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from freezeframe.errors import NotFound
from freezeframe.model.answers import Chunk
from freezeframe.model.history import RecordedStop, Recording, SourceText, Watched
from freezeframe.model.locations import Location
from freezeframe.model.runs import Logpoint, Run
from freezeframe.model.stops import Exit

from . import codec, location_keys, log_hits, recorded_values
from .codec import RawScope, RawValue
from .recorded_values import NotRecorded

if TYPE_CHECKING:
    import sqlite3

_RUN = (
    "SELECT r.id, r.number, r.name, r.label, r.parent, r.program, r.args, r.debugger, r.started,"
    " r.ended, r.exit, r.breakpoints, r.printed,"
    " (SELECT count(*) FROM stops s WHERE s.run = r.id),"
    " (SELECT at_s FROM stops s WHERE s.run = r.id ORDER BY number DESC LIMIT 1),"
    " (SELECT coalesce(sum(length(text)), 0) FROM output o WHERE o.run = r.id), r.logpoints,"
    " r.traced FROM runs r"
)


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run and its id in the database."""

    id: int
    run: Run


def runs(
    connection: sqlite3.Connection, workspace: str | None, live: Collection[int]
) -> list[FoundRun]:
    """Return the runs of a workspace, or of all workspaces, oldest first."""
    where, values = (" WHERE r.workspace = ?", (workspace,)) if workspace else ("", ())
    rows = connection.execute(f"{_RUN}{where} ORDER BY r.id", values)
    return [_found(row, live) for row in rows]


def _found(row: Sequence[Any], live: Collection[int]) -> FoundRun:
    started, ended, last = row[8], row[9], row[14]
    exit = Exit(**json.loads(row[10])) if row[10] else None
    run = Run(
        number=row[1],
        name=row[2],
        label=row[3],
        parent=row[4],
        program=row[5],
        args=tuple(json.loads(row[6])),
        debugger=row[7],
        started=started,
        elapsed_s=ended - started if ended is not None else last,
        exit=exit,
        breakpoints=tuple(json.loads(row[11])),
        logpoints=tuple(Logpoint(*each) for each in json.loads(row[16])),
        printed=row[12],
        stops=row[13],
        kept=row[15],
        traced=row[17],
        live=row[0] in live,
    )
    return FoundRun(row[0], run)


def find_run(
    connection: sqlite3.Connection, workspace: str, name: str | None, live: Collection[int]
) -> FoundRun:
    """Return the run with that label or number, or the last run of the session of that name.

    Without a name return the last run. Raises NotFound with the names that exist.
    """
    rows: list[Any]
    if name is None:
        query, values = (
            # A trace belongs to a question: who names none means what was debugged.
            " WHERE r.workspace = ? ORDER BY r.traced > 0, r.id DESC LIMIT 1",
            (workspace,),
        )
        rows = connection.execute(_RUN + query, values).fetchall()
        if not rows:
            raise NotFound(
                f"nothing is recorded in {workspace}.", next="dbg start PROGRAM -b FILE:LINE"
            )
        return _found(rows[0], live)
    number = int(name.lstrip("#")) if re.fullmatch(r"#?\d{1,15}", name) else -1
    for condition, value in (("label = ?", name), ("number = ?", number), ("name = ?", name)):
        query = f"{_RUN} WHERE r.workspace = ? AND r.{condition} ORDER BY r.id DESC LIMIT 1"
        rows = connection.execute(query, (workspace, value)).fetchall()
        if rows:
            return _found(rows[0], live)
    known = connection.execute(
        "SELECT DISTINCT coalesce(label, name) FROM runs WHERE workspace = ? ORDER BY id DESC",
        (workspace,),
    ).fetchmany(8)
    have = ", ".join(row[0] for row in known)
    raise NotFound(
        f"there is no recorded run {name}" + (f"; there are {have}." if have else "."),
        next="dbg sessions --all",
    )


# --- hits ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class HitRow:
    """One hit; its values are decoded on demand."""

    number: int
    stop: int
    #: None for the message of a logpoint
    at_s: float | None
    thread: int
    thread_name: str
    reason: str
    file: str | None
    line: int | None
    function: str
    scopes: bytes | str
    callers: int | None = None
    entry: int = 0
    _values: dict[str, RawValue] | None = None

    @property
    def location(self) -> str:
        return location_keys.format_location(self.file, self.line, self.function)

    @property
    def values(self) -> dict[str, RawValue]:
        """Arguments and locals by name."""
        if self._values is None:
            raw: list[RawScope] = codec.raw_scopes(self.scopes)
            self._values = {value[0]: value for scope in raw for value in scope[3]}
        return self._values

    def lookup(self, name: str) -> Any:
        """Return the value of a name at this hit. Raises NotRecorded."""
        if (raw := self.values.get(name)) is not None:
            return recorded_values.read(raw)
        if name.startswith("@"):
            fact = _FACTS.get(name[1:])
            if fact is not None and (known := fact(self)) is not None:
                return known
        raise NotRecorded(name)


_FACTS: dict[str, Any] = {
    "hit": lambda row: row.number,
    "stop": lambda row: row.stop,
    "line": lambda row: row.line,
    "file": lambda row: row.file,
    "function": lambda row: row.function,
    "thread": lambda row: row.thread,
    "reason": lambda row: row.reason,
    "time": lambda row: row.at_s,
}
_HIT = (
    "SELECT number, at_s, thread, thread_name, reason, file, line, function, scopes, callers, entry"
)


def hits(
    connection: sqlite3.Connection, found: FoundRun, location: Location, directory: str
) -> list[HitRow]:
    """Return the stops of a run at a location, in order.

    The hits of a function are the stops of a function breakpoint, or else those at the first of its
    lines where any breakpoint stopped: steps inside it are not hits. *directory* is the caller's,
    relative to the workspace. Raises NotFound with the locations that the run has.
    """
    condition, values = _condition(connection, found, location, directory)
    rows = connection.execute(
        f"{_HIT} FROM stops WHERE run = ? AND {condition} ORDER BY number", (found.id, *values)
    )
    found_hits = [HitRow(index, *row) for index, row in enumerate(rows, 1)]
    for row in found_hits if found.run.traced else ():
        row.at_s = None  # a trace has no times
    if location.file is None:
        found_hits = _entries(found_hits)
    if found_hits:
        return found_hits
    label = found.run.label or found.run.number
    if logpoints := log_hits.logpoints_at(found, location, directory):
        messages = log_hits.messages_of(connection, found, logpoints)
        if not messages:
            raise NotFound(
                f"run {label} has a logpoint at {location}, and no message of it is recorded.",
                next="dbg output --all",
            )
        return [_log_hit(number, *each) for number, each in enumerate(messages, 1)]
    locations = hit_locations(connection, found)
    known = ", ".join(f"{each} ({count})" for each, count in locations)
    raise NotFound(
        f"run {label} has no stop at {location}; it has {known}.",
        next=f"dbg hits {locations[0][0]}",
    )


def hit_locations(connection: sqlite3.Connection, found: FoundRun) -> list[tuple[str, int]]:
    """Return the locations where a run stopped most often, and how often, then its logpoints.

    Raises NotFound if there are none.
    """
    rows = connection.execute(
        "SELECT file, line, function, count(*) FROM stops WHERE run = ?"
        " GROUP BY file, line ORDER BY count(*) DESC, file, line LIMIT 6",
        (found.id,),
    ).fetchall()
    known = [(location_keys.format_location(*row[:3]), int(row[3])) for row in rows]
    for logpoint in found.run.logpoints:
        try:
            messages = log_hits.messages_of(connection, found, [logpoint])
        except NotFound:  # printed by more than one of them
            continue
        known += [(logpoint.location, len(messages))] if messages else []
    if not known:
        label = found.run.label or found.run.number
        raise NotFound(f"run {label} has no stops.", next="dbg sessions --all")
    return known


def _log_hit(number: int, logpoint: Logpoint, values: dict[str, RawValue]) -> HitRow:
    file, _, line = logpoint.location.rpartition(":")
    function = logpoint.function or ""
    known = int(line) if line.isdecimal() else None
    return HitRow(
        number, 0, None, 0, "", "logpoint", file or None, known, function, "", _values=values
    )


def _entries(rows: list[HitRow]) -> list[HitRow]:
    kept = [row for row in rows if row.entry]
    if not kept:
        hit = {(row.file, row.line or 0) for row in rows if row.reason == "breakpoint"}
        if not hit:
            return rows
        first = {file: min(line for f, line in hit if f == file) for file, _ in hit}
        kept = [row for row in rows if row.file in first and row.line == first[row.file]]
    for number, row in enumerate(kept, 1):
        row.number = number
    return kept


def _condition(
    connection: sqlite3.Connection, found: FoundRun, location: Location, directory: str
) -> tuple[str, tuple[Any, ...]]:
    if location.file is not None:
        import os

        file = os.path.normpath(location.file)
        resolved = os.path.normpath(os.path.join(directory, file))
        files = [
            row[0]
            for row in connection.execute(
                "SELECT DISTINCT file FROM stops WHERE run = ? AND file IS NOT NULL", (found.id,)
            )
        ]
        # Relative to the caller, relative to the workspace, or by the end of the path.
        ends = [each for each in files if each.endswith("/" + file)]
        exact = [each for each in files if each in (resolved, file)]
        chosen = exact[:1] or ends[:1] or [resolved]
        return "file = ? AND line = ?", (chosen[0], location.line)
    requested = location_keys.function_key(location.function or str(location))
    keys = [
        row[0]
        for row in connection.execute("SELECT DISTINCT key FROM stops WHERE run = ?", (found.id,))
    ]
    matching = [key for key in keys if key == requested] or [
        key
        for key in keys
        if key.endswith((f"::{requested}", f".{requested}")) or location_keys.bare(key) == requested
    ]
    parameters = ", ".join("?" * len(matching))
    return f"key IN ({parameters})", tuple(matching)


# --- a whole run --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunPart:
    """Which part of a run is read: what follows so many stops and pieces of output."""

    stops: int = 0
    pieces: int = 0
    #: at most so many stops; negative: all of them
    most: int = -1
    #: with the texts of the files
    sources: bool = True


def recording(
    connection: sqlite3.Connection, found: FoundRun, workspace: str, part: RunPart = RunPart()
) -> Recording:
    """Return everything that is stored of a run, or a part of it."""
    files = sources_of(connection, found) if part.sources else {}
    printed = connection.execute(
        "SELECT stream, text FROM output WHERE run = ? ORDER BY cursor LIMIT -1 OFFSET ?",
        (found.id, part.pieces),
    )
    return Recording(
        found.run,
        workspace,
        tuple(stops(connection, found, part)),
        tuple(SourceText(*pair) for pair in files.items()),
        tuple(Chunk(stream, text) for stream, text in printed),
    )


def every_stop(connection: sqlite3.Connection, found: FoundRun) -> list[HitRow]:
    """Return all stops of a run; their values are decoded on demand."""
    rows = connection.execute(
        f"{_HIT} FROM stops WHERE run = ? ORDER BY number", (found.id,)
    ).fetchall()
    return [HitRow(index, *row) for index, row in enumerate(rows, 1)]


def output_of(connection: sqlite3.Connection, found: FoundRun) -> dict[str, str]:
    """Return the output of a run by stream: how two streams interleave is not deterministic."""
    rows = connection.execute(
        "SELECT stream, text FROM output WHERE run = ? AND stream IN ('stdout', 'stderr')"
        " ORDER BY cursor",
        (found.id,),
    )
    printed: dict[str, str] = {}
    for stream, text in rows:
        printed[stream] = printed.get(stream, "") + text
    return printed


def sources_of(connection: sqlite3.Connection, found: FoundRun) -> dict[str, str]:
    rows = connection.execute(
        "SELECT file, content FROM sources JOIN texts ON texts.id = sources.text WHERE run = ?",
        (found.id,),
    )
    return {file: codec.unpack(content) for file, content in rows}


def stops(
    connection: sqlite3.Connection, found: FoundRun, part: RunPart = RunPart()
) -> Iterator[RecordedStop]:
    """Yield the complete stops of a run."""
    stacks: dict[int, list[list[Any]]] = {}
    rows = connection.execute(
        "SELECT number, at_s, reason, thread, thread_name, file, line, function, callers, shown,"
        " depth, scopes, facts, cursor, command, entry FROM stops WHERE run = ? AND number > ?"
        " ORDER BY number LIMIT ?",
        (found.id, part.stops, part.most),
    ).fetchall()
    for row in rows:
        facts: dict[str, Any] = json.loads(row[12]) if row[12] else {}
        callers: list[list[Any]] = []
        if row[8] is not None:
            if row[8] not in stacks:
                text = connection.execute("SELECT content FROM texts WHERE id = ?", (row[8],))
                stacks[row[8]] = json.loads(codec.unpack(text.fetchone()[0]))
            callers = stacks[row[8]]
        top = [row[7], row[5], row[6], *facts.get("top", ())]
        frames = [codec.frame(index, raw) for index, raw in enumerate([top, *callers])]
        yield RecordedStop(
            number=row[0],
            at_s=row[1],
            reason=row[2],
            thread=row[3],
            thread_name=row[4],
            frames=tuple(frames),
            shown=row[9],
            depth=row[10],
            scopes=codec.scopes(codec.raw_scopes(row[11])),
            description=facts.get("description"),
            exception=facts.get("exception"),
            breakpoints=tuple(facts.get("breakpoints", ())),
            watched=tuple(Watched(*pair) for pair in facts.get("watched", ())),
            cursor=row[13],
            command=row[14],
            entry=bool(row[15]),
        )
