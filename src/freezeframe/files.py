"""Read files that a user, a program, a source map or a debugger named.

Such a path may be anything: a FIFO without a writer, an endless device, a file on a network mount
that does not respond. The functions here open regular files only, read a bounded number of bytes,
and wait a bounded time, so they may be called on the event loop. They raise OSError only.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import mmap
import os
import queue
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeVar

T = TypeVar("T")

#: the largest file that is read as a whole, unless the caller passes a limit
MAX_BYTES = 64 << 20
#: how long a filesystem may take
TIMEOUT_S = 2.0
#: how long a directory that took longer is not accessed
_RETRY_AFTER_S = 30.0
#: reads that may hang at the same time: each of them occupies a thread
_MAX_HUNG = 16

#: encodings that map bytes to characters and do nothing else
_CHARACTER_SETS = r"iso8859|cp\d|koi8|mac|shift_jis|euc_|gb|big5|ptcp|tis|kz"

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


def read_bytes(
    path: str | os.PathLike[str], limit: int = MAX_BYTES, *, timeout_s: float = TIMEOUT_S
) -> bytes:
    """Return the contents of a regular file. Raises OSError, also if larger than *limit*."""
    return _waiting(path, lambda: _read_whole(path, limit), timeout_s)


def read_text(
    path: str | os.PathLike[str], limit: int = MAX_BYTES, *, errors: str = "replace"
) -> str:
    """Return the text of a regular file, with `\\n` at the end of its lines.

    It is UTF-8, or what one of its first two lines declares. Raises OSError, also if the file is
    larger than *limit*, and UnicodeDecodeError if *errors* is `strict`.
    """
    data = read_bytes(path, limit)
    return io.TextIOWrapper(io.BytesIO(data), encoding=_encoding(data), errors=errors).read()


def _encoding(data: bytes) -> str:
    """Return the encoding of a source: Python, Ruby and editors read it from a comment."""
    if data.isascii():
        return "utf-8"
    for line in data[:1_000].split(b"\n", 2)[:2]:
        declared = re.match(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", line)
        with contextlib.suppress(LookupError):
            name = codecs.lookup(declared[1].decode()).name if declared is not None else ""
            if re.match(_CHARACTER_SETS, name):
                return name
    return "utf-8"


def read_head(path: str | os.PathLike[str], size: int) -> bytes:
    """Return the first *size* bytes of a regular file, or all of a shorter one. Raises OSError."""

    def work() -> bytes:
        with _open(path) as file:
            return file.read(size)

    return _waiting(path, work)


def stamp(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return modification time and size, which change with the contents. Raises OSError."""

    def work() -> tuple[int, int]:
        status = os.stat(_name(path))
        return status.st_mtime_ns, status.st_size

    return _waiting(path, work)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for random access. Raises OSError for anything else."""
    return _waiting(path, lambda: _open(path))


@contextlib.contextmanager
def mapped(path: str | os.PathLike[str]) -> Iterator[mmap.mmap]:
    """Yield the contents of a regular file without reading it as a whole.

    Raises OSError, and ValueError for an empty file.
    """
    with (
        open_regular(path) as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view,
    ):
        yield view


def open_input(path: str) -> int:
    """Open a file as the standard input of a program and return its descriptor. Raises OSError.

    Accepts regular files and character devices (a terminal, the null device). A named pipe is
    refused: opening one waits for a writer.
    """

    def work() -> int:
        name = _name(path)
        _refuse(os.stat(name).st_mode, also=stat.S_ISCHR)
        fd = os.open(name, _FLAGS)
        try:
            _refuse(os.fstat(fd).st_mode, also=stat.S_ISCHR)
            if hasattr(os, "O_NONBLOCK"):
                os.set_blocking(fd, True)  # the program does not expect it
        except BaseException:
            os.close(fd)
            raise
        return fd

    return _waiting(path, work)


def write_bytes(path: str, data: bytes, *, replace: bool, timeout_s: float = TIMEOUT_S) -> None:
    """Write a regular file that only its owner can read.

    Raises FileExistsError if the file exists and *replace* is false, and OSError for a FIFO, a
    device and anything else that is not a regular file.
    """

    def work() -> None:
        name = _name(path)
        with contextlib.suppress(FileNotFoundError):
            _refuse(os.stat(name).st_mode)
        flags = os.O_WRONLY | os.O_CREAT | _FLAGS  # O_RDONLY is 0
        fd = os.open(name, flags | (0 if replace else os.O_EXCL), 0o600)
        with os.fdopen(fd, "wb") as file:
            _refuse(os.fstat(fd).st_mode)
            if hasattr(os, "fchmod"):
                os.fchmod(fd, 0o600)  # a replaced file may have had a wider mode
            file.truncate()
            file.write(data)

    _waiting(path, work, timeout_s)


def _read_whole(path: str | os.PathLike[str], limit: int) -> bytes:
    with _open(path) as file:
        # The size is a hint: it is 0 for files of /proc, and other files may grow.
        data = file.read(min(os.fstat(file.fileno()).st_size, limit) + 1)
        while len(data) <= limit and (more := file.read(1 << 16)):
            data += more
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {_size(limit)}")
    return data


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    name = _name(path)
    # Checked before opening, because opening wakes the writers of a FIFO and has side effects on
    # some devices; and again after opening, because the path may name another file by then.
    _refuse(os.stat(name).st_mode)
    fd = os.open(name, _FLAGS)
    try:
        _refuse(os.fstat(fd).st_mode)
    except BaseException:
        os.close(fd)
        raise
    return os.fdopen(fd, "rb")


def _name(path: str | os.PathLike[str]) -> str:
    """Return a path as text. Raises TypeError for a number, which would be a descriptor."""
    name = os.fspath(path)
    if "\0" in name:
        raise OSError(errno.EINVAL, "its name holds a zero byte")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "its name cannot be encoded on this system") from None
    return name


def _refuse(mode: int, also: Callable[[int], bool] = stat.S_ISREG) -> None:
    if stat.S_ISREG(mode) or also(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    kinds = {
        stat.S_ISFIFO: "a named pipe",
        stat.S_ISCHR: "a device",
        stat.S_ISBLK: "a device",
        stat.S_ISSOCK: "a socket",
    }
    kind = next((kind for test, kind in kinds.items() if test(mode)), "something else")
    raise OSError(errno.EINVAL, f"it is {kind}, not a regular file")


def _size(number: int) -> str:
    return f"{number >> 20} MB" if number >= 1 << 20 else f"{number} bytes"


# --- filesystems that do not respond ------------------------------------------------------------


class _Reader:
    """A thread that runs one job at a time; abandoned while a job hangs."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="files", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.jobs.get()()


class _ReaderPool:
    """Runs file operations with a timeout, and remembers which directories did not respond."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Reader] = []
        self._slow: dict[str, float] = {}
        self._hung = 0
        self._pid = os.getpid()

    def run(self, directory: str, work: Callable[[], T], timeout_s: float) -> T:
        """Return the result of *work*. Raises its exception, TimeoutError when it takes longer."""
        if self._pid != os.getpid():
            self._reset()  # a forked process has none of the threads
        with self._lock:
            if time.monotonic() < self._slow.get(directory, 0.0) or self._hung >= _MAX_HUNG:
                raise _too_slow(timeout_s)
            self._slow.pop(directory, None)
            reader = self._idle.pop() if self._idle else _Reader()
        results: list[T] = []
        errors: list[BaseException] = []
        done = threading.Lock()
        done.acquire()

        def job() -> None:
            try:
                results.append(work())
            except BaseException as error:
                errors.append(error)
            done.release()

        reader.jobs.put(job)
        if not done.acquire(timeout=timeout_s):
            with self._lock:
                self._slow[directory] = time.monotonic() + _RETRY_AFTER_S
                self._hung += 1
            reader.jobs.put(lambda: self._on_recovered(directory, reader))
            raise _too_slow(timeout_s)
        with self._lock:
            self._idle.append(reader)
        if errors:
            raise errors[0]
        return results[0]

    def _on_recovered(self, directory: str, reader: _Reader) -> None:
        with self._lock:
            self._hung -= 1
            self._slow.pop(directory, None)
            self._idle.append(reader)


def _too_slow(timeout_s: float) -> TimeoutError:
    return TimeoutError(errno.ETIMEDOUT, f"its filesystem took longer than {timeout_s:g} s")


_POOL = _ReaderPool()


def _waiting(
    path: str | os.PathLike[str], work: Callable[[], T], timeout_s: float = TIMEOUT_S
) -> T:
    return _POOL.run(os.path.dirname(os.fspath(path)), work, timeout_s)
