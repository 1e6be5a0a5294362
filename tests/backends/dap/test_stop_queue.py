"""Stops of several threads at the same time: each is reported once."""

from __future__ import annotations

import asyncio

from freezeframe.backends.backend import Stopped
from freezeframe.backends.dap.stop_queue import StopQueue
from freezeframe.model.stops import StopReason


def hit(thread: int, reason: StopReason = StopReason.BREAKPOINT) -> Stopped:
    return Stopped(reason, thread)


class Reported:
    def __init__(self) -> None:
        self.threads: list[int | None] = []
        self.queue = StopQueue(lambda stopped, watch: self.threads.append(stopped.thread))

    def add(self, thread: int, *, first: bool = False, reason=StopReason.BREAKPOINT) -> None:
        self.queue.add(hit(thread, reason), None, first=first)

    def rest(self) -> list[int | None]:
        found = []
        while (pending := self.queue.next()) is not None:
            found.append(pending[0].thread)
        return found

    def run(self, thread: int | None = None) -> None:
        self.queue.runs()
        self.queue.resumed(thread)


def test_one_stop_is_reported_and_the_others_are_queued():
    reported = Reported()

    reported.add(1, first=True)
    reported.add(2)
    reported.add(3)

    assert reported.threads == [1]
    assert reported.rest() == [2, 3]
    assert reported.rest() == []


async def _early() -> Reported:
    reported = Reported()
    reported.add(2)
    reported.add(3)
    assert reported.threads == []
    reported.add(1, first=True)
    return reported


def test_the_stop_that_the_adapter_focuses_on_is_reported_first_even_if_it_comes_last():
    reported = asyncio.run(_early())

    assert reported.threads == [1]
    assert reported.rest() == [2, 3]


def test_where_the_adapter_focuses_on_none_the_first_is_reported():
    async def scenario() -> Reported:
        done = asyncio.Event()
        reported = Reported()
        reported.queue = StopQueue(
            lambda stopped, _: (reported.threads.append(stopped.thread), done.set())
        )
        reported.add(2)
        reported.add(3)
        async with asyncio.timeout(5):
            await done.wait()
        return reported

    reported = asyncio.run(scenario())

    assert reported.threads == [2]
    assert reported.rest() == [3]


def test_a_thread_that_has_not_run_since_is_not_reported_again_after_a_step_of_another():
    reported = Reported()
    reported.add(1, first=True)
    reported.add(2)
    assert reported.rest() == [2]

    reported.run(1)
    reported.add(1, first=True, reason=StopReason.STEP)
    reported.add(2)
    reported.add(3)

    assert reported.rest() == [3]


def test_after_all_have_run_each_stop_is_a_new_one():
    reported = Reported()
    reported.add(1, first=True)
    reported.add(2)
    assert reported.rest() == [2]

    reported.run()
    reported.add(2, first=True)
    reported.add(1)

    assert reported.threads == [1, 2]
    assert reported.rest() == [1]
