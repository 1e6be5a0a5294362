"""Who gets the next stop of a program: the table, walked exhaustively."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

from freezeframe.backends.stop_machine import (
    INTERRUPT_TRANSITIONS,
    PAUSE_PENDING_STATES,
    RUNNING_STATES,
    TRANSITIONS,
    ExecutionEvent,
    ExecutionState,
    InterruptEvent,
    InterruptState,
)
from freezeframe.backends.stop_router import StopRouter
from freezeframe.errors import DebuggerLost, DebuggerTimeout
from freezeframe.model.state_machine import ImpossibleTransition, StateMachine

from .async_tests import on_loop

S, E = ExecutionState, ExecutionEvent


def after(events: Iterable[ExecutionEvent], state: ExecutionState = S.STOPPED) -> ExecutionState:
    machine = StateMachine(TRANSITIONS, state)
    for event in events:
        machine.on(event)
    return machine.state


#: event → the states in which it is a bug; everywhere else it has a row
REFUSED = {
    E.RESUMED: {S.DECIDING_PAUSED, S.HALTED_PAUSING},
    E.REFUSED: set(S) - RUNNING_STATES,
    E.STOPPED: set(),
    E.REPORTED: {S.STOPPED, S.STARTING, S.HALTED, S.HALTED_PAUSING, *RUNNING_STATES},
    E.PAUSE: {S.STOPPED, S.STARTING, S.EXITED},
    E.HALT: set(S) - {S.STOPPED, S.RUNNING, S.PAUSING, S.HALTING, S.HALTING_PAUSING},
    E.HALT_TIMED_OUT: set(S) - {S.STARTING, S.HALTING, S.HALTING_PAUSING},
    E.HALT_ENDED: set(S) - {S.HALTED, S.HALTED_PAUSING},
    E.EXITED: set(),
}


@pytest.mark.parametrize("event", E, ids=lambda event: event.name)
def test_an_event_has_a_row_in_every_state_or_is_refused_by_name(event):
    for state in S:
        if state in REFUSED[event]:
            assert (state, event) not in TRANSITIONS
            with pytest.raises(ImpossibleTransition, match=f"{event.value}.*{state.value}"):
                after([event], state)
        else:
            assert after([event], state) is TRANSITIONS[state, event]


def test_every_state_is_reached_from_the_first():
    reached = {S.STOPPED}
    while more := {
        TRANSITIONS[pair]
        for pair in itertools.product(reached, E)
        if pair in TRANSITIONS and TRANSITIONS[pair] not in reached
    }:
        reached |= more
    assert reached == set(S)


def test_a_requested_pause_ends_only_with_a_reported_stop_a_refusal_or_the_exit():
    for (state, event), following in TRANSITIONS.items():
        if state in PAUSE_PENDING_STATES and following not in PAUSE_PENDING_STATES:
            assert event in (E.REPORTED, E.REFUSED, E.EXITED), (state, event)


def test_a_stop_that_comes_before_the_pause_s_may_resume_and_the_pause_still_comes():
    assert after([E.RESUMED, E.PAUSE, E.STOPPED, E.RESUMED]) is S.PAUSING


def test_the_first_stop_of_a_start_goes_to_the_start_whether_or_not_the_program_ran():
    for events in ([E.HALT, E.RESUMED, E.STOPPED], [E.HALT, E.STOPPED]):
        assert after(events) is S.HALTED
    assert after([E.HALT, E.RESUMED, E.HALT_TIMED_OUT, E.STOPPED]) is S.DECIDING


def test_an_interrupt_has_a_row_for_every_event_whatever_was_sent_before():
    assert set(INTERRUPT_TRANSITIONS) == set(itertools.product(InterruptState, InterruptEvent))


def running() -> StopRouter[str]:
    router: StopRouter[str] = StopRouter()
    router.resumed()
    return router


def test_a_pause_while_a_stop_is_decided_makes_it_a_reported_one():
    router = running()
    router.stopped()
    assert not router.deliver("a logpoint")
    assert not router.request_pause()  # no interrupt: the program is stopped
    assert router.must_report
    with pytest.raises(ImpossibleTransition):
        router.resumed()
    router.reported(interrupted=False)
    assert not router.pausing
    assert not router.is_interrupt_pending


@on_loop
async def test_a_pause_during_a_brief_halt_is_reported_at_its_end():
    for early in (True, False):
        router = running()
        expected = router.expect_stop()
        router.interrupt_sent()
        if early:
            assert not router.request_pause()  # the interrupt of the halt is enough
        router.stopped()
        assert router.deliver("SIGINT")
        if not early:
            assert not router.request_pause()
        assert await router.wait_for(expected, 1) == "SIGINT"
        assert not router.take_interrupt()
        assert router.halted
        assert router.must_report
        router.end_halt()
        router.reported(interrupted=True)
        assert not router.running


@on_loop
async def test_the_stop_of_an_interrupt_that_nobody_waits_for_is_not_reported():
    overdue = running()
    overdue.interrupt_sent()
    with pytest.raises(DebuggerTimeout):
        await overdue.wait_for(overdue.expect_stop(), 0)
    assert overdue.running
    overdue.stopped()
    assert overdue.take_interrupt()

    overtaken = running()
    expected = overtaken.expect_stop()
    overtaken.interrupt_sent()
    overtaken.stopped()
    assert overtaken.deliver("a breakpoint")
    assert await overtaken.wait_for(expected, 1) == "a breakpoint"
    overtaken.end_halt()
    overtaken.reported(interrupted=False)
    overtaken.resumed()
    overtaken.stopped()
    assert overtaken.take_interrupt()
    assert not overtaken.is_interrupt_pending  # the next one is the program's own


def test_a_pause_takes_the_stop_of_an_overdue_interrupt():
    router = running()
    router.interrupt_sent()
    router.stopped()
    router.ignored(interrupted=False)
    router.resumed()
    assert router.request_pause()
    router.interrupt_sent()
    router.stopped()
    assert not router.take_interrupt()
    router.reported(interrupted=True)
    router.resumed()
    router.stopped()
    assert router.take_interrupt()


@on_loop
async def test_a_halt_of_a_program_that_exits_fails():
    router = running()
    expected = router.expect_stop()
    router.exited()
    with pytest.raises(DebuggerLost):
        await router.wait_for(expected, 1)
    assert not router.request_pause()
