"""Python programs all of whose threads wait: they cannot be stopped, but they can be seen."""

from __future__ import annotations

import sys

import pytest

from harness import waits
from harness.interpreters import interpreters
from harness.reports import Data

IDLE = """\
import asyncio
async def work(number, jobs):
    job = await jobs.get()  # @waits
async def main():
    jobs = asyncio.Queue()
    async with asyncio.TaskGroup() as group:
        for number in range(2):
            group.create_task(work(number, jobs), name=f"worker-{number}")
asyncio.run(main())  # @runs
"""


def own(stack: Data) -> Data:
    """Return the innermost frame of the user's in a stack."""
    return next(frame for frame in stack["frames"] if not frame["library"])


def test_a_deadlock_is_shown_although_nothing_can_be_stopped(dbg, program):
    p = program("deadlock.py")
    dbg("start", p.name, "--no-wait")
    wanted = {name: (p.at(name), name) for name in ("first", "second")}

    def seen() -> bool:
        report = dbg.data("pause", "--timeout", "0.3")
        if report["state"] == "stopped":  # it was still on its way there
            dbg("continue", "--no-wait")
            return False
        found = {
            stack["thread"]["name"]: (f"deadlock.py:{own(stack)['line']}", own(stack)["function"])
            for stack in report["stacks"]
        }
        return found.items() >= wanted.items()

    waits.wait_until(seen, "both threads wait for each other")
    text = dbg("await", "--timeout", "0.1").out
    assert "thread 1 (MainThread), in threading.Thread.join:" in text
    assert f"{p.at('main')} in <module>" in text
    assert "next: dbg await or dbg pause" in text

    seen = dbg.data("backtrace", "--locals")
    assert seen["running"]
    lines = {f"deadlock.py:{own(stack)['line']}" for stack in seen["stacks"]}
    assert lines >= {p.at("first"), p.at("second"), p.at("main")}
    numbers = {stack["thread"]["name"]: stack["thread"]["id"] for stack in seen["stacks"]}
    listed = dbg.data("threads")["threads"]
    assert {each["name"]: each["id"] for each in listed} == numbers
    found = {each["name"]: f"deadlock.py:{each['frame']['line']}" for each in listed}
    assert found["first"] == p.at("first")
    assert dbg("tasks").out == dbg("threads").out


def test_an_idle_event_loop_shows_its_tasks_and_what_each_awaits(dbg, write_program):
    p = write_program("idle.py", IDLE)

    def seen() -> list[Data]:
        report = dbg.data("await", "--timeout", "0.2")
        return [task for task in report["tasks"] if task["state"] == "waiting"]

    dbg("start", p.name, "--no-wait")
    waits.wait_until(lambda: len(seen()) == 3, "every task waits")
    parent, first, second = seen()
    assert (parent["name"], parent["awaits"]) == ("Task-1", "asyncio.TaskGroup.__aexit__")
    for task, name in ((first, "worker-0"), (second, "worker-1")):
        assert task["name"] == name
        assert task["awaits"] == "asyncio.Queue.get"
        assert task["awaited_by"] == "Task-1"
        assert f"idle.py:{task['frame']['line']}" == p.at("waits")
    assert "worker-1  awaits asyncio.Queue.get" in dbg("threads").out


_STUCK = """\
import threading

lock = threading.Lock()
lock.acquire()


class Stuck:
    def __repr__(self):
        lock.acquire()
        return "free"


def work(kind):
    stuck = kind()
    n = 5
    return n


def later():
    pass


work(Stuck), later()
worker = threading.Thread(target=work, name="worker", args=[type("Other", (Stuck,), {})])
worker.start()
worker.join()
"""


@pytest.mark.own_daemon
def test_a_repr_that_is_blocked_in_c_keeps_no_other_value_from_being_shown(dbg, write_program):
    dbg.configure("[timeouts]\nvalue_s = 1\n")
    write_program("stuck.py", _STUCK)
    dbg.data("start", "stuck.py", "-b", "stuck.py:16", "--interpreter", interpreters()[0].path)

    # The main thread can be woken.
    shown = dbg.data("print", "stuck")["value"]["text"]
    assert "__repr__ took too long and was interrupted" in shown
    assert dbg.data("print", "n")["value"]["text"] == "5"
    for endless in ("any(0 for _ in iter(int, 1))", "__import__('time').sleep(50)"):
        error = dbg.error("print", endless)
        assert error["message"] == "it took longer than 1 s and was interrupted."

    # The oldest Python traces functions; it would get into none if an exception were pending.
    assert dbg.data("finish")["returned"]["text"] == "5"
    assert dbg.data("step")["stop"]["frame"]["function"] == "later"
    dbg.data("continue")
    error = dbg.error("print", "stuck")
    assert "worker at stuck.py:9 in Stuck.__repr__ is blocked in C" in error["message"]
    assert dbg.data("print", "n + 1")["value"]["text"] == "6"
    assert "blocked as well" in dbg.error("print", "stuck")["message"]


@pytest.mark.skipif(sys.platform == "win32", reason="sleeps in the C library of Unix")
def test_an_interpreter_whose_lock_is_held_in_c_is_said_not_to_answer(dbg, write_program):
    p = write_program(
        "holds.py", "import ctypes\nsleep = ctypes.PyDLL(None).sleep\ninput()\nsleep(60)\n"
    )
    pid = dbg.data("start", p.name, "--no-wait")["pid"]
    dbg("input", "go")

    def seen() -> list[str]:
        report = dbg.data("await", "--timeout", "0.1")
        # Before it holds the lock it reports its stacks.
        return [] if report["stacks"] else report["notes"]

    (note,) = waits.wait_until(seen, "the lock is held")
    assert "does not answer: code in C may hold the GIL" in note
    assert f"gdb -p {pid}" in note
