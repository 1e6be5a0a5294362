"""Which calls a recording by steps enters: those that the value in question went through.

A whole run takes too many steps. It is recorded without entering calls first; the chain that is
found there names the statements whose calls matter, and those are entered in the next recording.
A call is named by its *site*: the lines that lead to it, from the recorded function inward, each
with how often its frame has come to the line. The same run again has the same sites. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.questions import Explanation
from freezeframe.model.trace import Trace, TracedStep

from .own_functions import OwnFunctions
from .source_files import Files
from .source_patterns import RETURN, STRING, WORD

#: function, line, how often the frame has come to it
SiteLine = tuple[str, int, int]
Site = tuple[SiteLine, ...]

#: calls inside of each other that are entered because a return statement makes them
_MOST_TAILS = 4
_CALL = late_regex.compile(r"[\w)\]>!]\s*\(|\bnew\s+\w")
#: a property or method without parentheses may be a call in these languages
_BARE_CALLS = (".rb", ".pl", ".pm")


@dataclass(slots=True)
class SelectedCalls:
    """The calls that a recording enters; the others are stepped over."""

    #: the lines of the frames of the stop, from the recorded function inward
    stack: tuple[int, ...] = ()
    sites: set[Site] = field(default_factory=set)
    #: what took too many steps
    refused: set[Site] = field(default_factory=set)
    #: sites that were entered because a call that was entered returns their value
    _tails: set[Site] = field(default_factory=set)

    def enters(self, site: Site, text: str) -> bool:
        """Whether to step into the calls of the line that is executed next, by its *text*."""
        if site in self.refused:
            return False
        lines = tuple(each[1] for each in site)
        if len(lines) < len(self.stack) and self.stack[: len(lines)] == lines:
            return True
        if site in self.sites or site in self._tails:
            return True
        if RETURN.match(text) and self._is_inside(site):
            self._tails.add(site)
            return True
        return False

    def _is_inside(self, site: Site) -> bool:
        """Whether a line is directly in a call that was entered for its value."""
        around = site[:-1]
        for _ in range(_MOST_TAILS):
            if around in self.sites:
                return True
            if around not in self._tails:
                return False
            around = around[:-1]
        return False

    def refuse(self, site: Site) -> Site | None:
        """Refuse the innermost selected call around a line; None if none is."""
        for length in range(len(site) - 1, 0, -1):
            around = site[:length]
            if (around in self.sites or around in self._tails) and around not in self.refused:
                self.refused.add(around)
                return around
        return None


class TraceSites:
    """The sites of the steps of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._last: dict[int, SiteLine] = {}
        counts: Counter[tuple[int, int]] = Counter()
        for step in trace.steps:
            counts[step.frame, step.line] += 1
            function = trace.frames[step.frame].function
            self._last[step.number] = (function, step.line, counts[step.frame, step.line])

    def of(self, step: TracedStep) -> Site:
        found: list[SiteLine] = []
        at: TracedStep | None = step
        while at is not None:
            found.append(self._last[at.number])
            caller = self._trace.frames[at.frame].caller
            at = self._trace.step(caller) if caller is not None else None
        return tuple(reversed(found))


def needed_calls(
    trace: Trace,
    answer: Explanation,
    step: int,
    files: Files,
    own: OwnFunctions,
) -> set[Site]:
    """Return the sites of a chain whose calls were not entered; *step* is where it begins.

    They are the calls of the statements that made a value, and of the branches that led to them.
    """
    entered = {frame.caller for frame in trace.frames.values()}
    of_frame: dict[int, list[TracedStep]] = {}
    for each in trace.steps:
        of_frame.setdefault(each.frame, []).append(each)
    sites = TraceSites(trace)
    found: set[Site] = set()
    for number in _steps(trace, answer, step, of_frame):
        at = trace.step(number)
        if at is None:
            continue
        path = trace.frames[at.frame].path
        source = files.file(path)
        statement = source.statement(at.line) if source is not None else None
        lines = range(statement.first, statement.last + 1) if statement is not None else range(0)
        for each in _of_statement(of_frame[at.frame], at, lines):
            text = files.line(path, each.line)
            if each is at and statement is not None:
                text = statement.text
            if each.number not in entered and _may_enter(text, path, own):
                found.add(sites.of(each))
    return found


def _steps(
    trace: Trace, answer: Explanation, step: int, of_frame: dict[int, list[TracedStep]]
) -> Iterator[int]:
    yield step
    for link in answer.links:
        at = trace.step(link.step) if link.step is not None else None
        if at is None:
            continue
        yield at.number
        lines = {each.line for each in link.conditions if each.path == link.path}
        before = [each for each in of_frame[at.frame] if each.number < at.number]
        for line in lines:
            last = next((each for each in reversed(before) if each.line == line), None)
            if last is not None:
                yield last.number


def _of_statement(
    steps: Sequence[TracedStep], at: TracedStep, lines: range
) -> Iterable[TracedStep]:
    """Return the steps on the lines of one execution of a statement."""
    yield at
    if len(lines) > 1:
        for each in steps[steps.index(at) + 1 :]:
            if each.line not in lines:
                break
            yield each


def _may_enter(text: str, path: str, own: OwnFunctions) -> bool:
    plain = STRING.sub('""', text)
    may_call = _CALL.search(plain) is not None
    if path.endswith(_BARE_CALLS):
        may_call = WORD.search(plain) is not None
    return may_call and own.may_be_called(text, path)
