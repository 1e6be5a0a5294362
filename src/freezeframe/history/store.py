"""The database and the one thread that touches it.

Whoever records hands over a piece of work and goes on at once; whoever asks waits for the answer,
and sees everything that was recorded before. Nothing that goes wrong here reaches a debug session:
a disk that is full, a file that is damaged or a database of a later version is told once, as a
note, and the debugging goes on.
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

#: Pieces of work that may wait for a disk that does not answer.
_MOST_WAITING = 20_000
#: Work that is written in one transaction.
_BATCH = 500
#: For another daemon to finish its transaction.
_BUSY_S = 5.0
#: For what is left when the daemon leaves.
_CLOSE_S = 3.0


class HistoryError(UserError):
    """The history cannot be read or written, in the words of what is in the way."""

    code = "history"


class _Question:
    """Work whose answer someone waits for."""

    def __init__(self, work: Callable[[sqlite3.Connection], object]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[object] = self.loop.create_future()

    def settle(self, result: object, error: BaseException | None) -> None:
        def tell() -> None:
            if self.answer.done():
                return
            if error is not None:
                self.answer.set_exception(error)
            else:
                self.answer.set_result(result)

        self.loop.call_soon_threadsafe(tell)


class Store:
    """The database at a path; opened when it is first needed."""

    def __init__(self, path: str, note: Callable[[str], None]) -> None:
        """*note* takes what the user must know; it is called from another thread."""
        self.path = path
        self._note = note
        self._queue: queue.SimpleQueue[Work | _Question | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        #: may be read, not written
        self._read_only: str | None = None
        self._told: set[str] = set()

    # --- the loop's side

    def put(self, work: Work) -> None:
        """Have *work* done in its turn. Returns at once."""
        if self._queue.qsize() > _MOST_WAITING:
            self._tell("the disk does not take what is recorded; some stops are not kept.")
            return
        self._begin()
        self._queue.put(work)

    async def ask(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what *work* returns, everything recorded before in place. Raises HistoryError."""
        self._begin()
        question = _Question(work)
        self._queue.put(question)
        return await question.answer  # type: ignore[return-value]

    async def close(self) -> None:
        """Write what is left. Bounded."""
        if self._thread is not None and self._thread.is_alive():
            self._queue.put(None)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join, _CLOSE_S)

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="history", daemon=True)
            self._thread.start()

    # --- the thread's side

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            batch: list[Work] = []
            question: _Question | None = None
            leave = first is None
            item = first
            while item is not None:
                if isinstance(item, _Question):
                    question = item
                    break
                batch.append(item)
                if len(batch) >= _BATCH or self._queue.empty():
                    break
                item = self._queue.get()
                leave = item is None
            try:
                if batch:
                    self._write(batch)
                if question is not None:
                    self._answer(question)
            except Exception as error:
                log.exception("history")
                if question is not None:
                    question.settle(None, error)
            if leave:
                self._drop()
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
                self._told.clear()
                return
            except HistoryError as error:
                self._tell(f"nothing is recorded: {error.message}")
                return
            except sqlite3.Error as error:
                self._undo()
                if _damaged(error) and attempt == 1:
                    self._set_aside(error)
                    continue
                self._tell(f"nothing is recorded: {self._words(error)}")
                return

    def _answer(self, question: _Question) -> None:
        import sqlite3

        for attempt in (1, 2):
            try:
                question.settle(question.work(self._open(to_write=False)), None)
                return
            except sqlite3.Error as error:
                self._undo()
                if _damaged(error) and attempt == 1:
                    self._set_aside(error)
                    continue
                question.settle(None, HistoryError(self._words(error), next="dbg doctor"))
                return
            except UserError as error:
                self._undo()
                question.settle(None, error)
                return

    def _undo(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _open(self, *, to_write: bool) -> sqlite3.Connection:
        """Return the connection. Raises HistoryError when there can be none of that kind."""
        if self._connection is not None and self._read_only and to_write:
            self._drop()  # it may have become writable
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
                    f"{self.path} cannot be made: {(error.strerror or str(error)).lower()}.",
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
            if version < VERSION or _damaged(error):
                raise
            # What is there can be read all the same.
            self._read_only = self._words(error)

    def _set_aside(self, error: Exception) -> None:
        """Move a damaged database out of the way; nobody's debugging waits for its repair."""
        self._drop()
        number = 1
        while os.path.exists(aside := f"{self.path}.damaged-{number}"):
            number += 1
        try:
            os.replace(self.path, aside)
            for end in ("-wal", "-shm"):
                if os.path.exists(self.path + end):
                    os.replace(self.path + end, aside + end)
        except OSError as problem:
            self._tell(f"{self.path} is damaged and cannot be moved: {problem.strerror}.")
            return
        self._tell(f"the history was damaged ({error}) and is set aside as {aside}.")

    def _words(self, error: Exception) -> str:
        return f"{self.path}: {error}."

    def _drop(self) -> None:
        import sqlite3

        if self._connection is not None:
            try:
                self._connection.close()
            except sqlite3.Error as error:
                log.info("history: %s", error)
            self._connection = None

    def _tell(self, words: str) -> None:
        """Tell the user, once until it works again."""
        if words not in self._told:
            self._told.add(words)
            log.warning("%s", words)
            self._note(words)


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the database to the present version, whoever else is about to do the same."""
    connection.execute("BEGIN IMMEDIATE")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    for step in MIGRATIONS[version:]:
        for statement in step.split(";"):
            if statement.strip():
                connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _damaged(error: Exception) -> bool:
    """Whether the file is not what it should be, as against a disk that is full or locked."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (11, 26)  # SQLITE_CORRUPT, SQLITE_NOTADB


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(path)
