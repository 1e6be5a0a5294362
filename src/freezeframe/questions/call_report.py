"""The life of a call, from a trace: what each line changed, branches taken, loops folded. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.model import late_regex
from freezeframe.model.calls import (
    CallArgument,
    CallReport,
    CallRow,
    CallSite,
    LineChange,
    LineOfCall,
)
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.trace import Trace, TracedFrame, TracedStep, TracedValue
from freezeframe.session.source_cache import function_block

from .source_files import SourceLines
from .source_patterns import (
    CLOSING,
    CLOSURE,
    CONDITION,
    LEAVES,
    LOOP,
    LOOP_BEFORE,
    RETURN,
    WORD,
    code_of,
)

#: the address before what a pointer points to: `0x7ffc10 -> 3`, `0x7ffc10 Cart(total=3)`
_ADDRESS = late_regex.compile(r"^0x[0-9a-f]+ (?:-> )?(?=\S)")
#: the object of a method, which the source need not name
_OBJECT = frozenset(("this", "self"))
#: how many times a line is executed before it counts as a loop without a word that says so
_REPEATED = 3


@dataclass(frozen=True, slots=True)
class _Executed:
    """One execution of a line, with the outcome of its condition."""

    step: TracedStep
    taken: bool | None = None

    @property
    def line(self) -> int:
        return self.step.line


@dataclass(slots=True)
class _Loop:
    line: int
    rounds: list[list[_Node]] = field(default_factory=list)
    #: executions of the head that no round follows
    rest: list[_Executed] = field(default_factory=list)


_Node = _Executed | _Loop


def call_report(trace: Trace, frame: TracedFrame, sources: SourceLines) -> CallReport:
    """Return what one call of the trace did; who called it, and how often, is the caller's part."""
    text = _Texts(sources, frame.path)
    inside = _frames_inside(trace, frame)
    block = text.block(frame)
    closures = {
        each.number
        for each in inside
        if each.path == frame.path
        and each.first_line in block
        and not _is_same_function(each, frame)
    }
    steps = [step for step in trace.steps if step.frame == frame.number or step.frame in closures]
    count = len(steps) + frame.dropped
    if len(steps) > 1 and block and steps[0].line == block.start and not steps[0].writes:
        del steps[0]  # the head of the function
    names = text.names(block)
    ended = frame.returned is not None or frame.raised is not None
    paths = _Paths(frame)
    steps = [paths.named(step) for step in steps]
    executed = _executed(steps, text, ended=ended or trace.outcome.how != "timeout")
    recursive = sum(1 for each in inside if _is_same_function(each, frame))
    return CallReport(
        frame.function,
        frame.path,
        frame.first_line,
        arguments=_arguments(frame),
        lines=tuple(
            _without_hidden(row, names)
            for row in _rows([_fold(executed, text)], text, 0)
            if row.changes or row.raised or row.text not in CLOSING
        ),
        returned=_shown(frame.returned),
        raised=frame.raised,
        called_from=_call_site(trace, frame, sources),
        recursive=recursive,
        left_at=_left_at(steps, text, block),
        limit=trace.dropped.limit or None,
        steps=count,
    )


def call_row(trace: Trace, frame: TracedFrame, number: int, sources: SourceLines) -> CallRow:
    """Return one call as a row of a table."""
    steps = [step for step in trace.steps if step.frame == frame.number]
    text = _Texts(sources, frame.path)
    last = steps[-1].line if steps else None
    return CallRow(
        number,
        _arguments(frame),
        left_at=last,
        left_text=text(last).strip() if last is not None else "",
        returned=_shown(frame.returned),
        raised=frame.raised,
    )


def _left_at(steps: Sequence[TracedStep], text: _Texts, block: range) -> int | None:
    """Return the last line where it is no return statement and not the end of the function."""
    if not steps or not block:
        return None
    line = steps[-1].line
    rest = (text(each).strip() for each in range(line + 1, block.stop))
    at_end = all(each in CLOSING or not each for each in rest)
    return None if at_end or RETURN.match(text(line).strip()) else line


def _without_hidden(row: LineOfCall, names: frozenset[str]) -> LineOfCall:
    """Return a row without the variables that the compiler made: the source does not name them."""
    if not names:
        return row
    shown = tuple(
        change
        for change in row.changes
        if (word := WORD.search(change.name)) is None or word[0] in names or word[0] in _OBJECT
    )
    return row if shown == row.changes else replace(row, changes=shown)


def _arguments(frame: TracedFrame) -> tuple[CallArgument, ...]:
    return tuple(CallArgument(name, _shown(value) or "") for name, value in frame.arguments)


def _is_same_function(one: TracedFrame, other: TracedFrame) -> bool:
    return (one.function, one.path) == (other.function, other.path)


def _frames_inside(trace: Trace, frame: TracedFrame) -> list[TracedFrame]:
    """Return the frames that a call made, directly or not."""
    of_step = {step.number: step.frame for step in trace.steps}
    inside = {frame.number}
    found = []
    for each in sorted(trace.frames.values(), key=lambda f: f.number):
        if each.caller is not None and of_step.get(each.caller) in inside:
            inside.add(each.number)
            found.append(each)
    return found


def _is_part(path: str, owner: str) -> bool:
    """Whether a path leads to a part of another one: `cart.total` of `cart`."""
    if owner == "self" and path.startswith("@"):
        return True
    return path.startswith(owner) and path[len(owner) :].startswith((".", "[", "->"))


class _Paths:
    """Names the parts of objects by the variables of a frame that lead to them."""

    def __init__(self, frame: TracedFrame) -> None:
        #: by object: the variable, the last one that was bound to it
        self._names: dict[int, str] = {}
        for name, value in frame.arguments:
            self._bind(name, value)

    def _bind(self, path: str, value: TracedValue | None) -> None:
        if value is not None and value.object is not None:
            known = self._names.get(value.object)
            if known is None or len(path) <= len(known):
                self._names[value.object] = path

    def named(self, step: TracedStep) -> TracedStep:
        """Return a step with what it changed, each by its path from a variable.

        What was only seen for the first time, and parts that no variable leads to, are left out.
        """
        writes = []
        names = [write.name for write in step.writes]
        for write in step.writes:
            path = write.name
            if any(_is_part(name, path) for name in names):
                continue  # its parts say what changed
            if write.owner is not None:
                owner = self._names.get(write.owner)
                path = f"{owner}{write.name}" if owner is not None else ""
            if path:
                self._bind(path, write.new)
            if path and (write.by_step or write.old is not None):
                writes.append(replace(write, name=path))
        # Not `replace`: a recorded step decodes its changes itself.
        return TracedStep(
            step.number,
            step.frame,
            step.line,
            tuple(writes),
            step.reads,
            step.raised,
            step.yielded,
        )


def _call_site(trace: Trace, frame: TracedFrame, sources: SourceLines) -> CallSite | None:
    step = next((each for each in trace.steps if each.number == frame.caller), None)
    if step is None:
        return None
    caller = trace.frames[step.frame]
    text = _Texts(sources, caller.path)(step.line).strip()
    return CallSite(caller.path, step.line, caller.function, text)


class _Texts:
    """The lines of one file: `text(12)`; empty where the file has none."""

    def __init__(self, sources: SourceLines, path: str) -> None:
        try:
            self._lines = sources.lines(path)
        except OSError:
            self._lines = []

    def block(self, frame: TracedFrame) -> range:
        """Return the lines of a frame's function; empty where they are not found."""
        return function_block(self._lines, frame.first_line, frame.function)

    def names(self, lines: range) -> frozenset[str]:
        """Return the words in these lines."""
        return frozenset(word for line in lines for word in WORD.findall(self(line)))

    def __call__(self, line: int) -> str:
        return self._lines[line - 1].expandtabs(4) if 0 < line <= len(self._lines) else ""


# --- branches


def _executed(steps: Sequence[TracedStep], text: _Texts, *, ended: bool) -> list[_Executed]:
    found = []
    for index, step in enumerate(steps):
        last = index + 1 == len(steps)
        following = None if last else steps[index + 1].line
        taken = _taken(step.line, following, text) if not last or ended else None
        found.append(_Executed(step, taken))
    return found


def _taken(line: int, following: int | None, text: _Texts) -> bool | None:
    """Return whether a condition held, by the line that was executed next; None if unknown.

    *following* is None at the end of the call.
    """
    here = text(line)
    condition = code_of(here)
    if CONDITION.match(here) is None or _is_open(condition):
        return None
    if not condition.endswith((":", "{", "then")) and not _is_block_head(condition):
        return _taken_on_one_line(condition, following, line)
    if following is None or following <= line:
        return False
    between = range(line + 1, following + 1)
    inside = all(_indent(text(each)) > _indent(here) for each in between if text(each).strip())
    return _negated(condition, inside)


def _is_block_head(condition: str) -> bool:
    """Whether a condition stands alone: `if x` (Ruby), `if (x)` with its statement below."""
    word, _, rest = condition.lstrip("} ").partition(" ")
    rest = rest.strip()
    if word.startswith(("if(", "unless(")) or rest.startswith("("):
        return condition.endswith(")") and _closes_at_end(condition[condition.index("(") :])
    return word in ("if", "elsif", "unless") and ";" not in rest and ": " not in rest


def _closes_at_end(text: str) -> bool:
    depth = 0
    for index, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth == 0:
            return index == len(text) - 1
    return False


def _taken_on_one_line(condition: str, following: int | None, line: int) -> bool | None:
    """Return whether `if (x) return 1;` was taken: only a statement that leaves tells."""
    if LEAVES.search(condition) is None:
        return None
    if following is None:
        return True
    return False if following == line + 1 else None


def _negated(condition: str, inside: bool) -> bool:
    return not inside if condition.lstrip("} ").startswith("unless") else inside


def _is_open(text: str) -> bool:
    """Whether a condition continues on the next line."""
    depth = sum({"(": 1, "[": 1, ")": -1, "]": -1}.get(char, 0) for char in text)
    return depth > 0 or text.endswith(("&&", "||", "\\", ",", " and", " or"))


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


# --- loops


def _fold(executed: Sequence[_Executed], text: _Texts) -> list[_Node]:
    """Return the executions with the rounds of each loop together."""
    nodes: list[_Node] = []
    at = 0
    while at < len(executed):
        visits = _visits(executed, at)
        if not _is_loop(executed, visits, text):
            nodes.append(executed[at])
            at += 1
            continue
        head = executed[at].line
        pairs = itertools.pairwise(visits)
        rounds = [executed[start:end] for start, end in pairs]
        last_line = max(each.line for one in rounds for each in one)
        end = visits[-1] + 1
        while end < len(executed) and head < executed[end].line <= last_line:
            end += 1
        rounds.append(executed[visits[-1] : end])
        nodes.append(_loop(head, rounds, text))
        at = end
    return nodes


def _visits(executed: Sequence[_Executed], at: int) -> list[int]:
    """Return when the line at index *at* was executed again, before any line above it."""
    head = executed[at].line
    found = [at]
    for index in range(at + 1, len(executed)):
        if executed[index].line < head:
            break
        if executed[index].line == head:
            found.append(index)
    return found


def _is_loop(executed: Sequence[_Executed], visits: Sequence[int], text: _Texts) -> bool:
    if len(visits) < 2:
        return False
    head = executed[visits[0]].line
    before = text(head - 1)
    if LOOP.match(text(head)) or LOOP_BEFORE.match(before) or CLOSURE.search(before):
        return True
    return len(visits) >= _REPEATED and not _is_open(text(head).strip())


def _loop(head: int, rounds: Sequence[Sequence[_Executed]], text: _Texts) -> _Loop:
    loop = _Loop(head)
    for one in rounds:
        if len(one) == 1 and any(len(each) > 1 for each in rounds):
            # The head again: its last check, or another part of it.
            loop.rest.append(one[0])
        else:
            loop.rounds.append([one[0], *_fold(one[1:], text)])
    return loop


# --- rows


def _rows(rounds: Sequence[Sequence[_Node]], text: _Texts, depth: int) -> list[LineOfCall]:
    """Return one row for each line of *rounds*; of a loop, its head and the rows of its rounds."""
    by_line: dict[int, list[tuple[int, _Node]]] = {}
    for number, nodes in enumerate(rounds, 1):
        for node in nodes:
            by_line.setdefault(node.line, []).append((number, node))
    lines = list(by_line) if depth == 0 else sorted(by_line)
    rows: list[LineOfCall] = []
    for line in lines:
        found = by_line[line]
        numbers = tuple(dict.fromkeys(number for number, _ in found))
        only = numbers if len(numbers) < len(rounds) else ()
        loops = [node for _, node in found if isinstance(node, _Loop)]
        if loops:
            rows += _loop_rows(line, loops, text, depth, only)
            continue
        plain = [(number, node) for number, node in found if isinstance(node, _Executed)]
        rows.append(_row(line, plain, text, depth, only))
    return rows


def _loop_rows(
    line: int, loops: Sequence[_Loop], text: _Texts, depth: int, only: tuple[int, ...]
) -> list[LineOfCall]:
    rounds = [one for loop in loops for one in loop.rounds]
    numbered = enumerate(rounds, 1)
    heads = [(number, one[0]) for number, one in numbered if isinstance(one[0], _Executed)]
    heads += [(0, each) for loop in loops for each in loop.rest]
    heads.sort(key=lambda each: each[1].step.number)
    head = _row(line, heads, text, depth, only)
    bodies = [one[1:] for one in rounds]
    one_line = not any(bodies)
    head = replace(head, rounds=None if one_line else len(rounds))
    return [head, *([] if one_line else _rows(bodies, text, depth + 1))]


def _shown(value: TracedValue | None) -> str | None:
    """Return a value's text; of a pointer, what it points to."""
    return None if value is None else _ADDRESS.sub("", value.text)


def _row(
    line: int,
    found: Sequence[tuple[int, _Executed]],
    text: _Texts,
    depth: int,
    only: tuple[int, ...],
) -> LineOfCall:
    changes: dict[str, LineChange] = {}
    for _, each in found:
        for write in each.step.writes:
            name = write.name
            new = _shown(write.new) or ""
            known = changes.get(name)
            old = _shown(write.old)
            changes[name] = (
                LineChange(name, (new,), old)
                if known is None
                else replace(known, values=(*known.values, new))
            )
    return LineOfCall(
        line,
        code_of(text(line)),
        depth,
        len(found),
        tuple(changes.values()),
        tuple(number for number, each in found if each.taken is True),
        tuple(number for number, each in found if each.taken is False),
        in_rounds=only,
        raised=next((each.step.raised for _, each in found if each.step.raised), None),
    )


def too_few(calls: int) -> str:
    """Return how many calls were made, where more were asked for: `only 1 call`."""
    return {0: "no call", 1: "only 1 call"}.get(calls, f"only {calls} calls")
