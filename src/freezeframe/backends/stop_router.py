"""Hand each stop of a program to who waits for it: a brief halt, or the user.

The rules are the two tables of `stop_machine.py`; this is their state for one program, and the
future that gets the stop of a brief halt.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from freezeframe.errors import DebuggerLost, DebuggerTimeout
from freezeframe.model.state_machine import StateMachine

from .stop_machine import (
    HALTED_STATES,
    INTERRUPT_TRANSITIONS,
    PAUSE_PENDING_STATES,
    RUNNING_STATES,
    TRANSITIONS,
    ExecutionEvent,
    ExecutionState,
    InterruptEvent,
    InterruptState,
)

Stop = TypeVar("Stop")


class StopRouter(Generic[Stop]):
    """The execution state of one program. *Stop*: a stop as the debugger describes it."""

    def __init__(self) -> None:
        self._execution = StateMachine(TRANSITIONS, ExecutionState.STOPPED)
        self._interrupts = StateMachine(INTERRUPT_TRANSITIONS, InterruptState.NONE)
        self._halt: asyncio.Future[Stop] | None = None

    # --- the state

    @property
    def running(self) -> bool:
        return self._execution.state in RUNNING_STATES

    @property
    def halted(self) -> bool:
        """Whether the program is stopped for a brief halt."""
        return self._execution.state in HALTED_STATES

    @property
    def pausing(self) -> bool:
        """Whether the user requested a pause, and no stop was reported since."""
        return self._execution.state in PAUSE_PENDING_STATES

    @property
    def must_report(self) -> bool:
        """Whether the program must not resume from an unreported stop: a pause was requested."""
        return (self._execution.state, ExecutionEvent.RESUMED) not in TRANSITIONS

    @property
    def is_interrupt_pending(self) -> bool:
        """Whether the stop of an interrupt is still to come."""
        return self._interrupts.state is not InterruptState.NONE

    @property
    def is_interrupt_due(self) -> bool:
        """The same, and nothing says that the debugger has dropped it."""
        return self.is_interrupt_pending and not self.is_interrupt_late

    @property
    def is_interrupt_late(self) -> bool:
        """Whether the stop of an interrupt is still to come, after another stop was reported."""
        return self._interrupts.state is InterruptState.LATE

    # --- the program runs

    def resumed(self) -> None:
        """Note that a resume is about to be sent, or that the debugger reports it."""
        self._execution.on(ExecutionEvent.RESUMED)

    def refused(self) -> None:
        """Note that the debugger did not resume the program."""
        if self.running:
            self._execution.on(ExecutionEvent.REFUSED)

    def request_pause(self) -> bool:
        """Note that the user requests a pause. Return whether to send an interrupt for it.

        No interrupt is needed for a program that is stopped, or that is about to stop for a halt.
        """
        state = self._execution.state
        if (state, ExecutionEvent.PAUSE) not in TRANSITIONS:
            return False
        self._execution.on(ExecutionEvent.PAUSE)
        return state is ExecutionState.RUNNING

    def interrupt_sent(self) -> None:
        self._interrupts.on(InterruptEvent.SENT)

    def expect_interrupt(self) -> None:
        """Note that something else has interrupted the program; its stop is not reported."""
        self._interrupts.on(InterruptEvent.EXPECTED)

    # --- brief halts

    def expect_stop(self) -> asyncio.Future[Stop]:
        """Return a future that gets the next stop instead of the user."""
        self._execution.on(ExecutionEvent.HALT)
        if self._halt is None or self._halt.done():
            self._halt = asyncio.get_running_loop().create_future()
        return self._halt

    async def wait_for(self, expected: asyncio.Future[Stop], timeout_s: float) -> Stop:
        """Return the stop of `expect_stop`. Raises DebuggerLost if the program exits.

        Raises DebuggerTimeout if it does not stop: the next stop is the user's then.
        """
        await asyncio.wait((expected,), timeout=timeout_s)
        if expected.done():
            return expected.result()
        self._execution.on(ExecutionEvent.HALT_TIMED_OUT)
        self._interrupts.on(InterruptEvent.TIMED_OUT)
        self._halt = None
        raise DebuggerTimeout("the program could not be paused.", next="dbg stop")

    def end_halt(self) -> None:
        """Decide the stop of a brief halt like any other."""
        if self.halted:
            self._execution.on(ExecutionEvent.HALT_ENDED)
        else:
            # The debugger stopped the program when it started it, and reported no stop.
            self._execution.on(ExecutionEvent.STOPPED)

    # --- it stops

    def stopped(self) -> None:
        """Note that the debugger reports a stop."""
        self._execution.on(ExecutionEvent.STOPPED)

    def deliver(self, stop: Stop) -> bool:
        """Give a stop to the brief halt that waits for it. Return whether one does."""
        if not self.halted or self._halt is None or self._halt.done():
            return False
        self._halt.set_result(stop)
        return True

    def take_interrupt(self) -> bool:
        """Note the stop of an interrupt. Return whether nobody waits for it: it is not reported."""
        unclaimed = self._interrupts.state in (InterruptState.OVERDUE, InterruptState.LATE)
        self._interrupts.on(InterruptEvent.ARRIVED)
        return unclaimed and not self.pausing

    def ignored(self, *, interrupted: bool) -> None:
        """Note that the program is about to resume from a stop that is not reported.

        *interrupted*: it was the stop of an interrupt. Any other came before that of an interrupt
        under way, which the user's pause still waits for.
        """
        if not interrupted and not self.pausing:
            self._interrupts.on(InterruptEvent.OVERTAKEN)

    def reported(self, *, interrupted: bool) -> None:
        """Note that the stop is about to be reported to the user."""
        if not interrupted:
            self._interrupts.on(InterruptEvent.OVERTAKEN)
        self._execution.on(ExecutionEvent.REPORTED)

    def exited(self) -> None:
        """Note the end of the program. A halt that waits for a stop fails."""
        self._execution.on(ExecutionEvent.EXITED)
        if self._halt is not None and not self._halt.done():
            self._halt.set_exception(DebuggerLost("the program ended."))
            self._halt.exception()
