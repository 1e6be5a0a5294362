"""The end of debugging one process: reported once, and as it was requested."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from freezeframe.backends.lifetime import TRANSITIONS, DebuggeeLifetime, EndEvent, EndRequest
from freezeframe.model.stops import Exit

from .async_tests import on_loop


def test_every_request_has_a_row_whatever_was_requested_before():
    assert set(TRANSITIONS) == set(itertools.product(EndRequest, EndEvent))


def make() -> tuple[DebuggeeLifetime, list[Exit]]:
    reported: list[Exit] = []
    return DebuggeeLifetime(reported.append), reported


@pytest.mark.parametrize(
    ("requests", "how"),
    [
        ([], "lost"),
        (["begin_kill"], "killed"),
        (["begin_detach"], "detached"),
        (["begin_detach", "begin_kill"], "killed"),
        (["begin_kill", "begin_detach"], "killed"),
        (["begin_detach", "detach_refused"], "lost"),
    ],
)
def test_an_end_is_reported_as_what_was_requested_before_it(requests, how):
    lifetime, reported = make()
    for request in requests:
        getattr(lifetime, request)()
    lifetime.finish(Exit(how="lost", reason="gone"))
    assert [each.how for each in reported] == [how]
    assert (lifetime.ended, lifetime.lost) == (True, how == "lost")
    assert lifetime.detached == (how == "detached")


def test_only_the_first_end_is_reported():
    lifetime, reported = make()
    lifetime.finish(Exit(code=3))
    lifetime.begin_kill()
    lifetime.finish(Exit(how="killed"))
    assert reported == [Exit(code=3)]
    assert lifetime.killing
    assert not lifetime.kills_daemons


def test_daemonized_descendants_go_with_a_program_that_was_killed_alive():
    lifetime, _ = make()
    lifetime.begin_kill()
    assert lifetime.kills_daemons


@on_loop
async def test_resources_are_released_once_and_every_caller_waits_for_it():
    lifetime, _ = make()
    released, may_end = [], asyncio.Event()

    async def release(caller: object) -> None:
        await may_end.wait()
        released.append(caller)

    first = asyncio.create_task(lifetime.dispose(release))
    second = asyncio.create_task(lifetime.dispose(release))
    await asyncio.sleep(0)
    first.cancel()
    may_end.set()
    await second
    assert released == [first]
