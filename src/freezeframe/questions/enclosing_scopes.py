"""Variables of enclosing functions: closures and nonlocal variables."""

from __future__ import annotations

from freezeframe.model.trace import TracedFrame, TracedValue

from .trace_index import StepWrite, TraceIndex
from .traced_values import is_equal

_INNER = ".<locals>."


def enclosing_variable(
    index: TraceIndex, frame: int, name: str, moment: int, value: TracedValue | None
) -> StepWrite | TracedFrame | None:
    """Return the last write of a variable that *frame* has from an enclosing function.

    Return the frame of that function if the variable is one of its arguments, and None if the
    trace does not say: where the function was called several times, each call has a variable of its
    own. *value* is what was read, if it is known.
    """
    own = index.frames[frame]
    outer = [
        each
        for each in index.frames.values()
        if each.path == own.path and own.function.startswith(each.function + _INNER)
    ]
    if len({each.function for each in outer}) < len(outer):
        return None
    prefix = own.function.partition(_INNER)[0]
    written: StepWrite | None = None
    for each in index.frames.values():
        if each.path == own.path and f"{each.function}.".startswith(f"{prefix}."):
            found = index.variable_write(each.number, name, moment)
            if found is not None and (written is None or written.end < found.end):
                written = found
    if written is not None:
        new = written.write.new
        return written if value is None or new is None or is_equal(value, new) else None
    passed = [each for each in outer if name in dict(each.arguments)]
    return passed[0] if len(passed) == 1 else None
