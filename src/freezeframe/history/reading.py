"""What is in the database, read back. Runs in the store's thread."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from freezeframe.errors import NotFound
from freezeframe.model.answers import Chunk
from freezeframe.model.history import RecordedStop, Recording, SourceText, Watched
from freezeframe.model.places import Location
from freezeframe.model.runs import Run
from freezeframe.model.stops import Exit

from . import codec, places, plain
from .codec import RawScope, RawValue
from .plain import Missing

if TYPE_CHECKING:
    import sqlite3

_RUN = (
    "SELECT r.id, r.number, r.name, r.label, r.parent, r.program, r.args, r.debugger, r.started,"
    " r.ended, r.exit, r.breakpoints, r.printed,"
    " (SELECT count(*) FROM stops s WHERE s.run = r.id),"
    " (SELECT at_s FROM stops s WHERE s.run = r.id ORDER BY number DESC LIMIT 1),"
    " (SELECT coalesce(sum(length(text)), 0) FROM output o WHERE o.run = r.id) FROM runs r"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A run, and its id in the database."""

    id: int
    run: Run


def runs(
    connection: sqlite3.Connection, workspace: str | None, live: Collection[int]
) -> list[Found]:
    """Return the runs of a workspace, or of all, oldest first."""
    where, values = (" WHERE r.workspace = ?", (workspace,)) if workspace else ("", ())
    rows = connection.execute(f"{_RUN}{where} ORDER BY r.id", values)
    return [_found(row, live) for row in rows]


def _found(row: Sequence[Any], live: Collection[int]) -> Found:
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
        printed=row[12],
        stops=row[13],
        kept=row[15],
        live=row[0] in live,
    )
    return Found(row[0], run)


def find_run(
    connection: sqlite3.Connection, workspace: str, name: str | None, live: Collection[int]
) -> Found:
    """Return the run that *name* names: a label, a number, or a session, whose last one it is.

    Without a name it is the last one. Raises NotFound, naming those that there are.
    """
    rows: list[Any]
    if name is None:
        query, values = " WHERE r.workspace = ? ORDER BY r.id DESC LIMIT 1", (workspace,)
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
    """One hit, its values not yet read."""

    number: int
    stop: int
    at_s: float
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
    def place(self) -> str:
        return places.place(self.file, self.line, self.function)

    @property
    def values(self) -> dict[str, RawValue]:
        """Name → value, arguments and locals alike."""
        if self._values is None:
            raw: list[RawScope] = codec.raw_scopes(self.scopes)
            self._values = {value[0]: value for scope in raw for value in scope[3]}
        return self._values

    def find(self, name: str) -> Any:
        """Return what a name means at this hit. Raises Missing."""
        if (raw := self.values.get(name)) is not None:
            return plain.read(raw)
        if name.startswith("@"):
            fact = _FACTS.get(name[1:])
            if fact is not None:
                return fact(self)
        raise Missing(name)


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
    connection: sqlite3.Connection, found: Found, location: Location, directory: str
) -> list[HitRow]:
    """Return the stops of a run at a place, in order.

    A function's are those that a breakpoint on it made, else those at the first of its lines that
    any breakpoint stopped at: steps within it are no hits. *directory* is the caller's, within
    the workspace. Raises NotFound, naming places that it has.
    """
    condition, values = _condition(connection, found, location, directory)
    rows = connection.execute(
        f"{_HIT} FROM stops WHERE run = ? AND {condition} ORDER BY number", (found.id, *values)
    )
    made = [HitRow(index, *row) for index, row in enumerate(rows, 1)]
    if location.file is None:
        made = _entries(made)
    if made:
        return made
    known = connection.execute(
        "SELECT file, line, function, count(*) FROM stops WHERE run = ?"
        " GROUP BY file, line ORDER BY count(*) DESC, file, line LIMIT 6",
        (found.id,),
    ).fetchall()
    label = found.run.label or found.run.number
    if not known:
        raise NotFound(f"run {label} has no stops.", next="dbg sessions --all")
    spots = ", ".join(f"{places.place(*row[:3])} ({row[3]})" for row in known)
    raise NotFound(
        f"run {label} has no hits at {location}; it has {spots}.",
        next=f"dbg hits {places.place(*known[0][:3])}",
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
    connection: sqlite3.Connection, found: Found, location: Location, directory: str
) -> tuple[str, tuple[Any, ...]]:
    if location.file is not None:
        import os

        file = os.path.normpath(location.file)
        wanted = os.path.normpath(os.path.join(directory, file))
        files = [
            row[0]
            for row in connection.execute(
                "SELECT DISTINCT file FROM stops WHERE run = ? AND file IS NOT NULL", (found.id,)
            )
        ]
        # As the caller sees it, as the workspace does, or by the end of its path.
        ends = [each for each in files if each.endswith("/" + file)]
        exact = [each for each in files if each in (wanted, file)]
        chosen = exact[:1] or ends[:1] or [wanted]
        return "file = ? AND line = ?", (chosen[0], location.line)
    wanted = places.function_key(location.function or str(location))
    keys = [
        row[0]
        for row in connection.execute("SELECT DISTINCT key FROM stops WHERE run = ?", (found.id,))
    ]
    matching = [key for key in keys if key == wanted] or [
        key
        for key in keys
        if key.endswith((f"::{wanted}", f".{wanted}")) or places.bare(key) == wanted
    ]
    marks = ", ".join("?" * len(matching))
    return f"key IN ({marks})", tuple(matching)


# --- a whole run --------------------------------------------------------------------------------


def recording(connection: sqlite3.Connection, found: Found, workspace: str) -> Recording:
    """Return everything that is kept of a run."""
    sources = tuple(SourceText(*pair) for pair in sources_of(connection, found).items())
    printed = connection.execute(
        "SELECT stream, text FROM output WHERE run = ? ORDER BY cursor", (found.id,)
    )
    return Recording(
        found.run,
        workspace,
        tuple(stops(connection, found)),
        sources,
        tuple(Chunk(stream, text) for stream, text in printed),
    )


def every_stop(connection: sqlite3.Connection, found: Found) -> list[HitRow]:
    """Return all stops of a run, their values not yet read."""
    rows = connection.execute(
        f"{_HIT} FROM stops WHERE run = ? ORDER BY number", (found.id,)
    ).fetchall()
    return [HitRow(index, *row) for index, row in enumerate(rows, 1)]


def output_of(connection: sqlite3.Connection, found: Found) -> dict[str, str]:
    """Return what a run itself printed, by stream: how two streams mingle is chance."""
    rows = connection.execute(
        "SELECT stream, text FROM output WHERE run = ? AND stream IN ('stdout', 'stderr')"
        " ORDER BY cursor",
        (found.id,),
    )
    printed: dict[str, str] = {}
    for stream, text in rows:
        printed[stream] = printed.get(stream, "") + text
    return printed


def sources_of(connection: sqlite3.Connection, found: Found) -> dict[str, str]:
    rows = connection.execute(
        "SELECT file, content FROM sources JOIN texts ON texts.id = sources.text WHERE run = ?",
        (found.id,),
    )
    return {file: codec.unpack(content) for file, content in rows}


def stops(connection: sqlite3.Connection, found: Found) -> Iterator[RecordedStop]:
    """Yield the stops of a run, whole."""
    stacks: dict[int, list[list[Any]]] = {}
    rows = connection.execute(
        "SELECT number, at_s, reason, thread, thread_name, file, line, function, callers, shown,"
        " depth, scopes, facts, cursor, command, entry FROM stops WHERE run = ? ORDER BY number",
        (found.id,),
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
