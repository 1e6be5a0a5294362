"""The schema of the database, version by version. Pure text.

A released version is never edited: a change is a new entry of `MIGRATIONS`, and an older database
is migrated through the entries that it lacks.
"""

from __future__ import annotations

_FIRST = """
CREATE TABLE workspaces (
    root TEXT PRIMARY KEY,
    last_number INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    label TEXT,
    parent INTEGER,
    program TEXT NOT NULL,
    args TEXT NOT NULL,
    debugger TEXT,
    started REAL NOT NULL,
    ended REAL,
    exit TEXT,
    breakpoints TEXT NOT NULL,
    printed INTEGER NOT NULL DEFAULT 0,
    UNIQUE (workspace, number)
);
CREATE UNIQUE INDEX labels ON runs (workspace, label) WHERE label IS NOT NULL;

CREATE TABLE stops (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at_s REAL NOT NULL,
    reason TEXT NOT NULL,
    thread INTEGER NOT NULL,
    thread_name TEXT NOT NULL,
    file TEXT,
    line INTEGER,
    function TEXT NOT NULL,
    key TEXT NOT NULL,
    entry INTEGER NOT NULL,
    callers INTEGER REFERENCES texts,
    shown INTEGER NOT NULL,
    depth INTEGER,
    scopes BLOB NOT NULL,
    facts TEXT,
    cursor INTEGER NOT NULL,
    command TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
CREATE INDEX places ON stops (run, file, line);
CREATE INDEX functions ON stops (run, key);

CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    content BLOB NOT NULL
);

CREATE TABLE sources (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    file TEXT NOT NULL,
    text INTEGER NOT NULL REFERENCES texts,
    PRIMARY KEY (run, file)
) WITHOUT ROWID;

CREATE TABLE output (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    cursor INTEGER NOT NULL,
    stream TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run, cursor)
) WITHOUT ROWID;
"""

_LOGPOINTS = """
ALTER TABLE runs ADD COLUMN logpoints TEXT NOT NULL DEFAULT '[]';
"""

_TRACES = """
ALTER TABLE runs ADD COLUMN traced INTEGER NOT NULL DEFAULT 0;
"""

#: SQL that migrates a database from each version to the next; an empty one is version 0.
MIGRATIONS: tuple[str, ...] = (_FIRST, _LOGPOINTS, _TRACES)
VERSION = len(MIGRATIONS)
