"""Elements that a traced generator yielded to library code: `list(rows())`, `tuple(rows())`."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.model.questions import LinkKind
from freezeframe.model.trace import TracedFrame

from .queries import EvaluatedAt, Query, moved_to
from .traced_values import TracedValues, called_name
from .value_parts import index_of

#: methods and functions that resume a generator and return what it yields
_RESUMING = frozenset(("next", "send", "__next__"))


def resumes(values: TracedValues, query: Query) -> bool:
    """Whether a call that was not traced resumed a generator and returned what it yielded.

    That is known by the function's name, or by the identity of what it returned.
    """
    if called_name(query.node) in _RESUMING:
        return True
    if query.value is None or query.value.object is None:
        return False
    found = values.yields(query.at.execution, query.node)
    last = found[-1].yielded if found else None
    return last is not None and last.object == query.value.object


def yielded_by(values: TracedValues, query: Query, frame: TracedFrame) -> Query | None:
    """Return the yield that gave the element which is followed, or the only one."""
    steps = [each for each in values.index.steps_of(frame.number) if each.yielded is not None]
    index = index_of(query.focus[0]) if query.focus else 0 if len(steps) == 1 else None
    if index is None or index >= len(steps):
        return None
    step = steps[index]
    inner = values.execution(step)
    statement = inner.statement
    if statement is None or statement.value is None or not statement.value.operands:
        return None
    at = EvaluatedAt(inner, f"{frame.function}()", LinkKind.RETURN, None, step.yielded)
    moved = moved_to(query, at, step.yielded)
    return replace(moved, node=statement.value.operands[0], focus=query.focus[1:])
