"""`dbg show`: the live view of a session in a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

import pytest
from rich.cells import cell_len

from freezeframe.frontends.show.screen import screen
from freezeframe.frontends.show.view import SessionView
from harness.client import CLIENT, HANG_S


def _stopped(text="s += row"):
    frame = {"index": 0, "function": "total", "path": "/p/app.py", "line": 2}
    lines = [{"number": 1, "text": "s = 0"}, {"number": 2, "text": text, "current": True}]
    view = SessionView(
        "app",
        "stopped",
        stop={"reason": "step", "frame": frame},
        source={"lines": lines},
        values=[{"name": "s", "text": "1", "changed": True}, {"name": "row", "text": "x" * 500}],
        frames=[frame],
        output=["begin", "\x1b[2Jowned"],
    )
    view.commands.append("next")
    return view


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 60), (40, 10), (20, 5)])
def test_the_screen_fits_its_terminal(width, height):
    lines = screen(_stopped("s += '漢字' * 100"), width, height, "/p").plain.split("\n")
    assert len(lines) == height
    assert all(cell_len(line) <= width for line in lines)


def test_the_screen_has_all_parts_and_nothing_that_a_program_could_write_into_a_terminal():
    text = screen(_stopped(), 80, 24, "/p").plain
    assert "app: stopped, step at app.py:2 in total" in text
    for part in ("->   2  s += row", "*s = 1", "0  app.py:2 in total", "$ dbg next", "| begin"):
        assert part in text
    assert "\x1b" not in text


class Terminal:
    """A process at a terminal of 80 by 24."""

    def __init__(self, dbg, *command):
        self._fd, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, str(CLIENT), *command],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            cwd=dbg.project,
            env={**dbg.env, "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(inner)
        self.text = ""

    def wait_for(self, text):
        ends_at = time.monotonic() + HANG_S
        while text not in self.text:
            ready = select.select([self._fd], [], [], max(0, ends_at - time.monotonic()))[0]
            assert ready, f"no {text!r} in {self.text!r}"
            self.text += os.read(self._fd, 65536).decode("utf-8", "replace")

    def press(self, keys):
        os.write(self._fd, keys)

    def close(self):
        self.process.kill()
        self.process.wait(HANG_S)
        os.close(self._fd)


def test_the_view_follows_the_agent_and_leaves_its_output_new(dbg, write_program):
    write_program("app.py", "x = 1\nprint('hello', flush=True)\nx = 2\nx = 3\n")
    terminal = Terminal(dbg, "show")
    try:
        terminal.wait_for("no session in")
        dbg("start", "app.py", "-b", "app.py:2")
        terminal.wait_for("app: stopped, breakpoint at app.py:2")
        seen = dbg("continue", "--no-wait").out
        terminal.wait_for("| hello")
        terminal.wait_for("app: exited, code 0")
        assert "hello" in seen + dbg("output").out
        terminal.press(b"q")
        terminal.wait_for("\x1b[?1049l")
        assert terminal.process.wait(HANG_S) == 0
    finally:
        terminal.close()


def test_the_view_needs_a_terminal(dbg):
    assert dbg("show").err == "usage: `show` needs a terminal.\n  next: dbg context\n"
