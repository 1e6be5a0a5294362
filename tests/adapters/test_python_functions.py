"""Breakpoints on Python functions, by whatever name the program has them."""

from __future__ import annotations

import pytest

from harness.interpreters import interpreters
from harness.reports import frame_of, place

KINDS = """\
import asyncio, functools
from exported import shout
def generate(n):  # @generate
    while n:
        n -= 1
        yield n
async def fetch(x):  # @fetch
    await asyncio.sleep(0)
    return x
async def stream(n):  # @stream
    for i in range(n):
        await asyncio.sleep(0)
        yield i
def traced(function):
    @functools.wraps(function)  # @wrapper
    def wrapper(*args):
        return function(*args)
    return wrapper
@traced  # @decorated
def decorated(x):
    return x
class Base:
    def __init__(self):  # @made
        self.n = 0
    async def run(self):  # @run
        return self.n
    @staticmethod  # @still
    def still():
        return 1
    @property  # @size
    def size(self):
        return 2
    def __call__(self):  # @called
        return 3
class Derived(Base):
    pass
def outer():
    def inner():  # @inner
        return 4
    return inner()
double = lambda x: 2 * x  # @double
def _scale(by, x):  # @scale
    return by * x
triple = functools.partial(_scale, 3)
class Command:
    __slots__ = ("callback",)
    def __init__(self, callback):
        self.callback = callback
    def __call__(self):
        return self.callback()
@Command  # @command
def command():
    return 5
other = Command(int)
async def main():
    await asyncio.gather(fetch(1), fetch(2))
    async for _ in stream(2):
        pass
    await Derived().run()
list(generate(3))
decorated(1)
Derived().still()
Derived().size
Derived()()
outer()
double(2)
double(3)
triple(2)
shout("x")
other()
command()
asyncio.run(main())
"""
EXPORTED = "from inner import _shout as shout\n"
INNER = "def _shout(text):  # @shout\n    return text.upper()\n"


@pytest.fixture
def kinds(write_program):
    write_program("exported.py", EXPORTED)
    write_program("inner.py", INNER)
    return write_program("kinds.py", KINDS)


def test_any_kind_of_function_is_stopped_in_once_a_call(dbg, kinds):
    hits = {
        "generate": ("generate", 1),
        "fetch": ("fetch", 2),
        "kinds.stream": ("stream", 1),
        "traced.wrapper": ("wrapper", 1),
        "decorated": ("decorated", 1),
        "Derived.run": ("run", 1),
        "Derived.still": ("still", 1),
        "Base.size": ("size", 1),
        "Base.__call__": ("called", 1),
        "outer.inner": ("inner", 1),
        "double": ("double", 2),
        "triple": ("scale", 1),
        "Derived": ("made", 4),
    }
    words = [word for name in hits for word in ("-b", name)]

    report = dbg.data("start", kinds.name, *words, "-b", "exported.shout", "-b", "missing")

    ids = {each["location"]: each["id"] for each in dbg.data("breakpoint", "list")["breakpoints"]}
    wanted = [
        (ids[name], kinds.at(mark)) for name, (mark, count) in hits.items() for _ in range(count)
    ]
    wanted.append((ids["exported.shout"], "inner.py:1"))
    seen = []
    while report["state"] == "stopped":
        assert frame_of(report)["index"] == 0
        seen += [(id, place(report)) for id in report["stop"]["breakpoints"]]
        report = dbg.data("continue")
    assert sorted(seen) == sorted(wanted)
    assert report["exit"]["code"] == 0
    # What was not observed is not asserted: that nothing is called so.
    assert report["notes"] == [f"breakpoint {ids['missing']} at missing was never hit"]


def test_a_generator_breakpoint_has_a_condition_and_a_message_and_can_be_stepped_from(dbg, kinds):
    dbg("break", "fetch", "--condition", "x == 2")
    dbg("break", "generate", "--log", "from {n}")
    dbg("break", "kinds.command")

    report = dbg.data("start", kinds.name)

    # What a decorator made an object of: not the `__call__` that it shares with `other`.
    assert place(report) == kinds.at("command")
    assert place(dbg.data("continue")) == kinds.at("fetch")
    assert "from 3\n" in dbg("output", "--all").out.replace("log| ", "")
    first = int(kinds.at("fetch").partition(":")[2])
    assert place(dbg.data("next")) == f"kinds.py:{first + 1}"
    assert dbg.data("continue")["exit"]["code"] == 0


@pytest.mark.parametrize("python", interpreters(), ids=str)
def test_a_second_call_is_not_compared_with_the_first(dbg, write_program, python):
    write_program("calls.py", "def f(a):\n    b = a\n    return b\nprint(f(1))\nprint(f(2))\n")
    dbg("start", "calls.py", "-b", "f", "--interpreter", python.path)

    dbg("next", "--count", "2")
    assert "returned 1" in dbg("finish").out
    told = dbg("continue").out

    assert "\n  a = 2\n" in told, "a new frame, though it may be at the address of the other"
    assert "is gone" not in told


@pytest.mark.parametrize("python", interpreters(), ids=str)
@pytest.mark.parametrize("adapter", ["debugpy", "pdb"])
def test_functions_that_run_at_exit_stop(dbg, write_program, python, adapter):
    write_program(
        "ends.py",
        "import atexit, threading, weakref\n"
        "class Held:\n"
        "    def __del__(self):\n"
        "        print('deleted')\n"
        "def freed(n):\n"
        "    print('freed', n)\n"
        "def bye(name):\n"
        "    print(name, threading.main_thread().is_alive())\n"
        "held = Held()\n"
        "weakref.finalize(held, freed, 2)\n"
        "atexit.register(bye, 'bye')\n"
        "print('main')\n",
    )
    way = ("ends.py", "--adapter", adapter, "--interpreter", python.path)

    first = dbg("start", *way, "-b", "ends.py:8", "-b", "freed", "-b", "Held.__del__").out
    assert "at ends.py:8 in bye\n" in first
    assert "name = 'bye'" in first
    assert "| main\n" in first
    second = dbg("continue").out
    assert " in freed\n" in second
    assert "n = 2" in second
    assert "| bye False\n" in second, "the state of threads is the program's own"
    end = dbg("continue").out
    assert "exited: code 0" in end
    assert "| deleted\n" in end
    assert "note: __del__ methods that Python calls as it exits are not debugged" in end

    dbg("start", *way, "-b", "ends.py:12")
    assert "exited: code 0" in dbg("next").out, "a step ends with the program"


def test_a_location_that_is_not_come_to_and_a_line_that_does_not_parse_are_said(dbg, write_program):
    write_program("broken.py", "def x(:\n")
    write_program("way.py", "n = 1\nif n > 1:\n    n = 2\nimport broken\n")
    dbg("start", "way.py", "-e")

    assert "broken.py:1: def x(:\n" in dbg("until", "3").out
    dbg("start", "way.py", "-e")
    dbg("set", "n", "3")
    dbg("until", "3")
    assert "note: it ended without a stop at way.py:2" in dbg("batch", "until 2", "until 2").out


@pytest.mark.parametrize("python", interpreters(), ids=str)
def test_a_breakpoint_on_a_line_without_code_is_set_on_the_next(dbg, write_program, python):
    write_program(
        "moves.py",
        "def f(n):\n    # a comment\n    if n:\n        m = 1\n    else:\n        m = (\n"
        "            2\n        )\n    return m\nprint(f(0))\n",
    )
    points = [word for line in (2, 5, 8) for word in ("-b", f"moves.py:{line}")]

    report = dbg.data("start", "moves.py", *points, "--interpreter", python.path)

    assert frame_of(report)["line"] == 3, "not the `def`, which runs before any call"
    lines = {each["line"] for each in dbg.data("breakpoint", "list")["breakpoints"]}
    assert lines == {3, 6, 7}, "inside a statement that spans lines: one of its own"
