"""The database and the only thread that uses it.

`put` queues a write and returns at once; `query` waits for its result and sees every earlier write.
No failure here reaches a debug session: a full disk, a damaged file or a database of a later
version is reported once, as a note, and debugging continues.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from freezeframe.errors import UserError

from .schema import MIGRATIONS, VERSION

if TYPE_CHECKING:
    import sqlite3

log = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[["sqlite3.Connection"], object]

#: Writes that may be queued while the disk does not respond.
_MAX_QUEUED = 20_000
#: Writes in one transaction.
_MAX_BATCH = 500
#: Time for another daemon to finish its transaction.
_BUSY_S = 5.0
#: Time to write what is queued when the daemon exits.
_CLOSE_S = 3.0


class HistoryError(UserError):
    """The history cannot be read or written; the message says why."""

    code = "history"


class _Query:
    """Work whose result a caller waits for."""

    def __init__(self, work: Callable[[sqlite3.Connection], object]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[object] = self.loop.create_future()

    def resolve(self, result: object, error: BaseException | None) -> None:
        def set_result() -> None:
            if self.answer.done():
                return
            if error is not None:
                self.answer.set_exception(error)
            else:
                self.answer.set_result(result)

        self.loop.call_soon_threadsafe(set_result)


class Store:
    """The database at a path; opened on first use."""

    def __init__(self, path: str, note: Callable[[str], None]) -> None:
        """*note* is called with messages for the user, from another thread."""
        self.path = path
        self._note = note
        self._queue: queue.SimpleQueue[Work | _Query | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        #: why the database can be read but not written
        self._read_only: str | None = None
        self._reported: set[str] = set()

    # --- called in the event loop

    def put(self, work: Work) -> None:
        """Queue *work*. Returns at once."""
        if self._queue.qsize() > _MAX_QUEUED:
            self._report("the disk does not accept recordings in time; some stops are not kept.")
            return
        self._start_thread()
        self._queue.put(work)

    async def query(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of *work*, run after every earlier write. Raises HistoryError."""
        self._start_thread()
        query = _Query(work)
        self._queue.put(query)
        return await query.answer  # type: ignore[return-value]

    async def close(self) -> None:
        """Write what is queued. Bounded."""
        if self._thread is not None and self._thread.is_alive():
            self._queue.put(None)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join, _CLOSE_S)

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="history", daemon=True)
            self._thread.start()

    # --- called in the thread

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            batch: list[Work] = []
            query: _Query | None = None
            closing = first is None
            item = first
            while item is not None:
                if isinstance(item, _Query):
                    query = item
                    break
                batch.append(item)
                if len(batch) >= _MAX_BATCH or self._queue.empty():
                    break
                item = self._queue.get()
                closing = item is None
            try:
                if batch:
                    self._write(batch)
                if query is not None:
                    self._answer(query)
            except Exception as error:
                log.exception("history")
                if query is not None:
                    query.resolve(None, error)
            if closing:
                self._disconnect()
                return

    def _write(self, batch: list[Work]) -> None:
        import sqlite3

        for attempt in (1, 2):
            try:
                connection = self._open(to_write=True)
                connection.execute("BEGIN IMMEDIATE")
                for work in batch:
                    work(connection)
                connection.execute("COMMIT")
                self._reported.clear()
                return
            except HistoryError as error:
                self._report(f"nothing is recorded: {error.message}")
                return
            except sqlite3.Error as error:
                self._rollback()
                if _is_damaged(error) and attempt == 1:
                    self._set_aside(error)
                    continue
                self._report(f"nothing is recorded: {self._describe(error)}")
                return
            except Exception:
                self._rollback()
                if len(batch) == 1:
                    log.exception("history")
                    self._report("a part of the history was not recorded; dbg logs has the reason.")
                    return
                break
        for work in batch:  # all but those that fail
            self._write([work])

    def _answer(self, query: _Query) -> None:
        import sqlite3

        for attempt in (1, 2):
            try:
                query.resolve(query.work(self._open(to_write=False)), None)
                return
            except sqlite3.Error as error:
                self._rollback()
                if _is_damaged(error) and attempt == 1:
                    self._set_aside(error)
                    continue
                query.resolve(None, HistoryError(self._describe(error), next="dbg doctor"))
                return
            except Exception as error:
                self._rollback()
                if not isinstance(error, UserError):
                    log.exception("history")
                query.resolve(None, error)
                return

    def _rollback(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _open(self, *, to_write: bool) -> sqlite3.Connection:
        """Return the connection. Raises HistoryError if it cannot be opened, or not for writing."""
        if self._connection is not None and self._read_only and to_write:
            self._disconnect()  # the file may have become writable
        if self._connection is None:
            self._connect()
        assert self._connection is not None
        if to_write and self._read_only:
            raise HistoryError(self._read_only, next=f"ls -l {self.path}")
        return self._connection

    def _connect(self) -> None:
        import sqlite3

        self._read_only = None
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            os.close(os.open(self.path, flags, 0o600))
        except OSError as error:
            if not os.path.exists(self.path):
                raise HistoryError(
                    f"{self.path} cannot be created: {(error.strerror or str(error)).lower()}.",
                    next=f"ls -ld {os.path.dirname(self.path)}",
                ) from None
            self._read_only = (
                f"{self.path} cannot be written: {(error.strerror or str(error)).lower()}."
            )
        mode = "ro" if self._read_only else "rw"
        connection = sqlite3.connect(
            f"file:{_quoted(self.path)}?mode={mode}",
            uri=True,
            timeout=_BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        import sqlite3

        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise HistoryError(
                f"{self.path} was written by a later version of Freezeframe (its schema is "
                f"{version}; this one knows {VERSION}).",
                next="dbg version",
            )
        connection.execute("PRAGMA foreign_keys = ON")
        if self._read_only:
            if version < VERSION:
                raise HistoryError(self._read_only, next=f"ls -l {self.path}")
            return
        try:
            if version == 0:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if version < VERSION:
                _migrate(connection)
        except sqlite3.OperationalError as error:
            if version < VERSION or _is_damaged(error):
                raise
            # The database can still be read.
            self._read_only = self._describe(error)

    def _set_aside(self, error: Exception) -> None:
        """Rename a damaged database, so that recording continues in a new one."""
        self._disconnect()
        number = 1
        while os.path.exists(aside := f"{self.path}.damaged-{number}"):
            number += 1
        try:
            os.replace(self.path, aside)
            for end in ("-wal", "-shm"):
                if os.path.exists(self.path + end):
                    os.replace(self.path + end, aside + end)
        except OSError as problem:
            self._report(f"{self.path} is damaged and cannot be moved: {problem.strerror}.")
            return
        self._report(f"the history was damaged ({error}) and is set aside as {aside}.")

    def _describe(self, error: Exception) -> str:
        return f"{self.path}: {error}."

    def _disconnect(self) -> None:
        import sqlite3

        if self._connection is not None:
            try:
                self._connection.close()
            except sqlite3.Error as error:
                log.info("history: %s", error)
            self._connection = None

    def _report(self, message: str) -> None:
        """Report a problem to the user, once until a write succeeds."""
        if message not in self._reported:
            self._reported.add(message)
            log.warning("%s", message)
            self._note(message)


def _migrate(connection: sqlite3.Connection) -> None:
    """Migrate the database to the current version; another daemon may do so at the same time."""
    connection.execute("BEGIN IMMEDIATE")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    for step in MIGRATIONS[version:]:
        for statement in step.split(";"):
            if statement.strip():
                connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _is_damaged(error: Exception) -> bool:
    """Whether the file itself is damaged, as opposed to a full disk or a locked file."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (11, 26)  # SQLITE_CORRUPT, SQLITE_NOTADB


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(path)
