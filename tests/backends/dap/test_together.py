"""Threads that stop at the same moment: each is told once."""

from __future__ import annotations

import asyncio

from freezeframe.backends.backend import Stopped
from freezeframe.backends.dap.together import Together
from freezeframe.model.stops import StopReason


def hit(thread: int, reason: StopReason = StopReason.BREAKPOINT) -> Stopped:
    return Stopped(reason, thread)


class Told:
    def __init__(self) -> None:
        self.threads: list[int | None] = []
        self.together = Together(lambda stopped, watch: self.threads.append(stopped.thread))

    def take(self, thread: int, *, first: bool = False, reason=StopReason.BREAKPOINT) -> None:
        self.together.take(hit(thread, reason), None, first=first)

    def rest(self) -> list[int | None]:
        found = []
        while (pending := self.together.next()) is not None:
            found.append(pending[0].thread)
        return found

    def run(self, thread: int | None = None) -> None:
        self.together.runs()
        self.together.resumed(thread)


def test_one_is_told_and_the_others_wait_for_their_turn():
    told = Told()

    told.take(1, first=True)
    told.take(2)
    told.take(3)

    assert told.threads == [1]
    assert told.rest() == [2, 3]
    assert told.rest() == []


async def _early() -> Told:
    told = Told()
    told.take(2)
    told.take(3)
    assert told.threads == []
    told.take(1, first=True)
    return told


def test_the_one_that_the_adapter_means_is_told_first_even_if_it_comes_last():
    told = asyncio.run(_early())

    assert told.threads == [1]
    assert told.rest() == [2, 3]


def test_where_the_adapter_means_none_the_first_is_told():
    async def scenario() -> Told:
        heard = asyncio.Event()
        told = Told()
        told.together = Together(
            lambda stopped, _: (told.threads.append(stopped.thread), heard.set())
        )
        told.take(2)
        told.take(3)
        async with asyncio.timeout(5):
            await heard.wait()
        return told

    told = asyncio.run(scenario())

    assert told.threads == [2]
    assert told.rest() == [3]


def test_a_thread_that_has_not_run_since_is_not_told_again_after_another_one_s_step():
    told = Told()
    told.take(1, first=True)
    told.take(2)
    assert told.rest() == [2]

    told.run(1)
    told.take(1, first=True, reason=StopReason.STEP)
    told.take(2)
    told.take(3)

    assert told.rest() == [3]


def test_after_all_have_run_each_stop_is_a_new_one():
    told = Told()
    told.take(1, first=True)
    told.take(2)
    assert told.rest() == [2]

    told.run()
    told.take(2, first=True)
    told.take(1)

    assert told.threads == [1, 2]
    assert told.rest() == [1]
