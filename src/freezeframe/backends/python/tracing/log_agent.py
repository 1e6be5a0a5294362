"""The file that a traced program writes; the module `_freezeframe_log`.

Runs inside the traced program and imports nothing of this package. Records are integers in one
list; texts and values are tables that records refer to by index. All of it is appended to the
file of the current segment, which is closed after each write: a program may close all descriptors.
When the first segment is full, the following ones replace each other, and only the last two stay.
Each segment can be read without the others. `trace_file.py` is the reader.
"""

from __future__ import annotations

import _thread
import os
import time
from typing import Any

#: the built-in module behind `os`, which programs patch less often
system: Any = __import__(os.name)

# The first integer of each record; `trace_file.py` has the same.
VALUE, CODE, FRAME, STEP, WRITE, READ, RETURN, RAISE, UNWIND, YIELD = range(10)
END, REMARK, PROCESS, SNAP, LOCAL, READS = range(10, 16)

#: not inherited by children; on Windows, line ends are left alone too
_PRIVATE = (
    system.O_CLOEXEC if hasattr(system, "O_CLOEXEC") else system.O_NOINHERIT | system.O_BINARY
)
#: integers that are kept in memory before they are written
BLOCK = 60_000
#: records between two looks at the clock
_CLOCK = 2_000
_FLUSH_S = 0.1

#: the integers of records that are not written yet
records: list[int] = []
#: texts that are not written yet
_texts: list[str] = []
_strings: dict[str, int] = {}
#: names of the source → index, and those that are not written in this segment yet
_names: dict[str, int] = {}
_new_names: list[str] = []
_values: dict[tuple[str, str, int], int] = {}
#: indices of values: exact integers, and exact short strings
ints: dict[int, int] = {}
strs: dict[str, int] = {}
floats: dict[float, int] = {}
_none = [-1]


class _File:
    directory = ""
    pid = 0
    segment = 0
    steps = 0
    #: steps in which the current segment began
    began = 0
    size = 0
    limit_steps = 1_000_000
    limit_bytes = 256 << 20
    limit_seconds = 0.0
    deadline = 0.0
    #: when something has to be left out, to end before the deadline
    late = 0.0
    flushed = 0.0
    is_open = False
    is_broken = False
    #: called when a new segment begins
    on_rotate: Any = None
    on_deadline: Any = None
    dropped_by = ""


file = _File
_lock = _thread.allocate_lock()
#: held while a text gets its index
_tables = _thread.RLock()
next_value = iter(range(1 << 62)).__next__


def open_log(directory: str, steps: int, size: int, seconds: float) -> None:
    """Begin the files of this process, limited to *steps*, *size* bytes and *seconds*."""
    from array import array

    _File.array = array  # type: ignore[attr-defined]
    _File.directory, _File.pid = directory, system.getpid()
    _File.limit_steps, _File.limit_bytes = steps, size
    _File.flushed = time.monotonic()
    _File.limit_seconds = seconds
    _File.deadline = _File.flushed + seconds
    _File.late = _File.flushed + seconds * 0.3
    _File.is_open = True
    _introduce()


def _introduce() -> None:
    """Write which process this is."""
    records.extend((PROCESS, _File.pid, system.getppid(), time.monotonic_ns(), _File.segment))


def reopen() -> None:
    """Begin the files of a forked child."""
    global _lock, _tables
    _lock, _tables = _thread.allocate_lock(), _thread.RLock()
    del records[:]
    _clear()
    _File.pid, _File.segment, _File.began, _File.size = system.getpid(), 0, _File.steps, 0
    _introduce()


def _clear() -> None:
    _new_names[:] = list(_names)
    del _texts[:]
    _strings.clear()
    _values.clear()
    ints.clear()
    strs.clear()
    floats.clear()
    _none[0] = -1


# --- tables -------------------------------------------------------------------------------------


def string(text: str) -> int:
    """Return the index of a text."""
    found = _strings.get(text)
    if found is None:
        with _tables:
            found = _strings.get(text)
            if found is None:
                found = _strings[text] = len(_strings)
                _texts.append(text)
    return found


def name(text: str) -> int:
    """Return the index of a name of the source, which is valid in all segments; below -1."""
    found = _names.get(text)
    if found is None:
        with _tables:
            found = _names.get(text)
            if found is None:
                found = _names[text] = -2 - len(_names)
                _new_names.append(text)
    return found


def value(text: str, kind: str, number: int) -> int:
    """Return the index of a value: its text, its type, and the number of its object or -1."""
    key = (text, kind, number)
    found = _values.get(key)
    if found is None:
        # An exception, as at the limit of recursion, leaves no index without its record.
        record = (string(text), string(kind), number)
        found = next_value()
        records.extend((VALUE, found, *record))
        _values[key] = found
    return found


def composed(kind: str, number: int) -> int:
    """Return the index of an object as a value: the reader composes its text from its parts."""
    named = string(kind)
    found = next_value()
    records.extend((VALUE, found, -1, named, number))
    return found


def none() -> int:
    if _none[0] < 0:
        _none[0] = value("None", "NoneType", -1)
    return _none[0]


# --- writing ------------------------------------------------------------------------------------


def check() -> None:
    """Write what is pending if it is much or old, begin a new segment if this one is full, and
    end the recording at the time limit. Called every now and then by the recorder.
    """
    now = time.monotonic()
    if now > _File.deadline and _File.on_deadline is not None:
        _File.on_deadline()
        return
    if len(records) > BLOCK or now - _File.flushed > _FLUSH_S:
        flush()
        _File.flushed = now
    steps = _File.steps - _File.began
    share = 2 if _File.segment == 0 else 4
    if steps > _File.limit_steps // share or _File.size > _File.limit_bytes // share:
        _File.dropped_by = "events" if steps > _File.limit_steps // share else "bytes"
        rotate()


def rotate() -> None:
    """Begin a new segment, and drop the one before the previous, unless it is the first."""
    flush()
    _clear()
    if _File.segment >= 2:
        try:
            system.unlink(_path(_File.segment - 1))
        except OSError:
            pass
    _File.segment += 1
    _File.began, _File.size = _File.steps, 0
    _introduce()
    _File.on_rotate()


def _path(segment: int) -> str:
    return f"{_File.directory}/{_File.pid}-{segment}.trace"


def flush() -> None:
    """Append what is pending to the file."""
    if not _File.is_open or not _lock.acquire(False):
        return
    try:
        _append()
    except OSError:
        _File.is_broken = True
        del records[:]
        del _texts[:]
    finally:
        _lock.release()


def _append() -> None:
    # Other threads may add records meanwhile: they stay for the next time. Records are taken
    # before texts, so that every text they refer to is there.
    count = len(records)
    taken = records[:count]
    del records[:count]
    block = b""
    for kind, pending in ((b"N", _new_names), (b"S", _texts)):
        texts = pending[:]
        del pending[: len(texts)]
        if texts:
            text = "\0".join([each.replace("\0", "\\x00") for each in texts])
            data = text.encode("utf-8", "surrogatepass")
            block += kind + len(data).to_bytes(8, "little") + data
    if not taken and not block:
        return
    data = _File.array("q", taken).tobytes()  # type: ignore[attr-defined]
    block += b"E" + len(data).to_bytes(8, "little") + data
    flags = system.O_WRONLY | system.O_CREAT | system.O_APPEND | _PRIVATE
    handle = system.open(_path(_File.segment), flags, 0o600)
    try:
        view = memoryview(block)
        while view:
            view = view[system.write(handle, view) :]
    finally:
        system.close(handle)
    _File.size += len(block)
