"""What a program does whose threads stop one by one: a Debug Adapter's, or V8's isolates. Pure.

Theory of operation. Each thread that stops is reported by an event of its own, and may be decided
at the same time as others (`dap/stop_events.py`, `inspector/execution.py`): there is no single stop
that belongs to someone, as with a prompt (`stop_machine.py`). What all of them share is what was
requested of the program:

    state             the program                          a stop without a reason of its own is
    RUNNING           runs                                 decided by its location
    PAUSING           the user requested a pause           reported as the pause
    HALTING           is halted briefly, unseen            not reported; the halt ends it
    HALTING_PAUSING   a pause was requested meanwhile      reported as the pause
    DECIDING          has a stop that may not be reported  decided like that one
    DECIDING_PAUSING  the same; must not resume from it    reported as the pause
    STOPPED           has a stop that was reported         reported after that one

A pause stays requested until a stop is reported, or until the debugger refuses it. Debuggers refuse
a pause of a program that has stopped already; its stop is reported as the pause then. V8's isolates
are decided independently: only a debug adapter's program is DECIDING.
"""

from __future__ import annotations

from enum import Enum

from freezeframe.model.state_machine import StateMachine


class ProgramState(Enum):
    RUNNING = "running"
    PAUSING = "pausing"
    HALTING = "halting"
    HALTING_PAUSING = "halting, pausing"
    DECIDING = "deciding"
    DECIDING_PAUSING = "deciding, pausing"
    STOPPED = "stopped"


class ProgramEvent(Enum):
    STOPPED = "stopped"  # the debugger reports a stop
    RESUMED = "resumed"  # a resume is about to be sent, or the debugger reports it
    REPORTED = "reported"  # a stop is about to be reported to the user
    PAUSE = "pause"  # the user requests a pause
    PAUSE_REFUSED = "pause refused"
    HALT = "halt"  # a brief halt begins
    HALT_ENDED = "halt ended"


_S, _E = ProgramState, ProgramEvent

TRANSITIONS: dict[tuple[ProgramState, ProgramEvent], ProgramState] = {
    **{(state, _E.REPORTED): _S.STOPPED for state in _S},
    (_S.RUNNING, _E.STOPPED): _S.DECIDING,
    (_S.PAUSING, _E.STOPPED): _S.DECIDING_PAUSING,
    # Not the stop of the halt: that is not noted here.
    (_S.HALTING, _E.STOPPED): _S.DECIDING,
    (_S.HALTING_PAUSING, _E.STOPPED): _S.DECIDING_PAUSING,
    (_S.DECIDING, _E.STOPPED): _S.DECIDING,
    (_S.DECIDING_PAUSING, _E.STOPPED): _S.DECIDING_PAUSING,
    (_S.STOPPED, _E.STOPPED): _S.STOPPED,
    # By us, and a second time by the debugger's own event.
    (_S.RUNNING, _E.RESUMED): _S.RUNNING,
    (_S.PAUSING, _E.RESUMED): _S.PAUSING,
    (_S.HALTING, _E.RESUMED): _S.HALTING,
    (_S.HALTING_PAUSING, _E.RESUMED): _S.HALTING_PAUSING,
    (_S.DECIDING, _E.RESUMED): _S.RUNNING,
    (_S.DECIDING_PAUSING, _E.RESUMED): _S.PAUSING,
    (_S.STOPPED, _E.RESUMED): _S.RUNNING,
    (_S.RUNNING, _E.PAUSE): _S.PAUSING,
    (_S.PAUSING, _E.PAUSE): _S.PAUSING,
    (_S.HALTING, _E.PAUSE): _S.HALTING_PAUSING,
    (_S.HALTING_PAUSING, _E.PAUSE): _S.HALTING_PAUSING,
    (_S.DECIDING, _E.PAUSE): _S.DECIDING_PAUSING,
    (_S.DECIDING_PAUSING, _E.PAUSE): _S.DECIDING_PAUSING,
    # The debugger has resumed the program by itself, and did not report it.
    (_S.STOPPED, _E.PAUSE): _S.PAUSING,
    (_S.STOPPED, _E.HALT): _S.HALTING,
    (_S.RUNNING, _E.PAUSE_REFUSED): _S.RUNNING,
    (_S.PAUSING, _E.PAUSE_REFUSED): _S.RUNNING,
    (_S.HALTING_PAUSING, _E.PAUSE_REFUSED): _S.HALTING,
    # It was refused because of the stop.
    (_S.DECIDING_PAUSING, _E.PAUSE_REFUSED): _S.DECIDING_PAUSING,
    (_S.STOPPED, _E.PAUSE_REFUSED): _S.STOPPED,
    (_S.RUNNING, _E.HALT): _S.HALTING,
    (_S.HALTING, _E.HALT_ENDED): _S.RUNNING,
    (_S.HALTING_PAUSING, _E.HALT_ENDED): _S.PAUSING,
    # Another stop has come during the halt, and the user may have resumed since.
    (_S.RUNNING, _E.HALT_ENDED): _S.RUNNING,
    (_S.PAUSING, _E.HALT_ENDED): _S.PAUSING,
    (_S.DECIDING, _E.HALT_ENDED): _S.DECIDING,
    (_S.DECIDING_PAUSING, _E.HALT_ENDED): _S.DECIDING_PAUSING,
    (_S.STOPPED, _E.HALT_ENDED): _S.STOPPED,
}


class ThreadStops(StateMachine[ProgramState, ProgramEvent]):
    """What was requested of one program."""

    def __init__(self) -> None:
        super().__init__(TRANSITIONS, ProgramState.RUNNING)

    @property
    def stopped(self) -> bool:
        """Whether a stop was reported since the program was resumed."""
        return self.state is ProgramState.STOPPED

    @property
    def pausing(self) -> bool:
        """Whether the user requested a pause, and no stop was reported since."""
        return self.state in (_S.PAUSING, _S.HALTING_PAUSING, _S.DECIDING_PAUSING)

    @property
    def is_free(self) -> bool:
        """Whether a brief halt may begin: nothing else is under way."""
        return (self.state, ProgramEvent.HALT) in TRANSITIONS

    @property
    def refuses_pause(self) -> bool:
        """Whether a pause that the debugger refused is refused, not met by a stop meanwhile."""
        return self.state is ProgramState.PAUSING
