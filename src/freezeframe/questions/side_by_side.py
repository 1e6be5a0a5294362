"""A call that two runs have in common, step by step: what is shown side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from freezeframe.model.divergence import (
    ComparedCall,
    ComparedSide,
    ComparedStep,
    DivergencePoint,
)
from freezeframe.model.trace import TracedFrame, TracedStep

from .paired_frames import FramePair, PairedRuns, TracedSide
from .traced_values import SILENT_TYPES, shortened

#: rows before and after the divergence
_MOST_EARLIER, _MOST_LATER = 60, 60
#: lines of source around the lines that were executed, and altogether
_AROUND, _MOST_LINES = 4, 160
_MOST_WRITES = 6
_MOST_VALUE = 160

_Row = tuple[TracedStep | None, TracedStep | None]


def compared_call(
    runs: PairedRuns, pair: FramePair, point: DivergencePoint, step: TracedStep
) -> ComparedCall:
    """Return the call of *pair* around *step* of the second run, at which *point* is."""
    rows = list(_aligned(pair))
    marked = _marked(rows, point, step)
    first, end = max(0, marked - _MOST_EARLIER), min(len(rows), marked + _MOST_LATER + 1)
    kept = rows[first:end]
    before = [a.line for a, _ in rows[: marked + 1] if a is not None]
    a_line = point.a_line or (before[-1] if before else pair.a.first_line)
    return ComparedCall(
        point,
        _side(runs.a, pair.a, [a for a, _ in kept if a is not None], a_line),
        _side(runs.b, pair.b, [b for _, b in kept if b is not None], point.line),
        tuple((_step(a), _step(b)) for a, b in kept),
        marked - first,
        first,
        len(rows) - end,
    )


def _marked(rows: Sequence[_Row], point: DivergencePoint, step: TracedStep) -> int:
    """Return the row of a step; that of the line of the point, where the step is a branch to it."""
    at = next((at for at, (_, b) in enumerate(rows) if b is step), 0)
    if step.line == point.line:
        return at
    after = range(at, len(rows))
    lines = (rows[each][1] for each in after)
    found = (each for each, b in zip(after, lines, strict=True) if b and b.line == point.line)
    return next(found, at)


def _aligned(pair: FramePair) -> Iterator[_Row]:
    """Yield the steps of both runs in their order; those that correspond in one row."""
    at = 0
    for step, other in zip(pair.b_steps, pair.a_of, strict=True):
        if other is None:
            yield None, step
            continue
        for each in pair.a_steps[at:other]:
            yield each, None
        yield pair.a_steps[other], step
        at = other + 1
    for each in pair.a_steps[at:]:
        yield each, None


def _step(step: TracedStep | None) -> ComparedStep | None:
    if step is None:
        return None
    writes = [
        (each.name.removeprefix("."), _value(each.new.text) if each.new else "(deleted)")
        for each in step.writes
        if each.new is None or each.new.type not in SILENT_TYPES
    ]
    return ComparedStep(step.line, tuple(writes[:_MOST_WRITES]), step.raised)


def _value(text: str) -> str:
    return shortened(text, _MOST_VALUE)


def _side(
    side: TracedSide, frame: TracedFrame, steps: Sequence[TracedStep], line: int
) -> ComparedSide:
    text = side.files.lines(frame.path)
    lines = [each.line for each in steps] or [line]
    first = max(1, min(frame.first_line, *lines) if len(lines) > 1 else min(lines) - _AROUND)
    last = min(len(text), max(*lines, line) + _AROUND)
    if last - first >= _MOST_LINES:
        first = max(first, line - _MOST_LINES // 2)
        last = min(last, first + _MOST_LINES - 1)
    if first == frame.first_line:
        last = min(last, max(_end_of_function(text, first, last), *lines, line))
    arguments = tuple(
        (name, _value(value.text))
        for name, value in frame.arguments
        if value.type not in SILENT_TYPES
    )
    return ComparedSide(
        side.relative(frame.path), frame.function, tuple(text[first - 1 : last]), first, arguments
    )


def _end_of_function(text: Sequence[str], first: int, last: int) -> int:
    """Return the last line up to *last* of what begins at line *first*, by its indentation."""

    def indentation(line: str) -> int:
        return len(line) - len(line.lstrip())

    outer = indentation(text[first - 1])
    end = first
    for number in range(first + 1, last + 1):
        line = text[number - 1]
        if line.strip() and indentation(line) <= outer and line.strip()[0] not in "{})]":
            break
        if line.strip():
            end = number
    return end
