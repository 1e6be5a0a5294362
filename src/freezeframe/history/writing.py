"""What goes into the database, row by row. Runs in the store's thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from freezeframe.model.answers import Chunk
from freezeframe.model.history import Watched
from freezeframe.model.stops import Exit, Frame
from freezeframe.model.values import Scope

from . import codec, places
from .secrets import Secrets

if TYPE_CHECKING:
    import sqlite3


@dataclass(slots=True)
class RunRow:
    """A run that is being recorded. The thread gives it `id` and `number`."""

    workspace: str
    name: str
    program: str
    args: tuple[str, ...]
    started: float
    parent: RunRow | None = None
    debugger: str | None = None
    id: int | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class StopRow:
    """A stop as it was seen, paths still absolute."""

    number: int
    at_s: float
    reason: str
    thread: int
    thread_name: str
    frames: tuple[Frame, ...]
    shown: int
    depth: int | None
    scopes: tuple[Scope, ...]
    cursor: int
    command: str
    description: str | None = None
    exception: str | None = None
    breakpoints: tuple[int, ...] = ()
    watched: tuple[Watched, ...] = ()
    #: a breakpoint on the function itself stopped it
    entry: bool = False


def clean(text: str) -> str:
    """Return *text* without what is no UTF-8: programs print anything."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)


def add_run(connection: sqlite3.Connection, run: RunRow) -> int:
    """Enter the run unless it is entered; return its id.

    It may have been entered in a transaction that was undone, or in a database that was set
    aside: then it is entered again.
    """
    if run.id is not None:
        there = connection.execute(
            "SELECT 1 FROM runs WHERE id = ? AND workspace = ? AND started = ?",
            (run.id, run.workspace, run.started),
        ).fetchone()
        if there:
            return run.id
    parent = None
    if run.parent is not None:
        add_run(connection, run.parent)
        parent = run.parent.number
    # A number names a run for good, whatever becomes of the others.
    (number,) = connection.execute(
        "INSERT INTO workspaces VALUES (?, 1)"
        " ON CONFLICT (root) DO UPDATE SET last_number = last_number + 1 RETURNING last_number",
        (run.workspace,),
    ).fetchone()
    cursor = connection.execute(
        "INSERT INTO runs (workspace, number, name, parent, program, args, debugger, started,"
        " breakpoints) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '[]') RETURNING id, number",
        (
            run.workspace,
            number,
            clean(run.name),
            parent,
            clean(run.program),
            clean(json.dumps(run.args)),
            run.debugger,
            run.started,
        ),
    )
    run.id, run.number = cursor.fetchone()
    assert run.id is not None
    return run.id


def add_stop(connection: sqlite3.Connection, run: RunRow, stop: StopRow, secrets: Secrets) -> None:
    """Enter a stop."""
    id = add_run(connection, run)
    frames = [
        codec.raw_frame(frame, places.relative(frame.path, run.workspace), secrets)
        for frame in stop.frames
    ]
    top: Frame | None = stop.frames[0] if stop.frames else None
    callers = None
    if frames[1:]:
        callers = add_text(connection, codec.encode(frames[1:]))
    facts: dict[str, Any] = {
        "description": secrets.cleared(stop.description) if stop.description else None,
        "exception": secrets.cleared(stop.exception) if stop.exception else None,
        "breakpoints": stop.breakpoints,
        "watched": [[w.expression, secrets.cleared(w.text)] for w in stop.watched],
        "top": frames[0][3:] if frames else None,
    }
    facts = {name: fact for name, fact in facts.items() if fact}
    function = top.function if top is not None else ""
    connection.execute(
        f"INSERT OR REPLACE INTO stops VALUES ({', '.join('?' * 18)})",
        (
            id,
            stop.number,
            round(stop.at_s, 6),
            stop.reason,
            stop.thread,
            clean(stop.thread_name),
            _clean(frames[0][1] if frames and len(frames[0]) > 1 else None),
            top.line if top is not None else None,
            clean(function),
            clean(places.function_key(function)),
            int(stop.entry),
            callers,
            stop.shown,
            stop.depth,
            codec.scopes_bytes(stop.scopes, secrets),
            clean(codec.encode(facts)) if facts else None,
            stop.cursor,
            clean(secrets.cleared(stop.command)),
        ),
    )


def add_text(connection: sqlite3.Connection, text: str) -> int:
    """Keep a text once, however many speak of it; return its id."""
    import hashlib  # not before something is recorded

    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    found = connection.execute("SELECT id FROM texts WHERE digest = ?", (digest,)).fetchone()
    if found is None:
        found = connection.execute(
            "INSERT INTO texts (digest, content) VALUES (?, ?) RETURNING id",
            (digest, codec.pack(text)),
        ).fetchone()
    return int(found[0])


def add_source(connection: sqlite3.Connection, run: RunRow, file: str, text: str) -> None:
    """Keep a file as it was while the run went on."""
    id = add_run(connection, run)
    connection.execute(
        "INSERT OR IGNORE INTO sources VALUES (?, ?, ?)",
        (id, clean(places.relative(file, run.workspace) or file), add_text(connection, text)),
    )


def add_output(
    connection: sqlite3.Connection, run: RunRow, cursor: int, chunks: Sequence[Chunk], printed: int
) -> None:
    """Keep what was printed from *cursor* on; *printed* characters in all so far."""
    id = add_run(connection, run)
    for chunk in chunks:
        connection.execute(
            "INSERT OR REPLACE INTO output VALUES (?, ?, ?, ?)",
            (id, cursor, chunk.stream, clean(chunk.text)),
        )
        cursor += len(chunk.text)
    connection.execute("UPDATE runs SET printed = ? WHERE id = ?", (printed, id))


def tell(
    connection: sqlite3.Connection, run: RunRow, debugger: str | None, breakpoints: Sequence[str]
) -> None:
    """Keep what became known of a run since it was entered."""
    id = add_run(connection, run)
    known = [places.relative(place, run.workspace) or place for place in breakpoints]
    connection.execute(
        "UPDATE runs SET debugger = ?, breakpoints = ? WHERE id = ?",
        (debugger, clean(json.dumps(known)), id),
    )


def finish(connection: sqlite3.Connection, run: RunRow, ended: float, exit: Exit) -> None:
    """Keep how a run ended."""
    id = add_run(connection, run)
    connection.execute(
        "UPDATE runs SET ended = ?, exit = ? WHERE id = ?",
        (ended, clean(json.dumps(asdict(exit))), id),
    )
