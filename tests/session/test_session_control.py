"""At most one owner of a session, who is never in the way for longer than it is there."""

from __future__ import annotations

import asyncio

import pytest

from freezeframe.errors import TakenOver
from freezeframe.session.control import Control, SessionOwner

PAGE, OTHER_PAGE = SessionOwner("a"), SessionOwner("b")
EDITOR = SessionOwner("c", "editor", "Neovim")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def control(clock: Clock) -> Control:
    return Control(clock)


def test_without_an_owner_everybody_may_change_the_session(control):
    control.check(None, "app")
    control.check(PAGE, "app")
    assert control.owner is None


def test_others_are_refused_while_there_is_an_owner(control):
    control.acquire(PAGE)

    control.check(PAGE, "app")
    with pytest.raises(TakenOver) as refused:
        control.check(None, "app")

    assert str(refused.value) == "taken-over: a person has taken over app."
    assert refused.value.next == "dbg await"


def test_who_takes_over_last_is_the_only_owner(control):
    control.acquire(PAGE)
    control.acquire(EDITOR)
    control.acquire(OTHER_PAGE)

    for former in (PAGE, EDITOR):
        assert not control.renew(former.id)
        assert not control.release(former.id)
        with pytest.raises(TakenOver):
            control.check(former, "app")
    assert control.owner == OTHER_PAGE


def test_control_that_is_not_renewed_ends_by_itself(control, clock):
    control.acquire(PAGE, lease_s=60)
    clock.now = 59
    assert control.renew(PAGE.id)
    clock.now = 118
    assert control.owner == PAGE
    clock.now = 119

    control.check(None, "app")

    assert [back.expired for back in control.take_handbacks()] == [True]
    assert not control.renew(PAGE.id)


def test_what_the_owner_did_is_told_once_after_the_session_is_handed_back(control):
    control.acquire(EDITOR)
    for action in ("next", "set x 3"):
        control.log(EDITOR, action)
    control.log(PAGE, "not the owner")
    assert control.take_handbacks() == ()
    control.release(EDITOR.id)

    (back,) = control.take_handbacks()

    assert (str(back.owner), back.actions, back.expired) == ("Neovim", ("next", "set x 3"), False)
    assert control.take_handbacks() == ()


def test_only_the_last_actions_are_kept_and_the_others_counted(control):
    control.acquire(PAGE)
    for number in range(50):
        control.log(PAGE, f"print {number}")
    control.release(PAGE.id)

    (back,) = control.take_handbacks()

    assert (len(back.actions), back.omitted, back.actions[-1]) == (20, 30, "print 49")


def test_a_wait_ends_when_the_session_is_handed_back_or_left():
    async def handed_back() -> bool:
        control = Control()
        control.acquire(PAGE)
        waiting = asyncio.ensure_future(control.wait_released(30))
        await asyncio.sleep(0)
        control.release(PAGE.id)
        return await waiting

    async def left() -> bool:
        control = Control()
        control.acquire(PAGE, lease_s=0.01)
        return await control.wait_released(30)

    async def kept() -> bool:
        control = Control()
        control.acquire(PAGE)
        return await control.wait_released(0.01)

    assert asyncio.run(handed_back())
    assert asyncio.run(left())
    assert not asyncio.run(kept())
