"""The thread that reads and writes the history."""

from __future__ import annotations

import pytest

from backends.async_tests import on_loop
from freezeframe.history.store import Store


@on_loop
async def test_work_that_fails_takes_no_other_work_with_it(tmp_path):
    notes: list[str] = []
    store = Store(str(tmp_path / "history.db"), notes.append)

    def fail(connection):
        connection.execute("CREATE TABLE half (n)")
        raise KeyError("work")

    def change_and_fail(connection):
        connection.execute("BEGIN IMMEDIATE")
        fail(connection)

    def tables(connection):
        rows = connection.execute("SELECT name FROM sqlite_master WHERE name IN ('t', 'half')")
        return [name for (name,) in rows], connection.execute("SELECT n FROM t").fetchall()

    store.put(lambda connection: connection.execute("CREATE TABLE t (n)"))
    store.put(lambda connection: connection.execute("INSERT INTO t VALUES (1)"))
    store.put(fail)
    store.put(lambda connection: connection.execute("INSERT INTO t VALUES (2)"))
    assert await store.query(tables) == (["t"], [(1,), (2,)])

    with pytest.raises(KeyError):
        await store.query(change_and_fail)
    store.put(lambda connection: connection.execute("INSERT INTO t VALUES (3)"))
    assert await store.query(tables) == (["t"], [(1,), (2,), (3,)])
    assert notes == ["a part of the history was not recorded; dbg logs has the reason."]
    await store.close()
