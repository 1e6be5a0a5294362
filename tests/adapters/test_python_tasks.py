"""Coroutines and tasks: where steps lead, what they changed, and which task a stop is in."""

from __future__ import annotations

import sys

import pytest

from harness.reports import changed, frame_of, place, texts

TASKS = """\
import asyncio
async def fetch(n):
    total = 0
    await asyncio.sleep(0.001 * n)
    total += n  # @added
    return total
async def numbers(n):
    for i in range(n):
        await asyncio.sleep(0.001)  # @sleeps
        yield i  # @yields
async def work():
    one = await fetch(1)  # @one
    two = await asyncio.gather(fetch(1), fetch(2))  # @two
    seen = []  # @seen
    async for each in numbers(1):
        seen.append(each)  # @append
    async with asyncio.TaskGroup() as group:  # @group
        task = group.create_task(fetch(3), name="fetch-3")
    return one, two, seen  # @end
async def main():
    result = await work()  # @calls
    print(result)  # @last
asyncio.run(main())  # @runs
print("over")  # @over
"""


@pytest.fixture
def tasks(write_program):
    return write_program("tasks_.py", TASKS)


#: both debuggers of Python
EACH = pytest.mark.parametrize("adapter", ["debugpy", "pdb"])


@EACH
def test_steps_over_an_await_stay_in_the_coroutine_and_say_what_it_changed(dbg, tasks, adapter):
    report = dbg.data("start", tasks.name, "-b", tasks.at("one"), "--adapter", adapter)
    assert frame_of(report)["task"] == "Task-1"
    assert "in work, task Task-1" in dbg("context").out

    assert dbg("print", "await fetch(7)").out.strip() == "await fetch(7) = 7"
    assert "TypeError" in dbg.error("print", "await fetch(None)")["message"]

    report = dbg.data("next")
    assert (place(report), changed(report)) == (tasks.at("two"), {"one"})
    report = dbg.data("next")
    assert (place(report), texts(report)["two"]) == (tasks.at("seen"), "[1, 2]")
    assert changed(report) == {"two"}
    while place(report) != tasks.at("last"):
        assert "asyncio" not in frame_of(report)["path"]
        report = dbg.data("next")
    # The task is over: on to the code that ran the loop.
    assert place(dbg.data("next")) in (tasks.at("runs"), tasks.at("over"))


def test_steps_in_an_async_generator_go_on_when_it_does(dbg, tasks):
    dbg("start", tasks.name, "-b", tasks.at("sleeps"))

    assert place(dbg.data("next")) == tasks.at("yields")
    report = dbg.data("finish")
    assert frame_of(report)["function"] == "work"
    assert report["returned"]["text"] == "None"
    # Not at its first await or yield: the value was consumed before.
    assert texts(report)["seen"] == "[0]"


@EACH
def test_a_task_s_stop_shows_who_awaits_it(dbg, tasks, adapter):
    report = dbg.data("start", tasks.name, "-b", tasks.at("added"), "--adapter", adapter)
    seen = {}
    while report["state"] == "stopped":
        (stack,) = dbg.data("backtrace")["stacks"]
        waiting = [
            (frame["function"], frame["task"], f"tasks_.py:{frame['line']}")
            for frame in stack["frames"]
            if frame["suspended"] and not frame["library"]
        ]
        task = frame_of(report)["task"]
        seen.setdefault(task, waiting)
        # What another task had in the same function is no change.
        assert changed(report) == set()
        listed = {each["name"]: each["state"] for each in dbg.data("threads")["tasks"]}
        assert listed[task] == "running"
        report = dbg.data("continue")
    main = ("main", "Task-1", tasks.at("calls"))
    assert seen["Task-1"] == []
    assert seen["Task-2"] == [("work", "Task-1", tasks.at("two")), main]
    assert seen["fetch-3"] == [("work", "Task-1", tasks.at("group")), main]


TRIO = """\
import trio, trio.testing
async def wait(event):
    await event.wait()  # @waits
async def main():
    event = trio.Event()
    async with trio.open_nursery() as nursery:  # @nursery
        nursery.start_soon(wait, event, name="waiter")
        await trio.testing.wait_all_tasks_blocked()
        event.set()  # @sets
trio.run(main)
"""


def test_tasks_of_trio_are_listed_with_what_each_awaits(dbg, write_program):
    program = write_program("nursery.py", TRIO)
    # The interpreter that trio is installed for.
    runs = ("--interpreter", sys.executable)
    report = dbg.data("start", program.name, "-b", program.at("sets"), *runs)
    assert frame_of(report)["task"] == "__main__.main"
    found = {task["name"]: task for task in dbg.data("threads")["tasks"]}
    assert list(found) == ["__main__.main", "waiter"]
    assert found["__main__.main"]["state"] == "running"
    assert found["waiter"]["awaits"] == "trio.Event.wait"
    assert f"nursery.py:{found['waiter']['frame']['line']}" == program.at("waits")


LEAVES = """\
def inner(n):
    return 1 // n  # @inner
def outer():
    try:
        inner(0)  # @call
    except ZeroDivisionError:  # @except
        print("caught")
    return 5
outer()
"""


def test_a_function_that_an_exception_leaves_has_returned_nothing(dbg, write_program):
    p = write_program("leaves.py", LEAVES)
    dbg("start", p.name, "-b", p.at("inner"))

    report = dbg.data("finish")

    assert place(report) in (p.at("call"), p.at("except"))
    assert report["returned"] is None
    assert dbg.data("finish")["returned"]["text"] == "5"


FRAMEWORK = """\
async def dispatch(handler, number):
    return await handler(number)  # @awaits
"""
SERVICE = """\
import asyncio, os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "site-packages"))
import framework
async def handle(number):
    await asyncio.sleep(0)
    return number * 2  # @handle
async def main():
    for number in (4, 5):
        print(await asyncio.create_task(framework.dispatch(handle, number)))
asyncio.run(main())
"""


def test_finish_of_a_handler_ends_in_the_coroutine_of_the_framework(dbg, write_program):
    framework = write_program("site-packages/framework.py", FRAMEWORK)
    p = write_program("service.py", SERVICE)
    dbg("start", p.name, "-b", p.at("handle"))

    report = dbg.data("finish")

    assert framework.at("awaits").endswith(place(report)), "not at the next request"
    assert report["returned"]["text"] == "8"
