"""Calls of code that was not traced, and what they passed on from code that was."""

from __future__ import annotations

from freezeframe.model.trace import FrameKind, TracedFrame

from .queries import Query
from .traced_values import Execution, TracedValues, is_equal


def called_back(values: TracedValues, query: Query) -> TracedFrame | None:
    """Return the frame that library code called and whose result the query's call returned.

    That is known by the identity of the result; of a plain value, if the call names the only
    function that returned it.
    """
    if query.value is None:
        return None
    names = {each.name.removeprefix(".") for each in query.node.walk() if each.name}
    has_identity = query.value.object is not None
    same = [
        frame
        for frame in _frames_during(values, query.at.execution)
        if frame.returned is not None
        and is_equal(frame.returned, query.value)
        and (has_identity or frame.function.rpartition(".")[2] in names)
    ]
    return same[-1] if same and (has_identity or len(same) == 1) else None


def _frames_during(values: TracedValues, execution: Execution) -> list[TracedFrame]:
    """Return the frames that a statement called, and those that library code called in it."""
    found = values.calls(execution)
    end = values.next_step(execution)
    for frame in values.index.frames.values():
        steps = values.index.steps_of(frame.number) if frame.caller is None else []
        if steps and execution.first < steps[0].number < end:
            found.append(frame)
    return [frame for frame in found if frame.kind is not FrameKind.COMPREHENSION]
