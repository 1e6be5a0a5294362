"""Labels of runs, and removal of runs by name, age and size. Runs in the store's thread."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from freezeframe.errors import UsageError

from . import queries
from .queries import FoundRun

if TYPE_CHECKING:
    import sqlite3

_DAY_S = 86_400


def save(connection: sqlite3.Connection, found: FoundRun, workspace: str, label: str) -> str | None:
    """Label a run; return a note if the label was moved from another run."""
    if not label.strip() or label.isdecimal() or label.startswith("#"):
        raise UsageError(
            f"{label!r} cannot be a label: numbers name runs by themselves.", next="dbg save good"
        )
    connection.execute("BEGIN IMMEDIATE")
    taken = connection.execute(
        "SELECT number FROM runs WHERE workspace = ? AND label = ? AND id != ?",
        (workspace, label, found.id),
    ).fetchone()
    if taken:
        connection.execute(
            "UPDATE runs SET label = NULL WHERE workspace = ? AND label = ?", (workspace, label)
        )
    connection.execute("UPDATE runs SET label = ? WHERE id = ?", (label, found.id))
    connection.execute("COMMIT")
    return f"the label was taken from run {taken[0]}" if taken else None


def outdated(
    connection: sqlite3.Connection,
    *,
    max_age_days: float,
    max_bytes: float,
    live: Collection[int],
) -> list[FoundRun]:
    """Return the unlabeled runs that are too old, then the oldest ones beyond the size limit."""
    limit = time.time() - max_age_days * _DAY_S
    unlabeled = [
        found
        for found in queries.runs(connection, None, live)
        if found.run.label is None and found.id not in live
    ]
    removable = [found for found in unlabeled if found.run.started < limit]
    size = float(size_of(connection))
    if size > max_bytes:
        total = connection.execute("SELECT count(*) FROM stops").fetchone()[0] or 1
        # Estimate a run's size by its stops: measuring it would read all of it.
        share = size / total
        size -= share * sum(found.run.stops for found in removable)
        for found in unlabeled:
            if size <= max_bytes:
                break
            if found not in removable:
                removable.append(found)
                size -= share * max(found.run.stops, 1)
    return removable


def remove(connection: sqlite3.Connection, ids: Collection[int]) -> None:
    """Remove runs and the texts that only they reference, and release the disk space."""
    connection.execute("BEGIN IMMEDIATE")
    delete(connection, ids)
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def delete(connection: sqlite3.Connection, ids: Collection[int]) -> None:
    """Remove runs within a transaction."""
    for id in ids:
        connection.execute("DELETE FROM runs WHERE id = ?", (id,))
    connection.execute(
        "DELETE FROM texts WHERE id NOT IN (SELECT callers FROM stops WHERE callers IS NOT NULL"
        " UNION SELECT text FROM sources)"
    )
    connection.execute("PRAGMA incremental_vacuum").fetchall()


def prune(
    connection: sqlite3.Connection, max_age_days: float, max_mb: float, live: Collection[int]
) -> None:
    """Remove outdated runs within a transaction."""
    removable = outdated(
        connection, max_age_days=max_age_days, max_bytes=max_mb * 1_000_000, live=live
    )
    if removable:
        delete(connection, [found.id for found in removable])


def size_of(connection: sqlite3.Connection) -> int:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    free = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return int((pages - free) * connection.execute("PRAGMA page_size").fetchone()[0])


def file_size(path: str) -> int:
    total = 0
    for end in ("", "-wal"):
        if os.path.exists(path + end):
            total += os.stat(path + end).st_size
    return total
