import itertools

import pytest

from freezeframe.model.state_machine import ImpossibleTransition
from freezeframe.session.phase import TRANSITIONS, Phase, PhaseEvent, advance


def test_a_program_goes_through_its_life():
    phase = Phase.IDLE
    seen = [phase]
    for occurrence in (
        PhaseEvent.STARTED,
        PhaseEvent.INITIALIZED,
        PhaseEvent.CONFIGURED,
        PhaseEvent.STOPPED,
        PhaseEvent.RESUMED,
        PhaseEvent.ENDED,
        PhaseEvent.CLEARED,
    ):
        phase = advance(phase, occurrence)
        seen.append(phase)
    assert [p.value for p in seen] == [
        "idle",
        "initializing",
        "configuring",
        "running",
        "stopped",
        "running",
        "terminated",
        "idle",
    ]


def test_a_stop_before_the_last_answer_of_the_start_up_stays_a_stop():
    phase = advance(Phase.CONFIGURING, PhaseEvent.STOPPED)
    assert advance(phase, PhaseEvent.CONFIGURED) is Phase.STOPPED


@pytest.mark.parametrize("phase", [p for p in Phase if p.alive])
def test_every_living_phase_can_end(phase):
    assert advance(phase, PhaseEvent.ENDED) is Phase.TERMINATED


def test_what_the_table_does_not_have_is_an_error_that_names_both():
    impossible = [pair for pair in itertools.product(Phase, PhaseEvent) if pair not in TRANSITIONS]
    assert (Phase.TERMINATED, PhaseEvent.STOPPED) in impossible
    for phase, occurrence in impossible:
        with pytest.raises(ImpossibleTransition, match=f"{occurrence.value}.*{phase.value}"):
            advance(phase, occurrence)
