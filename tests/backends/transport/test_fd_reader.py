from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.async_tests import on_loop, until
from freezeframe.backends.transport.fd_reader import FdReader, Tail, TextReader
from freezeframe.backends.transport.fd_writer import StdinWriter
from freezeframe.backends.transport.fifo import Fifo
from freezeframe.backends.transport.process import PIPE, Process
from freezeframe.errors import UserError

PYTHON = [sys.executable, "-I", "-S", "-c"]


@settings(max_examples=30, deadline=None)
@given(text=st.text(max_size=200), sizes=st.lists(st.integers(1, 9), min_size=1))
def test_no_character_is_split_however_the_bytes_arrive(text: str, sizes: list[int]) -> None:
    async def body() -> None:
        read, write = os.pipe()
        pieces: list[str] = []
        drain = TextReader(read, pieces.append)
        data = text.encode()
        at = turn = 0
        while at < len(data):
            size = sizes[turn % len(sizes)]
            os.write(write, data[at : at + size])
            drain.drain_now()
            at, turn = at + size, turn + 1
        os.close(write)
        drain.drain_now()
        assert drain.ended
        assert "".join(pieces) == text

    asyncio.run(body())


@on_loop
async def test_invalid_bytes_are_replaced_at_the_end_too() -> None:
    read, write = os.pipe()
    pieces: list[str] = []
    ends: list[int] = []
    drain = TextReader(read, pieces.append, lambda: ends.append(1))
    drain.start()
    os.write(write, b"a\xffb\xc3")
    os.close(write)
    assert await drain.wait_end(5)
    assert "".join(pieces) == "a�b�"
    assert ends == [1]
    drain.close()
    assert ends == [1]


@on_loop
async def test_draining_now_delivers_all_that_was_written_before_and_returns() -> None:
    read, write = os.pipe()
    pieces: list[str] = []
    drain = TextReader(read, pieces.append)
    drain.start()
    drain.drain_now()
    assert pieces == []
    os.set_blocking(write, False)
    sent = os.write(write, b"x" * (1 << 20))
    drain.drain_now()
    assert len("".join(pieces)) == sent
    if sys.platform == "linux":
        assert sent > 500_000  # the pipe was widened
    os.close(write)
    drain.close()


@on_loop
async def test_draining_now_ends_despite_a_flood() -> None:
    process = Process.spawn(["yes"], stdout=PIPE)
    got: list[int] = []
    reader = FdReader(process.take_stdout(), lambda data: got.append(len(data)))
    for _ in range(20):
        reader.drain_now()
    assert sum(got) <= 20 * (1 << 20)
    await process.kill_tree()
    reader.close()


@on_loop
async def test_a_paused_reader_delivers_nothing_until_it_is_resumed() -> None:
    read, write = os.pipe()
    pieces: list[bytes] = []
    reader = FdReader(read, pieces.append)
    reader.start()
    reader.pause()
    os.write(write, b"later")
    other: list[bytes] = []
    mark, marker = os.pipe()
    second = FdReader(mark, other.append)
    second.start()
    os.write(marker, b"!")
    await until(lambda: other)
    assert pieces == []
    reader.resume()
    await until(lambda: pieces == [b"later"])
    for fd in (write, marker):
        os.close(fd)
    reader.close()
    second.close()


@on_loop
async def test_a_hundred_megabytes_do_not_block_the_loop() -> None:
    size = 100 << 20
    code = f"""
import os
block = b"0123456789abcde\\n" * 4096
for _ in range({size} // len(block)):
    os.write(1, block)
"""
    process = Process.spawn([*PYTHON, code], stdout=PIPE)
    total = 0

    def count(text: str) -> None:
        nonlocal total
        total += len(text)

    drain = TextReader(process.take_stdout(), count)
    drain.start()
    # This thread's own time: what others do with the machine meanwhile is not ours.
    worst = 0.0
    started = last = time.thread_time()
    while not drain.ended:
        await asyncio.sleep(0)
        now = time.thread_time()
        worst, last = max(worst, now - last), now
    assert total == size
    assert worst < 0.25
    assert time.thread_time() - started < 10
    await process.wait(5)


def test_a_tail_keeps_the_last_whole_lines() -> None:
    tail = Tail(limit=20)
    for number in range(100):
        tail.feed(f"line {number}\r\n\n")
    assert tail.lines() == ["line 99"]
    assert Tail().lines() == []
    tail.feed("x" * 50)
    assert str(tail) == "x" * 20


@on_loop
async def test_a_program_reads_what_it_is_fed_and_then_the_end() -> None:
    process = Process.spawn(["cat"], stdin=PIPE, stdout=PIPE)
    pieces: list[bytes] = []
    reader = FdReader(process.take_stdout(), pieces.append)
    reader.start()
    feeder = StdinWriter(process.take_stdin())
    await feeder.write(b"one\n")
    await until(lambda: b"".join(pieces) == b"one\n")
    big = os.urandom(3_000_000)
    await feeder.write(big)
    feeder.end()
    assert await reader.wait_end(10)
    assert b"".join(pieces) == b"one\n" + big
    assert await process.wait(5) == 0
    with pytest.raises(UserError, match="ended before") as caught:
        await feeder.write(b"more")
    assert caught.value.error_code == "input-closed"


@on_loop
async def test_input_for_a_program_that_never_reads_is_bounded() -> None:
    process = Process.spawn(["sleep", "60"], stdin=PIPE)
    feeder = StdinWriter(process.take_stdin(), limit=100_000)
    await feeder.write(b"x" * 2_000_000)
    waits = feeder.pending
    assert 0 < waits <= 2_000_000
    with pytest.raises(UserError, match="does not read its input") as caught:
        await feeder.write(b"more", timeout_s=0.02)
    assert caught.value.error_code == "input-full"
    assert feeder.pending == waits
    await process.kill_tree()
    await until(lambda: feeder.broken)
    with pytest.raises(UserError, match="has closed its standard input"):
        await feeder.write(b"more")


@on_loop
async def test_lines_written_to_a_fifo_by_several_programs_arrive() -> None:
    pieces: list[str] = []
    fifo = Fifo(pieces.append)
    assert os.stat(fifo.path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(fifo.path)).st_mode & 0o777 == 0o700
    fifo.start()
    for number in range(3):
        process = Process.spawn(["sh", "-c", f"echo line {number} > {fifo.path}"])
        assert await process.wait(10) == 0
        fifo.drain_now()
        assert "".join(pieces).count("\n") == number + 1
    assert not fifo.ended
    fifo.close()
    assert not Path(fifo.path).parent.exists()
