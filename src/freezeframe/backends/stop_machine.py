"""Who gets the next stop of a program: the user, or a brief halt of ours. Two tables. Pure.

Theory of operation. A backend stops the program for two reasons: the user's `pause` is reported, a
brief halt (to set a breakpoint, to read the stacks) is not. Both send the same interrupt, and any
other stop may come before its stop. So a stop is never judged alone, but in the state that it came
in:

    running states       the next stop                              a stop leads to
    RUNNING              is decided: is it reported?                DECIDING
    PAUSING              is decided; the pause's may come after it  DECIDING_PAUSING
    HALTING              goes to the halt, unreported               HALTED
    HALTING_PAUSING      goes to the halt, which reports it         HALTED_PAUSING

    stopped states       the program                                the user's pause leads to
    STOPPED              is stopped for the user                    (refused: it is stopped)
    STARTING             was not run yet; its first stop is ours    (refused: nothing runs)
    DECIDING             stopped; the user does not know it yet     DECIDING_PAUSED
    DECIDING_PAUSING     the same, with an interrupt under way      DECIDING_PAUSING
    DECIDING_PAUSED      must not resume: the stop is reported      DECIDING_PAUSED
    HALTED               is stopped for us, unseen                  HALTED_PAUSING
    HALTED_PAUSING       the same; must be reported when we end     HALTED_PAUSING
    EXITED               has ended; everything after it is noise    (refused)

A stop that is not reported resumes: from DECIDING to RUNNING, from DECIDING_PAUSING to PAUSING,
because the pause is still to come. No pause is lost: no row leads from a `…_PAUSING` or
`…_PAUSED` state to RUNNING, or to a state without it, but through REPORTED.

The second table follows the interrupts. The stop of an interrupt that nobody waits for any longer
is not reported; without it the user would see a signal that no one sent to the program.

Debuggers report stops of programs that did not run (a function that gdb called hit a breakpoint)
and repeat that they run: those events have rows in every state.
"""

from __future__ import annotations

from enum import Enum


class ExecutionState(Enum):
    STOPPED = "stopped"
    STARTING = "starting"
    RUNNING = "running"
    PAUSING = "pausing"
    HALTING = "halting"
    HALTING_PAUSING = "halting, pausing"
    DECIDING = "deciding"
    DECIDING_PAUSING = "deciding, pausing"
    DECIDING_PAUSED = "deciding, paused"
    HALTED = "halted"
    HALTED_PAUSING = "halted, pausing"
    EXITED = "exited"


class ExecutionEvent(Enum):
    RESUMED = "resumed"  # a resume was sent, or the debugger reports that the program runs
    REFUSED = "refused"  # the debugger did not resume the program
    STOPPED = "stopped"  # the debugger reports a stop
    REPORTED = "reported"  # the stop was reported to the user
    PAUSE = "pause"  # the user requests a pause
    HALT = "halt"  # a brief halt begins, or the start-up waits for the first stop
    HALT_TIMED_OUT = "halt timed out"  # its stop did not come: the next one is the user's
    HALT_ENDED = "halt ended"  # its stop is decided like any other
    EXITED = "exited"


_S, _E = ExecutionState, ExecutionEvent

RUNNING_STATES = frozenset({_S.RUNNING, _S.PAUSING, _S.HALTING, _S.HALTING_PAUSING})
DECIDING_STATES = frozenset({_S.DECIDING, _S.DECIDING_PAUSING, _S.DECIDING_PAUSED})
HALTED_STATES = frozenset({_S.HALTED, _S.HALTED_PAUSING})
#: the user requested a pause, and no stop was reported since
PAUSE_PENDING_STATES = frozenset(
    {
        _S.PAUSING,
        _S.HALTING_PAUSING,
        _S.DECIDING_PAUSING,
        _S.DECIDING_PAUSED,
        _S.HALTED_PAUSING,
    }
)

TRANSITIONS: dict[tuple[ExecutionState, ExecutionEvent], ExecutionState] = {
    # The program is resumed, or is reported to run.
    (_S.STOPPED, _E.RESUMED): _S.RUNNING,
    (_S.STARTING, _E.RESUMED): _S.HALTING,
    (_S.DECIDING, _E.RESUMED): _S.RUNNING,
    (_S.DECIDING_PAUSING, _E.RESUMED): _S.PAUSING,
    (_S.HALTED, _E.RESUMED): _S.RUNNING,
    **{(state, _E.RESUMED): state for state in RUNNING_STATES},
    **{(state, _E.REFUSED): _S.STOPPED for state in RUNNING_STATES},
    # It stops.
    (_S.RUNNING, _E.STOPPED): _S.DECIDING,
    (_S.PAUSING, _E.STOPPED): _S.DECIDING_PAUSING,
    (_S.HALTING, _E.STOPPED): _S.HALTED,
    (_S.HALTING_PAUSING, _E.STOPPED): _S.HALTED_PAUSING,
    (_S.STARTING, _E.STOPPED): _S.HALTED,
    # It did not run: a function that the debugger called has stopped.
    (_S.STOPPED, _E.STOPPED): _S.DECIDING,
    (_S.HALTED, _E.STOPPED): _S.DECIDING,
    (_S.HALTED_PAUSING, _E.STOPPED): _S.DECIDING_PAUSED,
    **{(state, _E.STOPPED): state for state in DECIDING_STATES},
    # The stop is decided.
    **{(state, _E.REPORTED): _S.STOPPED for state in DECIDING_STATES},
    # Pauses and brief halts.
    (_S.RUNNING, _E.PAUSE): _S.PAUSING,
    (_S.PAUSING, _E.PAUSE): _S.PAUSING,
    (_S.HALTING, _E.PAUSE): _S.HALTING_PAUSING,
    (_S.HALTING_PAUSING, _E.PAUSE): _S.HALTING_PAUSING,
    (_S.HALTED, _E.PAUSE): _S.HALTED_PAUSING,
    (_S.HALTED_PAUSING, _E.PAUSE): _S.HALTED_PAUSING,
    (_S.DECIDING, _E.PAUSE): _S.DECIDING_PAUSED,
    (_S.DECIDING_PAUSING, _E.PAUSE): _S.DECIDING_PAUSING,
    (_S.DECIDING_PAUSED, _E.PAUSE): _S.DECIDING_PAUSED,
    (_S.STOPPED, _E.HALT): _S.STARTING,
    (_S.RUNNING, _E.HALT): _S.HALTING,
    (_S.PAUSING, _E.HALT): _S.HALTING_PAUSING,
    # A second halt shares the stop of the first.
    (_S.HALTING, _E.HALT): _S.HALTING,
    (_S.HALTING_PAUSING, _E.HALT): _S.HALTING_PAUSING,
    (_S.HALTING, _E.HALT_TIMED_OUT): _S.RUNNING,
    (_S.HALTING_PAUSING, _E.HALT_TIMED_OUT): _S.PAUSING,
    (_S.STARTING, _E.HALT_TIMED_OUT): _S.STOPPED,
    (_S.HALTED, _E.HALT_ENDED): _S.DECIDING,
    (_S.HALTED_PAUSING, _E.HALT_ENDED): _S.DECIDING_PAUSED,
    # The end.
    **{(state, _E.EXITED): _S.EXITED for state in _S},
    **{(_S.EXITED, event): _S.EXITED for event in (_E.RESUMED, _E.STOPPED, _E.REPORTED)},
}


class InterruptState(Enum):
    NONE = "none"  # a stop for the signal of an interrupt is the program's own
    SENT = "sent"  # a pause or a brief halt waits for its stop
    OVERDUE = "overdue"  # its stop did not come in time: it is not reported when it comes
    LATE = "late"  # another stop was reported first: the same, if it is the next stop
    OVERDUE_AND_SENT = "overdue, and another one sent"
    LATE_AND_SENT = "late, and another one sent"


class InterruptEvent(Enum):
    SENT = "sent"
    EXPECTED = "expected"  # another one has interrupted the program, and nobody waits for its stop
    TIMED_OUT = "timed out"
    ARRIVED = "arrived"  # the stop of an interrupt has come
    OVERTAKEN = "overtaken"  # another stop has come


_I, _V = InterruptState, InterruptEvent

INTERRUPT_TRANSITIONS: dict[tuple[InterruptState, InterruptEvent], InterruptState] = {
    # A start-up waits for the first stop without an interrupt.
    (_I.NONE, _V.TIMED_OUT): _I.NONE,
    (_I.LATE, _V.TIMED_OUT): _I.LATE,
    (_I.OVERDUE, _V.TIMED_OUT): _I.OVERDUE,
    (_I.NONE, _V.SENT): _I.SENT,
    (_I.NONE, _V.EXPECTED): _I.LATE,
    (_I.NONE, _V.ARRIVED): _I.NONE,
    (_I.NONE, _V.OVERTAKEN): _I.NONE,
    (_I.SENT, _V.SENT): _I.SENT,
    (_I.SENT, _V.EXPECTED): _I.LATE_AND_SENT,
    (_I.SENT, _V.TIMED_OUT): _I.OVERDUE,
    (_I.SENT, _V.ARRIVED): _I.NONE,
    (_I.SENT, _V.OVERTAKEN): _I.LATE,
    (_I.OVERDUE, _V.SENT): _I.OVERDUE_AND_SENT,
    (_I.OVERDUE, _V.EXPECTED): _I.OVERDUE,
    (_I.OVERDUE, _V.ARRIVED): _I.NONE,
    (_I.OVERDUE, _V.OVERTAKEN): _I.OVERDUE,
    (_I.LATE, _V.SENT): _I.LATE_AND_SENT,
    (_I.LATE, _V.EXPECTED): _I.LATE,
    (_I.LATE, _V.ARRIVED): _I.NONE,
    # The debugger has dropped it.
    (_I.LATE, _V.OVERTAKEN): _I.NONE,
    (_I.OVERDUE_AND_SENT, _V.SENT): _I.OVERDUE_AND_SENT,
    (_I.OVERDUE_AND_SENT, _V.EXPECTED): _I.OVERDUE_AND_SENT,
    (_I.OVERDUE_AND_SENT, _V.TIMED_OUT): _I.OVERDUE,
    (_I.OVERDUE_AND_SENT, _V.ARRIVED): _I.LATE,
    (_I.OVERDUE_AND_SENT, _V.OVERTAKEN): _I.OVERDUE,
    (_I.LATE_AND_SENT, _V.SENT): _I.LATE_AND_SENT,
    (_I.LATE_AND_SENT, _V.EXPECTED): _I.LATE_AND_SENT,
    (_I.LATE_AND_SENT, _V.TIMED_OUT): _I.OVERDUE,
    (_I.LATE_AND_SENT, _V.ARRIVED): _I.LATE,
    (_I.LATE_AND_SENT, _V.OVERTAKEN): _I.LATE,
}
