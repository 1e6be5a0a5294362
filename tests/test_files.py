"""Reading files that another user named."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from freezeframe import files


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


READERS = (
    files.read_bytes,
    files.read_text,
    files.open_regular,
    lambda path: files.read_head(path, 4),
    lambda path: files.mapped(path).__enter__(),
)


@pytest.mark.parametrize("read", READERS)
def test_only_regular_files_are_opened(read, fifo, tmp_path):
    for path, why in ((fifo, "named pipe"), ("/dev/zero", "device"), (tmp_path, "irectory")):
        with pytest.raises(OSError, match=why):
            read(path)
    with pytest.raises(OSError, match="zero byte"):
        read("a\0b")
    with pytest.raises(OSError, match="cannot be encoded"):
        read("\ud800")


@pytest.mark.parametrize("read", READERS)
def test_a_number_is_never_taken_for_a_descriptor(read):
    begin, end = os.pipe()
    with pytest.raises(TypeError):
        read(begin)
    os.fstat(begin)
    os.close(begin)
    os.close(end)


def test_nobody_who_writes_to_a_fifo_is_woken_by_a_look_at_it(fifo):
    opened = threading.Event()

    def write() -> None:
        os.close(os.open(fifo, os.O_WRONLY))
        opened.set()

    thread = threading.Thread(target=write)
    thread.start()
    with pytest.raises(OSError, match="named pipe"):
        files.read_bytes(fifo)
    assert not opened.is_set()
    os.close(os.open(fifo, os.O_RDONLY))
    thread.join()


def test_more_than_the_limit_is_refused_and_not_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert files.read_bytes(path, 100) == b"x" * 100
    with pytest.raises(OSError, match="larger than 99 bytes"):
        files.read_bytes(path, 99)
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="larger than 64 MB"):
        files.read_text(path)
    assert files.read_bytes("/proc/self/stat").startswith(str(os.getpid()).encode())


def test_text_is_read_as_python_reads_it(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a\r\nb\rc\xff\n")
    assert files.read_text(path) == "a\nb\nc�\n"
    with pytest.raises(UnicodeDecodeError):
        files.read_text(path, errors="strict")


def test_the_input_of_a_program_is_a_file_or_a_device(fifo, tmp_path):
    (tmp_path / "in").write_bytes(b"x")
    for path in (str(tmp_path / "in"), os.devnull):
        fd = files.open_input(path)
        assert os.get_blocking(fd)
        os.close(fd)
    with pytest.raises(OSError, match="named pipe"):
        files.open_input(str(fifo))


def test_what_is_written_is_a_regular_file_that_others_cannot_read(fifo, tmp_path):
    path = tmp_path / "out"
    files.write_bytes(str(path), b"one two", replace=False)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        files.write_bytes(str(path), b"two", replace=False)
    files.write_bytes(str(path), b"two", replace=True)
    assert path.read_bytes() == b"two"
    with pytest.raises(OSError, match="named pipe"):
        files.write_bytes(str(fifo), b"x", replace=True)


def test_a_filesystem_that_does_not_respond_is_waited_for_once(fifo):
    pool = files._ReaderPool()
    reached = threading.Semaphore(0)

    def hang() -> bytes:  # as open() does on a network mount that is down
        reached.release()
        return os.read(os.open(fifo, os.O_RDONLY), 1)

    with pytest.raises(TimeoutError, match=r"longer than 0\.05 s"):
        pool.run("/net", hang, 0.05)
    assert reached.acquire(timeout=10)
    with pytest.raises(TimeoutError):
        pool.run("/net", hang, 60)
    assert not reached.acquire(blocking=False)
    assert pool.run("/disk", lambda: b"read", 10) == b"read"
    # The hung thread is reused when its job has ended.
    os.close(os.open(fifo, os.O_WRONLY))
    while not pool._idle[1:]:
        pool.run("/disk", lambda: b"", 10)
    assert pool.run("/net", lambda: b"back", 10) == b"back"


def test_a_source_is_read_in_the_encoding_that_it_declares(tmp_path):
    source = tmp_path / "source"
    for first, text, encoding in (
        ("# -*- coding: latin-1 -*-\n", "é", "latin-1"),
        ("#!/usr/bin/ruby\n# encoding: shift_jis\n", "日本", "shift_jis"),
        ("# vim: set fileencoding=cp1252 :\n", "€", "cp1252"),
        ("# no declaration\n", "é", "utf-8"),
        ("# coding: rot13\n", "é", "utf-8"),
        ("# coding: nonsense\n", "é", "utf-8"),
    ):
        source.write_bytes((first + text).encode(encoding))
        assert files.read_text(source) == first + text
