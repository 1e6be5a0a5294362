"""The phases of a session as one transition table. Pure.

    idle → initializing → configuring → running ⇄ stopped → terminated → idle

`running` and `stopped` come from the debugger's events, never from an assumption. An event that
the table does not allow in a phase is an error that names both: a backend has reported something
impossible, and ignoring that would make later answers wrong.
"""

from __future__ import annotations

from enum import StrEnum

from freezeframe.model import state_machine


class Phase(StrEnum):
    IDLE = "idle"
    INITIALIZING = "initializing"
    CONFIGURING = "configuring"
    RUNNING = "running"
    STOPPED = "stopped"
    TERMINATED = "terminated"

    @property
    def alive(self) -> bool:
        """Whether a debugger is running."""
        return self not in (Phase.IDLE, Phase.TERMINATED)


class PhaseEvent(StrEnum):
    STARTED = "started"  # the debugger is being started
    INITIALIZED = "initialized"  # the debugger accepts breakpoints
    CONFIGURED = "configured"  # the program runs
    STOPPED = "stopped"
    RESUMED = "resumed"
    ENDED = "ended"
    CLEARED = "cleared"  # the session can be started again


_ENDS = {(phase, PhaseEvent.ENDED): Phase.TERMINATED for phase in Phase if phase.alive}

TRANSITIONS: dict[tuple[Phase, PhaseEvent], Phase] = {
    (Phase.IDLE, PhaseEvent.STARTED): Phase.INITIALIZING,
    (Phase.INITIALIZING, PhaseEvent.INITIALIZED): Phase.CONFIGURING,
    (Phase.CONFIGURING, PhaseEvent.CONFIGURED): Phase.RUNNING,
    # A program can stop before the debugger has answered the last request of its start-up.
    (Phase.CONFIGURING, PhaseEvent.STOPPED): Phase.STOPPED,
    (Phase.STOPPED, PhaseEvent.CONFIGURED): Phase.STOPPED,
    (Phase.RUNNING, PhaseEvent.STOPPED): Phase.STOPPED,
    (Phase.RUNNING, PhaseEvent.RESUMED): Phase.RUNNING,
    (Phase.CONFIGURING, PhaseEvent.RESUMED): Phase.CONFIGURING,
    # A second thread stops while the first one is stopped.
    (Phase.STOPPED, PhaseEvent.STOPPED): Phase.STOPPED,
    (Phase.STOPPED, PhaseEvent.RESUMED): Phase.RUNNING,
    (Phase.TERMINATED, PhaseEvent.CLEARED): Phase.IDLE,
    **_ENDS,
}


def advance(phase: Phase, event: PhaseEvent) -> Phase:
    """Return the next phase. Raises ImpossibleTransition when the table has none."""
    return state_machine.advance(TRANSITIONS, phase, event)
