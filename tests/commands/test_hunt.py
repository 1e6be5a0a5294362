"""`hunt`: many runs of a command, how often and how it fails, and what is different then."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import socket
import subprocess
import sys

import pytest

from harness.requirements import give_up
from harness.waits import wait_until

_ORDER = """\
names = {"alpha", "beta", "gamma", "delta"}
order = []
for name in names:
    order.append(name)
assert order[0] != "gamma", order[0]
"""
_RACE = """\
import threading
import time


class Counter:
    def __init__(self):
        self.value = 0

    def add(self):
        seen = self.value
        time.sleep(0.0001)
        self.value = seen + 1


def work(counter):
    for _ in range(20):
        counter.add()


counter = Counter()
threads = [threading.Thread(target=work, args=(counter,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert counter.value == 40, counter.value
"""
_SLOW = "import time\ntime.sleep(0.1)\n"


def test_a_failure_by_hash_order_is_counted_grouped_recorded_and_explained(dbg, write_program):
    write_program("order.py", _ORDER)

    answer = dbg.data("hunt", "--runs", 40, "--", sys.executable, "order.py")

    assert answer["runs"] == 40
    assert 0 < answer["failures"] < 40
    assert answer["low"] < answer["failures"] / 40 < answer["high"]
    [group] = answer["groups"]
    assert (group["location"], group["message"]) == ("order.py:5", "AssertionError: gamma")
    assert group["count"] == answer["failures"]
    first = answer["divergence"]["first"]
    assert (first["kind"], first["statement"]) == ("value", "for name in names")
    assert first["differences"][0]["b"] == "'gamma'"
    assert "AssertionError: gamma" in answer["divergence"]["b"]["message"]
    assert answer["recorded"] == "order-failed-trace"


def test_an_update_that_another_thread_overwrote_is_named(dbg, write_program):
    write_program("race.py", _RACE)

    answer = dbg.data("hunt", "--runs", 4, "--shake", "--", sys.executable, "race.py")

    assert answer["failures"]
    assert answer["race"].startswith("value: ")
    told = (
        r"race\.py:10 in Counter\.add and (wrote|left) \d+ (at|there by) line 12; .* had not read"
    )
    assert re.search(told, answer["race"])


_TASKS = """\
import asyncio

balance = 100


async def withdraw(amount):
    global balance
    seen = balance
    if seen >= amount:
        await asyncio.sleep(0)
        balance = seen - amount


async def main():
    global balance
    await asyncio.gather(withdraw(70), check())
    assert order == ["withdrawn", "checked"], order


order = []


async def check():
    await asyncio.sleep(0)
    order.append("withdrawn" if balance == 30 else "too early")
    order.append("checked")


asyncio.run(main())
"""


def test_tasks_are_resumed_in_another_order_and_the_failure_is_recorded(dbg, write_program):
    write_program("tasks.py", _TASKS)
    command = ("--", sys.executable, "tasks.py")

    plain = dbg.data("hunt", "--runs", 6, *command)
    shaken = dbg.data("hunt", "--runs", 20, "--shake", *command)

    assert plain["failures"] == 0
    assert 0 < shaken["failures"] < 20
    assert "too early" in shaken["groups"][0]["message"]
    assert shaken["recorded"] == "tasks-failed-trace"
    assert shaken["divergence"]["first"]["function"] in ("check", "withdraw", "main")


def test_an_interrupted_hunt_goes_on_where_it_was(dbg, write_program):
    write_program("slow.py", _SLOW)
    command = ("hunt", "--runs", 40, "--jobs", 2, "--", sys.executable, "slow.py")
    client = dbg.start_background(*command)

    def runs():
        found = [*dbg.home.rglob("hunts/*.json")]
        with contextlib.suppress(ValueError, OSError):
            return json.loads(found[0].read_text())["runs"] if found else 0
        return 0

    wait_until(lambda: runs() >= 5, "five runs were kept")
    client.interrupt()
    client.wait()
    kept = runs()

    answer = dbg.data(*command)

    assert 5 <= kept < 40
    assert answer["continued"] >= kept
    assert (answer["runs"], answer["failures"]) == (40, 0)
    assert dbg.data(*command[:2], 4, *command[3:])["continued"] == 0


@pytest.fixture
def cluster(tmp_path):
    """Start a scheduler and two workers on loopback; yield its port and the workers."""
    if importlib.util.find_spec("distributed") is None:
        give_up("there is no Dask: pip install distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = []

    def start(*arguments):
        command = (sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:])
        log = open(tmp_path / f"dask-{len(started)}.log", "wb")  # noqa: SIM115
        started.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path))
        log.close()
        return started[-1]

    options = ("--host", "127.0.0.1", "--no-dashboard")
    start("scheduler", "--port", str(port), *options)
    try:
        workers = [
            start("worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny", *options)
            for _ in range(2)
        ]
        yield port, workers
    finally:
        for each in started:
            each.kill()
            each.wait()


def test_a_cluster_does_the_runs_although_one_of_its_workers_is_killed(
    dbg, write_program, cluster, tmp_path
):
    port, workers = cluster
    logs = [tmp_path / "dask-1.log", tmp_path / "dask-2.log"]
    wait_until(lambda: all("Registered to" in log.read_text() for log in logs), "two workers")
    write_program("slow.py", _SLOW)
    command = ("hunt", "--runs", 60, "--on", f"dask://127.0.0.1:{port}", "--json", "--")
    client = dbg.start_background(*command, sys.executable, "slow.py")

    def runs():
        found = [*dbg.home.rglob("hunts/*.json")]
        with contextlib.suppress(ValueError, OSError):
            return json.loads(found[0].read_text())["runs"] if found else 0
        return 0

    wait_until(lambda: runs() >= 6, "six runs were done")
    workers[0].kill()

    answer = client.wait().data()

    assert (answer["runs"], answer["failures"]) == (60, 0)
    assert sum(each["runs"] for each in answer["workers"]) == 60
    [ended] = [each for each in answer["workers"] if each["problem"]]
    assert ended["problem"].startswith("it ended")
    assert all(each["has_debugger"] for each in answer["workers"])


def test_an_address_that_is_no_cluster_is_refused(dbg, write_program):
    write_program("slow.py", _SLOW)

    error = dbg.error("hunt", "--on", "127.0.0.1:1", "--", sys.executable, "slow.py")

    assert "--on takes dask://HOST:PORT" in error["message"]
