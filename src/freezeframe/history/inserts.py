"""Insert rows into the database. Runs in the store's thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from freezeframe.model.answers import Chunk
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.history import Watched
from freezeframe.model.runs import Logpoint
from freezeframe.model.stops import Exit, Frame
from freezeframe.model.values import Scope

from . import codec, location_keys
from .redaction import Secrets

if TYPE_CHECKING:
    import sqlite3


@dataclass(slots=True)
class RunRow:
    """A run that is being recorded. The store's thread assigns `id` and `number`."""

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
    """A stop to insert. Paths are absolute."""

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
    #: a function breakpoint caused the stop
    entry: bool = False


def clean(text: str) -> str:
    """Return *text* with characters that are not valid UTF-8 replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _clean_optional(text: str | None) -> str | None:
    return None if text is None else clean(text)


def add_run(connection: sqlite3.Connection, run: RunRow) -> int:
    """Insert the run unless it is in the database; return its id.

    A run whose transaction was rolled back, or whose database was set aside, is inserted again.
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
    # A number is never reused, even after runs were removed.
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
    """Insert a stop."""
    id = add_run(connection, run)
    frames = [
        codec.raw_frame(frame, location_keys.relative(frame.path, run.workspace), secrets)
        for frame in stop.frames
    ]
    top: Frame | None = stop.frames[0] if stop.frames else None
    callers = None
    if frames[1:]:
        callers = add_text(connection, codec.encode(frames[1:]))
    facts: dict[str, Any] = {
        "description": secrets.redact(stop.description) if stop.description else None,
        "exception": secrets.redact(stop.exception) if stop.exception else None,
        "breakpoints": stop.breakpoints,
        "watched": [[w.expression, secrets.redact(w.text)] for w in stop.watched],
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
            _clean_optional(frames[0][1] if frames and len(frames[0]) > 1 else None),
            top.line if top is not None else None,
            clean(function),
            clean(location_keys.function_key(function)),
            int(stop.entry),
            callers,
            stop.shown,
            stop.depth,
            codec.scopes_bytes(stop.scopes, secrets),
            clean(codec.encode(facts)) if facts else None,
            stop.cursor,
            clean(" ".join(secrets.redact_arguments(stop.command.split(" ")))),
        ),
    )


def add_text(connection: sqlite3.Connection, text: str) -> int:
    """Insert a text unless an equal one is stored; return its id."""
    import hashlib  # late: only needed when something is recorded

    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    found = connection.execute("SELECT id FROM texts WHERE digest = ?", (digest,)).fetchone()
    if found is None:
        found = connection.execute(
            "INSERT INTO texts (digest, content) VALUES (?, ?) RETURNING id",
            (digest, codec.pack(text)),
        ).fetchone()
    return int(found[0])


def add_source(connection: sqlite3.Connection, run: RunRow, file: str, text: str) -> None:
    """Insert a source file as it was during the run."""
    id = add_run(connection, run)
    connection.execute(
        "INSERT OR IGNORE INTO sources VALUES (?, ?, ?)",
        (
            id,
            clean(location_keys.relative(file, run.workspace) or file),
            add_text(connection, text),
        ),
    )


def add_output(
    connection: sqlite3.Connection, run: RunRow, cursor: int, chunks: Sequence[Chunk], printed: int
) -> None:
    """Insert output from *cursor* on; *printed* is the number of characters printed so far."""
    id = add_run(connection, run)
    for chunk in chunks:
        connection.execute(
            "INSERT OR REPLACE INTO output VALUES (?, ?, ?, ?)",
            (id, cursor, chunk.stream, clean(chunk.text)),
        )
        cursor += len(chunk.text)
    connection.execute("UPDATE runs SET printed = ? WHERE id = ?", (printed, id))


def update_run(
    connection: sqlite3.Connection,
    run: RunRow,
    debugger: str | None,
    breakpoints: Sequence[str],
    logpoints: Sequence[Logpoint],
) -> None:
    """Update the debugger, the breakpoints and the logpoints of a run."""
    id = add_run(connection, run)
    known = [location_keys.relative(each, run.workspace) or each for each in breakpoints]
    logging = [
        [location_keys.relative(each.location, run.workspace), each.message, each.function]
        for each in logpoints
    ]
    connection.execute(
        "UPDATE runs SET debugger = ?, breakpoints = ?, logpoints = ? WHERE id = ?",
        (debugger, clean(json.dumps(known)), clean(json.dumps(logging)), id),
    )


def set_traced(connection: sqlite3.Connection, run: RunRow, steps: int) -> None:
    """Store that a run is a trace, and how many steps it had."""
    id = add_run(connection, run)
    connection.execute("UPDATE runs SET traced = ? WHERE id = ?", (steps, id))


def finish_run(connection: sqlite3.Connection, run: RunRow, ended: float, exit: Exit) -> None:
    """Store how a run ended."""
    id = add_run(connection, run)
    connection.execute(
        "UPDATE runs SET ended = ?, exit = ? WHERE id = ?",
        (ended, clean(json.dumps(asdict(exit))), id),
    )
