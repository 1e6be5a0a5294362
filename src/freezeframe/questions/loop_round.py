"""One round of a loop that does not end: what changes, what does not, what grows. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from freezeframe.model import late_regex
from freezeframe.model.calls import LineChange, LineOfCall
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.trace import Trace, TracedFrame, TracedStep
from freezeframe.model.values import Value, is_cut
from freezeframe.model.waits import LoopReport, LoopValue
from freezeframe.session.source_cache import function_block

from .call_report import call_report
from .source_files import SourceLines
from .source_patterns import LEAVES, LOOP, LOOP_BEFORE, STRING, WORD, code_of

#: rounds until the values of the loop must have returned to be called a repetition
_LONGEST_PERIOD = 8
#: characters of a value that are not shown in full
_LONG = 150
_NUMBER = late_regex.compile(r"-?\d+(?:\.\d+)?")
_CONDITION = late_regex.compile(r"[}\s]*(?:else\s+)?(?:if|elif|elsif|unless)\b(.*)")


@dataclass(frozen=True, slots=True)
class ObservedLine:
    """The variables of the loop's frame when a line was about to be executed."""

    line: int
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The line of the loop, and the line that starts the beginning of its rounds."""

    head: int
    mark: int


def loop_report(
    trace: Trace, frame: TracedFrame, observed: Sequence[ObservedLine], sources: SourceLines
) -> LoopReport | None:
    """Return the outermost loop of *frame* that went round while it was recorded.

    None if no line was executed twice.
    """
    try:
        lines = [each.expandtabs(4) for each in sources.lines(frame.path)]
    except OSError:
        lines = []
    steps = [each for each in trace.steps if each.frame == frame.number]
    rounds = _rounds([each.line for each in steps], lines)
    states = [each.values for each in observed if rounds and each.line == rounds.mark]
    if rounds is None or len(states) < 2:
        return None
    grows = _growing(states)
    growing = {each.name for each in grows}
    names = _read_names(rounds.head, lines)
    return LoopReport(
        frame.path,
        rounds.head,
        code_of(_text(lines, rounds.head)),
        frame.function,
        rounds=len(states) - 1,
        unchanged=_unchanged(states, [each for each in names if each not in growing]),
        grows=grows,
        repeats=_repeating(states, growing),
        lines=_last_round(trace, frame, steps, rounds, sources),
    )


def _text(lines: Sequence[str], line: int) -> str:
    return lines[line - 1] if 0 < line <= len(lines) else ""


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _rounds(executed: Sequence[int], lines: Sequence[str]) -> _Rounds | None:
    """Return the outermost loop whose lines were executed at least twice."""
    repeated = [line for line in dict.fromkeys(executed) if executed.count(line) > 1]
    if not repeated:
        return None
    heads = [line for line in repeated if LOOP.match(_text(lines, line))]
    if heads:
        line = min(heads, key=lambda each: (_indent(_text(lines, each)), each))
        return _Rounds(line, line)
    # A loop whose head the debugger does not stop at: `loop {`, `for (;;) {`, `do {`.
    line = min(repeated, key=lambda each: (_indent(_text(lines, each)), each))
    return _Rounds(_head_above(lines, line), line)


def _head_above(lines: Sequence[str], line: int) -> int:
    depth = _indent(_text(lines, line))
    for above in range(line - 1, 0, -1):
        text = _text(lines, above)
        if text.strip() and _indent(text) < depth:
            is_head = LOOP.match(text) or LOOP_BEFORE.match(text)
            return above if is_head else line
    return line


def _read_names(head: int, lines: Sequence[str]) -> list[str]:
    """Return the names in the loop's condition and in those that leave the loop, in order."""
    texts = [_text(lines, head)]
    block = function_block(lines, head, "")
    depth = _indent(texts[0])
    for line in range(head + 1, block.stop if block else len(lines) + 1):
        text = _text(lines, line)
        if text.strip() and _indent(text) <= depth:
            if text.lstrip().startswith(("} while", "while")):
                texts.append(text)
            break
        below = code_of(_text(lines, line + 1))
        found = _CONDITION.match(code_of(text))
        if found and (LEAVES.search(text) or LEAVES.match(below)):
            texts.append(found[1])
    plain = (STRING.sub("", text) for text in texts)
    return list(dict.fromkeys(name for text in plain for name in WORD.findall(text)))


def _last_round(
    trace: Trace,
    frame: TracedFrame,
    steps: Sequence[TracedStep],
    rounds: _Rounds,
    sources: SourceLines,
) -> tuple[LineOfCall, ...]:
    starts = [at for at, step in enumerate(steps) if step.line == rounds.mark]
    last = steps[starts[-2] : starts[-1] + 1]
    part = Trace({frame.number: frame}, list(last), trace.outcome)
    shown = call_report(part, frame, sources).lines
    return tuple(
        replace(each, rounds=None, changes=tuple(map(_brief, each.changes)), depth=0)
        for each in shown
        if each.line != rounds.head or each.changes
    )


def _brief(change: LineChange) -> LineChange:
    """Return a change without values that are cut: both would look the same."""
    texts = (change.old or "", change.values[-1])
    if not all(is_cut(text) or len(text) > _LONG for text in texts):
        return change
    return replace(change, values=("(longer)",), old=None)


# --- values at the beginning of each round


def _unchanged(
    states: Sequence[Mapping[str, Value]], names: Sequence[str]
) -> tuple[LoopValue, ...]:
    found = []
    for name in names:
        values = [state.get(name) for state in states]
        first = values[0]
        if first is None or not first.text:
            continue
        if all(each is not None and _key(each) == _key(first) for each in values):
            found.append(LoopValue(name, first.text))
    return tuple(found)


def _key(value: Value) -> tuple[str, int | None]:
    return value.text, value.count


def _growing(states: Sequence[Mapping[str, Value]]) -> tuple[LoopValue, ...]:
    """Return the variables that every round makes larger or smaller, or adds elements to."""
    found = []
    for name in states[-1]:
        values = [state[name] for state in states if name in state]
        if len(values) < len(states):
            continue
        counts = [each.count for each in values if each.count is not None]
        if len(counts) == len(values) and _is_monotonic(counts):
            rate = (counts[-1] - counts[0]) / (len(counts) - 1)
            found.append(LoopValue(name, f"{counts[-1]:,} items", f"{rate:+g} a round"))
            continue
        numbers = [float(each.text) for each in values if _NUMBER.fullmatch(each.text)]
        if len(numbers) == len(values) and _is_monotonic(numbers):
            rate = (numbers[-1] - numbers[0]) / (len(numbers) - 1)
            found.append(LoopValue(name, values[-1].text, f"{rate:+.4g} a round"))
    return tuple(found)


def _is_monotonic(numbers: Sequence[float]) -> bool:
    pairs = list(itertools.pairwise(numbers))
    return all(a < b for a, b in pairs) or all(a > b for a, b in pairs)


def _repeating(states: Sequence[Mapping[str, Value]], growing: set[str]) -> tuple[LoopValue, ...]:
    """Return the names whose values return after some rounds."""
    found = []
    for name in states[-1]:
        values = [state[name].text if name in state else "" for state in states]
        if name in growing or len(set(values)) < 2 or any(map(is_cut, values)):
            continue
        for period in range(2, min(_LONGEST_PERIOD, len(values) // 2) + 1):
            if values[:-period] == values[period:]:
                cycle = " → ".join(values[-period:])
                found.append(LoopValue(name, cycle, f"every {period} rounds"))
                break
    return tuple(found)
