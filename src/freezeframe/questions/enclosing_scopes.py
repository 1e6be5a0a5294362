"""Variables of enclosing functions: closures and nonlocal variables."""

from __future__ import annotations

from freezeframe.model.trace import TracedFrame, TracedValue
from freezeframe.session.source_cache import function_block

from .trace_index import StepWrite
from .traced_values import TracedValues, is_equal

_INNER = ".<locals>."
_MOST_CALLERS = 100


def enclosing_variable(
    values: TracedValues, frame: int, name: str, moment: int, value: TracedValue | None
) -> StepWrite | TracedFrame | None:
    """Return the last write of a variable that *frame* has from an enclosing function.

    Return the frame of that function if the variable is one of its arguments, and None if the
    trace does not say: where the function was called several times, each call has a variable of its
    own. *value* is what was read, if it is known.
    """
    index = values.index
    own = index.frames[frame]
    around = _caller_around(values, own)
    if around is not None:
        found = index.variable_write(around.number, name, moment)
        if found is None and name not in dict(around.arguments):
            return enclosing_variable(values, around.number, name, moment, value)
        return found or around
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


def _caller_around(values: TracedValues, frame: TracedFrame) -> TracedFrame | None:
    """Return the nearest caller of a frame whose function is written around the frame's.

    Python's names tell that themselves.
    """
    if frame.path.endswith((".py", ".pyw")):
        return None
    index, at = values.index, frame
    for _ in range(_MOST_CALLERS):
        step = index.step(at.caller)
        if step is None:
            return None
        at = index.frames[step.frame]
        if at.path == frame.path and at.function != frame.function:
            lines = values.files.lines(at.path)
            block = function_block(lines, at.first_line, at.function)
            if frame.first_line in block and frame.first_line != at.first_line:
                return at
    return None
