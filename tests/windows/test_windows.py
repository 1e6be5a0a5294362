"""On Windows: its own Python under wine runs client, daemon and debuggers as they are there."""

from __future__ import annotations

from collections.abc import Callable

from .wine import WindowsDbg

Write = Callable[[str, str], None]

SUM = """\
import sys


def total(items):
    result = 0
    for item in items:
        result += item
    return result


print("sum", total([1, 2, 3]))
print("done", file=sys.stderr)
sys.exit(3)
"""


def test_a_session_from_the_first_stop_to_the_exit(wdbg: WindowsDbg, write: Write) -> None:
    write("app.py", SUM)
    first = wdbg("start", "app.py", "-b", ".\\APP.py:7")  # paths ignore case
    assert "breakpoint 1 at app.py:7 in total" in first.out
    assert "result = 0" in first.out
    assert "* result = 1 (was 0)" in wdbg("next").out
    assert wdbg("print", "result + 1").out == "result + 1 = 2\n"
    wdbg("set", "result", "10")
    wdbg("delete", "1")
    last = wdbg("continue")
    assert "exited: code 3" in last.out
    assert "| sum 15\n" in last.out
    assert "err| done\n" in last.out
    assert "exit  code 3" in wdbg("events").out


def test_input_reaches_the_program_and_an_uncaught_exception_stops_it(
    wdbg: WindowsDbg, write: Write
) -> None:
    write("ask.py", "name = input()\nprint('hi', name)\nraise ValueError('bad ' + name)\n")
    wdbg("start", "ask.py", "-b", "ask.py:1")
    wdbg("input", "Zoe")
    stopped = wdbg("continue")
    assert "uncaught exception at ask.py:3" in stopped.out
    assert "ValueError: bad Zoe" in stopped.out
    assert "| hi Zoe\n" in stopped.out


def test_a_child_is_debugged_and_ends_with_the_session(wdbg: WindowsDbg, write: Write) -> None:
    write("child.py", "import time\nprint('here')\ntime.sleep(600)\n")
    write("app.py", "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'])\n")
    stopped = wdbg("start", "app.py", "-b", "child.py:2", "--children")
    assert "child.py:2" in stopped.out
    ended = wdbg("kill")
    assert "app ended" in ended.out


def test_a_failing_test_is_explained_by_the_writes_behind_it(
    wdbg: WindowsDbg, write: Write
) -> None:
    write("cart.py", "def price(items):\n    total = sum(items)\n    return total - total // 10\n")
    write(
        "test_cart.py",
        "from cart import price\n\n\ndef test_price():\n    assert price([20]) == 20\n",
    )
    failed = wdbg("test", "test_cart.py")
    assert "failed: test_cart.py::test_price" in failed.out
    assert "cart.py:3 in price  return total - total // 10  returned 18" in failed.out


def test_pdb_stops_and_steps(wdbg: WindowsDbg, write: Write) -> None:
    write("app.py", SUM)
    assert "app.py:7 in total" in wdbg("start", "--adapter", "pdb", "app.py", "-b", "app.py:7").out
    assert "* result = 1 (was 0)" in wdbg("next").out
    wdbg("delete", "--all")
    assert "exited: code 3" in wdbg("continue").out


def test_programs_that_windows_cannot_give_a_terminal_are_refused(
    wdbg: WindowsDbg, write: Write
) -> None:
    write("app.py", SUM)
    refused = wdbg("start", "app.py", "--tty", status=1)
    assert "no terminal on Windows" in refused.err
