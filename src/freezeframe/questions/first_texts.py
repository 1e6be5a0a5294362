"""Which statement first made a text that has what differs from the expected one.

A chain ends where code that is not traced took a text apart or put it together: a stream, a
template, a regular expression. The text itself shows where its way began. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.questions import LinkKind
from freezeframe.model.trace import TracedFrame, TracedStep

from .calls_of_test import CallsOfTest
from .queries import EvaluatedAt, Query
from .text_spans import plain_text
from .traced_values import Execution, TracedValues, own_name

#: steps whose writes are read: each is decoded
_MOST_STEPS = 150_000
_LEAST_TEXT = 2


@dataclass(frozen=True, slots=True)
class DifferingSpan:
    """The characters of a text that the expected one has not there."""

    text: str
    begin: int
    end: int
    expected: str

    def offset_in(self, part: str) -> int | None:
        """Return where in *part* of the text the span begins; None if it has not been there.

        A character around the span belongs to it: a single mark is everywhere.
        """
        is_single = self.end - self.begin == 1
        if len(part) < _LEAST_TEXT or (is_single and part in self.expected):
            return None
        at = self.text.find(part, max(0, self.begin - len(part) + 1))
        while 0 <= at < self.end:
            begin, end = at, at + len(part)
            if end > self.begin and (begin < self.begin or end > self.end):
                return max(self.begin - begin, 0)
            at = self.text.find(part, at + 1)
        return None


def differing_span(actual: str, expected: str) -> DifferingSpan | None:
    """Return where the texts of two strings begin to differ; None if no character is too much."""
    mine, other = plain_text(actual), plain_text(expected)
    if mine is None or other is None:
        return None
    pairs = zip(mine, other, strict=False)
    begin = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(mine), len(other)))
    return _span(mine, begin, other)


def differing_part(whole: str, part: str) -> DifferingSpan | None:
    """Return where a text has not what *part* of it should be, before the end that both have."""
    mine, other = plain_text(whole), plain_text(part)
    if mine is None or other is None:
        return None
    for length in range(len(other) - 1, _LEAST_TEXT, -1):
        at = mine.find(other[-length:])
        if at > 0:
            return _span(mine, at - 1, other)
    return None


def _span(mine: str, begin: int, other: str) -> DifferingSpan | None:
    if begin >= len(mine):
        return None
    # Of equal characters in a row, any may be the one too many.
    end = begin + 1
    while end < len(mine) and mine[end] == mine[begin]:
        end += 1
    while begin and mine[begin - 1] == mine[end - 1]:
        begin -= 1
    return DifferingSpan(mine, begin, end, other)


def first_text(values: TracedValues, begin: Execution, span: DifferingSpan) -> Query | None:
    """Return the first text that a function of the project made with the span in it.

    *begin* is the statement of the test that failed. Texts that the test passed are left out.
    """
    calls = CallsOfTest(values, begin)
    steps = [step for frame in calls.frames for step in values.index.steps_of(frame.number)]
    if len(steps) > _MOST_STEPS:
        return None
    given = [text for each in calls.given() if (text := plain_text(each.text)) is not None]
    events: list[tuple[int, int, TracedStep | TracedFrame]] = [(s.number, 0, s) for s in steps]
    for frame in calls.frames:
        if frame.returned is not None:
            # A frame returns when all that its last step called has ended.
            moment = values.index.end(values.index.steps_of(frame.number)[-1])
            events.append((moment, frame.number, frame))
    for _, _, event in sorted(events, key=itemgetter(0, 1)):
        for query in _made_at(values, event):
            text = plain_text(query.value.text) if query.value is not None else None
            offset = span.offset_in(text) if text is not None else None
            if text is not None and offset is not None and not any(text in g for g in given):
                return replace(query, offset=offset)
    return None


def _made_at(values: TracedValues, event: TracedStep | TracedFrame) -> Iterator[Query]:
    """Yield what a step wrote, or a call returned."""
    if isinstance(event, TracedFrame):
        end = values.return_of(event)
        node = end.statement.value if end is not None and end.statement is not None else None
        if end is not None and node is not None:
            at = EvaluatedAt(end, f"{own_name(event)}()", LinkKind.RETURN, new=event.returned)
            yield Query(node, at, event.returned)
        return
    writes = [each for each in event.writes if each.by_step and each.new is not None]
    if not writes:
        return
    execution = values.execution(event)
    statement = execution.statement
    for write in writes:
        name = write.name.rpartition(".")[2]
        for target in statement.writes if statement is not None else ():
            if target.target.text.rpartition(".")[2] == name:
                at = EvaluatedAt(execution, target.target.text, old=write.old, new=write.new)
                yield Query(target.value, at, write.new)
