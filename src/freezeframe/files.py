"""Read files that a user, a program, a source map or a debugger named.

Such a name may be anything: a FIFO nobody writes to, a device without an end, a file on a network
that does not answer. Everything here opens regular files only, reads a bounded number of bytes,
and waits a bounded time, also when it is called on the event loop. It raises OSError alone.
"""

from __future__ import annotations

import contextlib
import errno
import io
import mmap
import os
import queue
import stat
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeVar

T = TypeVar("T")

#: the largest file that is read as a whole, unless the caller says so
MAX_BYTES = 64 << 20
#: how long a filesystem may take, in seconds
TIMEOUT_S = 2.0
#: how long a folder that took longer is left alone, in seconds
_LEFT_ALONE_S = 30.0
#: reads that may hang at the same time: each of them keeps a thread
_MAX_HUNG = 16

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
    """Return what a regular file holds. Raises OSError, also where it is larger than *limit*."""
    return _waiting(path, lambda: _read_whole(path, limit), timeout_s)


def read_text(
    path: str | os.PathLike[str], limit: int = MAX_BYTES, *, errors: str = "replace"
) -> str:
    """Return the text of a regular file, with `\\n` at the end of its lines.

    Raises OSError, also where it is larger than *limit*; UnicodeDecodeError where *errors* asks
    for it.
    """
    data = read_bytes(path, limit)
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors=errors).read()


def read_head(path: str | os.PathLike[str], size: int) -> bytes:
    """Return the first *size* bytes of a regular file, or all of a shorter one. Raises OSError."""

    def work() -> bytes:
        with _open(path) as file:
            return file.read(size)

    return _waiting(path, work)


def stamp(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return what changes when a file does: its time and its size. Raises OSError."""

    def work() -> tuple[int, int]:
        status = os.stat(_name(path))
        return status.st_mtime_ns, status.st_size

    return _waiting(path, work)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Return a regular file, open for reading in places. Raises OSError for anything else."""
    return _waiting(path, lambda: _open(path))


@contextlib.contextmanager
def mapped(path: str | os.PathLike[str]) -> Iterator[mmap.mmap]:
    """Yield the contents of a regular file without reading it as a whole.

    Raises OSError, and ValueError for an empty one.
    """
    with (
        open_regular(path) as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view,
    ):
        yield view


def open_input(path: str) -> int:
    """Return a descriptor of what a program is to read as its input. Raises OSError.

    Regular files and character devices (a terminal, the null device). A named pipe is refused:
    opening it waits for somebody who writes.
    """

    def work() -> int:
        name = _name(path)
        _refuse(os.stat(name).st_mode, also=stat.S_ISCHR)
        fd = os.open(name, _FLAGS)
        try:
            _refuse(os.fstat(fd).st_mode, also=stat.S_ISCHR)
            os.set_blocking(fd, True)  # the program did not ask for O_NONBLOCK
        except BaseException:
            os.close(fd)
            raise
        return fd

    return _waiting(path, work)


def write_bytes(path: str, data: bytes, *, replace: bool, timeout_s: float = TIMEOUT_S) -> None:
    """Write a regular file that its owner alone can read.

    Raises FileExistsError where there is one and it is not to be replaced, OSError for a FIFO, a
    device and whatever else is no regular file.
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
                os.fchmod(fd, 0o600)  # one that is replaced may have been open to others
            file.truncate()
            file.write(data)

    _waiting(path, work, timeout_s)


def _read_whole(path: str | os.PathLike[str], limit: int) -> bytes:
    with _open(path) as file:
        # Its size is a hint: files of /proc and those that grow do not tell it.
        data = file.read(min(os.fstat(file.fileno()).st_size, limit) + 1)
        while len(data) <= limit and (more := file.read(1 << 16)):
            data += more
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {_size(limit)}")
    return data


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    name = _name(path)
    # Looked at before it is opened, for opening alone wakes those who write to a FIFO and makes
    # some devices do things; and again after that, for it may be another file by then.
    _refuse(os.stat(name).st_mode)
    fd = os.open(name, _FLAGS)
    try:
        _refuse(os.fstat(fd).st_mode)
    except BaseException:
        os.close(fd)
        raise
    return os.fdopen(fd, "rb")


def _name(path: str | os.PathLike[str]) -> str:
    """Return a path as text. A number would be a descriptor of ours: TypeError."""
    name = os.fspath(path)
    if "\0" in name:
        raise OSError(errno.EINVAL, "its name holds a zero byte")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "its name is no text of this system") from None
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
    kind = next((word for test, word in kinds.items() if test(mode)), "something else")
    raise OSError(errno.EINVAL, f"it is {kind}, not a regular file")


def _size(number: int) -> str:
    return f"{number >> 20} MB" if number >= 1 << 20 else f"{number} bytes"


# --- a filesystem that does not answer ----------------------------------------------------------


class _Reader:
    """A thread that works one thing at a time; left behind when that does not end."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="files", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.jobs.get()()


class _Patience:
    """Waits for work on files, and remembers which folders did not answer."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Reader] = []
        self._slow: dict[str, float] = {}
        self._hung = 0
        self._pid = os.getpid()

    def wait(self, folder: str, work: Callable[[], T], timeout_s: float) -> T:
        """Return what *work* returns. Raises what it raises, TimeoutError when it takes longer."""
        if self._pid != os.getpid():
            self._forget()  # a fork has none of our threads
        with self._lock:
            if time.monotonic() < self._slow.get(folder, 0.0) or self._hung >= _MAX_HUNG:
                raise _too_slow(timeout_s)
            self._slow.pop(folder, None)
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
                self._slow[folder] = time.monotonic() + _LEFT_ALONE_S
                self._hung += 1
            reader.jobs.put(lambda: self._came_back(folder, reader))
            raise _too_slow(timeout_s)
        with self._lock:
            self._idle.append(reader)
        if errors:
            raise errors[0]
        return results[0]

    def _came_back(self, folder: str, reader: _Reader) -> None:
        with self._lock:
            self._hung -= 1
            self._slow.pop(folder, None)
            self._idle.append(reader)


def _too_slow(timeout_s: float) -> TimeoutError:
    return TimeoutError(errno.ETIMEDOUT, f"its filesystem took longer than {timeout_s:g} s")


_PATIENCE = _Patience()


def _waiting(
    path: str | os.PathLike[str], work: Callable[[], T], timeout_s: float = TIMEOUT_S
) -> T:
    return _PATIENCE.wait(os.path.dirname(os.fspath(path)), work, timeout_s)
