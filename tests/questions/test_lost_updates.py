"""Updates that another thread overwrote: only what the trace has seen is said."""

from __future__ import annotations

from freezeframe.model.trace import Read, Trace, TracedFrame, TracedStep, TracedValue, Write
from freezeframe.questions.lost_updates import lost_update

_ACCOUNT = 7


def _value(number: int) -> TracedValue:
    return TracedValue(str(number), "int")


def _read(number: int) -> tuple[Read, ...]:
    return (Read("self.balance", _value(number), _ACCOUNT, ".balance"),)


def _write(number: int) -> tuple[Write, ...]:
    return (Write(".balance", _value(number), owner=_ACCOUNT),)


def _trace(*steps: TracedStep) -> Trace:
    trace = Trace()
    for number, thread in enumerate(("MainThread", "T1", "T2"), 1):
        trace.frames[number] = TracedFrame(number, "withdraw", "/p/bank.py", 1, thread=thread)
    trace.steps = list(steps)
    return trace


def test_an_update_that_was_not_read_is_found_with_the_values_that_were_seen():
    found = lost_update(
        _trace(
            TracedStep(1, 1, 3, _write(100)),
            TracedStep(2, 2, 5, reads=_read(100)),
            TracedStep(3, 3, 5, reads=_read(100)),
            TracedStep(4, 2, 6, _write(70)),
            TracedStep(5, 3, 6, _write(40)),
        )
    )

    assert found is not None
    assert (found.thread, found.read, found.left, found.is_written) == ("T2", "100", "40", True)
    assert (found.other_thread, found.lost) == ("T1", "70")


def test_no_value_is_claimed_of_a_line_whose_write_was_not_seen():
    # T1 executed the line that writes, but the trace did not see what it wrote.
    found = lost_update(
        _trace(
            TracedStep(1, 1, 3, _write(100)),
            TracedStep(2, 2, 5, reads=_read(100)),
            TracedStep(3, 2, 6),
            TracedStep(4, 3, 5, reads=_read(0)),
            TracedStep(5, 3, 6, reads=_read(0), writes=_write(-100)),
        )
    )

    assert found is None
