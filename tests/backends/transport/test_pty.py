from __future__ import annotations

import sys

from backends.async_tests import on_loop, until
from freezeframe.backends.transport.fd_reader import TextReader
from freezeframe.backends.transport.fd_writer import StdinWriter
from freezeframe.backends.transport.process import Process
from freezeframe.backends.transport.pty import Terminal

CODE = """
import os, sys
print(sys.stdin.isatty(), sys.stdout.isatty(), os.get_terminal_size().columns, flush=True)
with open("/dev/tty") as tty:  # there is one only with a controlling terminal
    print(os.tcgetpgrp(tty.fileno()) == os.getpgrp(), flush=True)
print("got", input(), flush=True)
"""


@on_loop
async def test_a_program_gets_a_terminal_of_its_own() -> None:
    terminal = Terminal(columns=77, echo=False)
    side = terminal.program
    process = Process.spawn(
        [sys.executable, "-I", "-S", "-c", CODE],
        stdin=side,
        stdout=side,
        stderr=side,
        controlling_tty=side,
    )
    terminal.release_program()
    pieces: list[str] = []
    drain = TextReader(terminal.dup_controller(), pieces.append)
    drain.start()
    feeder = StdinWriter(terminal.dup_controller())
    await until(lambda: "".join(pieces).count("\n") == 2)
    assert "".join(pieces) == "True True 77\nTrue\n"
    await feeder.write(b"words\n")
    assert await drain.wait_end(10)
    assert "got words" in "".join(pieces)
    assert await process.wait(5) == 0
    feeder.close()
    terminal.close()


@on_loop
async def test_closing_the_terminal_hangs_the_program_up() -> None:
    terminal = Terminal()
    side = terminal.program
    process = Process.spawn(
        ["sleep", "60"], stdin=side, stdout=side, stderr=side, controlling_tty=side
    )
    terminal.close()
    terminal.close()
    assert await process.wait(10) == -1
