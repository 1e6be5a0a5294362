"""The phases of a session as one table. Pure.

    idle → initializing → configuring → running ⇄ stopped → terminated → idle

`running` and `stopped` come from the debugger's events, never from our own assumption. An
occurrence that the table does not have in a phase is an error that names both: it means that a
backend reported something impossible, and hiding that would make later answers lies.
"""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    IDLE = "idle"
    INITIALIZING = "initializing"
    CONFIGURING = "configuring"
    RUNNING = "running"
    STOPPED = "stopped"
    TERMINATED = "terminated"

    @property
    def alive(self) -> bool:
        """There is a debugger at work."""
        return self not in (Phase.IDLE, Phase.TERMINATED)


class Occurrence(StrEnum):
    STARTED = "started"  # a debugger is being brought up
    INITIALIZED = "initialized"  # it takes breakpoints now
    CONFIGURED = "configured"  # the program runs
    STOPPED = "stopped"
    RESUMED = "resumed"
    ENDED = "ended"
    CLEARED = "cleared"  # ready to be started again


_ENDS = {(phase, Occurrence.ENDED): Phase.TERMINATED for phase in Phase if phase.alive}

TABLE: dict[tuple[Phase, Occurrence], Phase] = {
    (Phase.IDLE, Occurrence.STARTED): Phase.INITIALIZING,
    (Phase.INITIALIZING, Occurrence.INITIALIZED): Phase.CONFIGURING,
    (Phase.CONFIGURING, Occurrence.CONFIGURED): Phase.RUNNING,
    # A program can stop before the debugger has answered the last request of its start-up.
    (Phase.CONFIGURING, Occurrence.STOPPED): Phase.STOPPED,
    (Phase.STOPPED, Occurrence.CONFIGURED): Phase.STOPPED,
    (Phase.RUNNING, Occurrence.STOPPED): Phase.STOPPED,
    (Phase.RUNNING, Occurrence.RESUMED): Phase.RUNNING,
    (Phase.CONFIGURING, Occurrence.RESUMED): Phase.CONFIGURING,
    # A second thread stops while the first one stands.
    (Phase.STOPPED, Occurrence.STOPPED): Phase.STOPPED,
    (Phase.STOPPED, Occurrence.RESUMED): Phase.RUNNING,
    (Phase.TERMINATED, Occurrence.CLEARED): Phase.IDLE,
    **_ENDS,
}


class ImpossiblePhase(Exception):
    """A debugger reported what cannot happen now. A bug in a backend."""


def advance(phase: Phase, occurrence: Occurrence) -> Phase:
    """Return the phase that follows; raise ImpossiblePhase when the table has none."""
    try:
        return TABLE[phase, occurrence]
    except KeyError:
        raise ImpossiblePhase(f"{occurrence.value!r} while {phase.value!r}") from None
