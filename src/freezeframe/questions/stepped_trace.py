"""Build a trace from the stops of a program that is stepped. Pure.

A stop shows one frame: its depth, its line and its variables. The depth tells calls and returns,
the variables what the line before has changed. Debuggers stop again on the rest of a line after a
call of it has returned: that is the same step.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.trace import TracedFrame, TracedStep, TracedValue, Write
from freezeframe.model.values import PERHAPS_UNSET, UNSET, Value, child_path
from freezeframe.session import value_changes

from .selected_calls import Site
from .source_patterns import HANDLER, RAISE, RETURN, STRING, code_of

#: Characters of one value's text that are kept.
_LONGEST_TEXT = 600
#: Parts of one value whose changes are kept.
_MAX_PARTS = 12
#: `return total;`, or a last expression (`total`): the variable or literal that is returned
_RETURNED = late_regex.compile(
    r"(?:return\s+)?\(?(?P<name>[@$]?[^\W\d][\w.]*|-?\d[\d_.]*|\"[^\"\\]*\"|'[^'\\]*')\)?;?"
)
#: names that debuggers give to blocks and closures
_CLOSURE = late_regex.compile(r"^block |anonymous|closure|lambda|\.func\d|^$")
_END_OF_CLOSURE = ("})", "});", "}),")
_NAME = late_regex.compile(r"[@$]?[^\W\d][\w.]*")
#: words that are no variables where they stand alone
_KEYWORDS = frozenset(
    ("return", "break", "continue", "pass", "end", "else", "begin", "do", "loop", "raise", "then")
)
#: other variables that disappear have gone out of scope
_DELETION = late_regex.compile(r"(?:del|unset|undef)\b")
#: `p = price(n)`, `int p = price(n);`, `p := s.price(n)`: what a call returned is what was assigned
_ASSIGNED_CALL = late_regex.compile(
    r"(?:[\w<>*&:,\[\]]+\s+)*?(?P<name>[@$]?[^\W\d]\w*)(?:\s*:\s*[\w<>&]+)?\s*:?=\s*"
    r"(?:await\s+)?(?P<call>[^\W\d][\w.:>-]*)\((?P<rest>.*)\)\s*;?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class SteppedFrame:
    """The frame that a stop shows."""

    depth: int
    function: str
    path: str
    line: int
    column: int | None = None
    #: the line that the frame was first seen at
    first: int = 0
    called_by_library: bool = False
    #: the frame is another call of the function that was there before
    again: bool = False


@dataclass(slots=True)
class _Step:
    number: int
    frame: int
    line: int
    writes: list[Write] = field(default_factory=list)
    raised: str | None = None
    #: frames that the line called
    calls: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _LiveFrame:
    frame: TracedFrame
    depth: int
    values: dict[str, Value]
    step: _Step
    column: int | None
    #: of a block or closure: variables of the function around it
    shared: frozenset[str] = frozenset()
    #: how often the frame has come to each line
    visits: Counter[int] = field(default_factory=Counter)


@dataclass(slots=True)
class SteppedTrace:
    """The frames and steps so far, and the frames that have not returned yet."""

    #: the text of a line; None if it cannot be read
    line_text: Callable[[str, int], str | None]
    #: the language's separator of a value and its field
    joint: str = "."
    thread: str = ""
    frames: dict[int, TracedFrame] = field(default_factory=dict)
    bytes: int = 0
    #: the program runs on without steps: which statement made a change is not known any more
    is_ended: bool = False
    _steps: list[_Step] = field(default_factory=list)
    _live: list[_LiveFrame] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self._steps)

    @property
    def current(self) -> int | None:
        """The step that has not ended; None if every frame was left."""
        return self._live[-1].step.number if self._live else None

    def position(self) -> SteppedFrame:
        """Return the line that is executed next in the innermost frame."""
        live = self._live[-1]
        frame = live.frame
        return SteppedFrame(
            live.depth, frame.function, frame.path, live.step.line, live.column, frame.first_line
        )

    def site(self) -> Site:
        """Return the lines that lead to the one that is executed next, outermost frame first."""
        return tuple(
            (live.frame.function, live.step.line, live.visits[live.step.line])
            for live in self._live
        )

    def is_rest_of_line(self, at: SteppedFrame, *, returned: bool) -> bool:
        """Whether a stop is on the rest of the frame's line.

        It is after a call of the line has *returned*, and further to the right on the line.
        """
        known = next((each for each in self._live if each.depth == at.depth), None)
        if known is None or not _is_same(known.frame, at) or known.step.line != at.line:
            return False
        further = None not in (at.column, known.column) and (at.column or 0) > (known.column or 0)
        return returned or further

    def is_block(self, at: SteppedFrame) -> bool:
        """Whether a stop is on the only line so far of a block or closure."""
        live = next((each for each in self._live if each.depth == at.depth), None)
        if live is None or not _is_same(live.frame, at):
            return False
        if not live.frame.first_line == live.step.line == at.line:
            return False
        return at.called_by_library or _CLOSURE.search(at.function) is not None

    def is_called_again(self, at: SteppedFrame, values: Sequence[Value]) -> bool:
        """Whether the variables of a block are those of another call: its arguments differ."""
        live = next(each for each in self._live if each.depth == at.depth)
        by_name = value_changes.by_name(values)
        return any(
            name in by_name and self._value(by_name[name]).text != value.text
            for name, value in live.frame.arguments
            if name not in live.shared
        )

    def left(self, depth: int) -> bool:
        """Whether a stop at *depth* means that a frame has returned."""
        return bool(self._live) and self._live[-1].depth > depth

    def calls_left(self) -> bool:
        """Whether the current line may still call a function that was not entered yet."""
        live = self._live[-1]
        text = self._text(live.frame.path, live.step.line)
        return text is None or len(_calls_in(text)) > len(live.step.calls)

    def is_returning(self, *, into: bool) -> bool:
        """Whether the current line is a return statement; with *into*, one that calls no more."""
        live = self._live[-1]
        text = self._text(live.frame.path, live.step.line)
        if text is None or RETURN.match(text) is None:
            return False
        return not into or not self.calls_left()

    def enters(self, at: SteppedFrame) -> bool:
        """Whether a stop is in a frame that is not part of the trace yet."""
        live = next((each for each in self._live if each.depth == at.depth), None)
        return live is None or self._is_another_call(live, at)

    def add(
        self,
        at: SteppedFrame,
        values: Sequence[Value],
        arguments: Sequence[str] | None = None,
        returned: Value | None = None,
    ) -> None:
        """Add the stop *at* a line that is executed next.

        *arguments* are the names of the frame's parameters, used where the frame is new;
        *returned* is what the debugger says of the frame that was left.
        """
        values = [_plain(value) for value in values]
        for each in reversed(self._live):
            another = each.depth == at.depth and self._is_another_call(each, at)
            if each.depth > at.depth or another:
                self._settle_shared(each, values)
        self.leave(at.depth, at, returned)
        live = self._live[-1] if self._live else None
        if live is not None and live.depth == at.depth and self._is_another_call(live, at):
            self._close(live, None, at)
            live = self._live[-1] if self._live else None
        if live is not None and live.depth == at.depth:
            self._settle(live, values)
            live.step, live.column = self._step(live.frame.number, at.line), at.column
            live.visits[at.line] += 1
            return
        frame = TracedFrame(
            len(self.frames) + 1,
            at.function,
            at.path,
            at.line,
            caller=live.step.number if live is not None else None,
            thread=self.thread,
        )
        names = list(arguments) if arguments is not None else [value.name for value in values]
        receivers = [each.name for each in values if each.name in ("this", "self")]
        names = [*(each for each in receivers if each not in names), *names]
        by_name = value_changes.by_name(values)
        frame.arguments = tuple(
            (name, self._value(by_name[name]))
            for name in names
            if name in by_name and by_name[name].text not in (UNSET, PERHAPS_UNSET)
        )
        self.frames[frame.number] = frame
        if live is not None:
            live.step.calls.append(frame.number)
        snapshot = value_changes.snapshot(values, None)
        step = self._step(frame.number, at.line)
        shared = _shared(live, frame, values) if live is not None else frozenset()
        visits = Counter({at.line: 1})
        self._live.append(_LiveFrame(frame, at.depth, snapshot, step, at.column, shared, visits))

    def leave(
        self, depth: int, at: SteppedFrame | None = None, returned: Value | None = None
    ) -> None:
        """Close the frames deeper than *depth*; *at* is the stop in their caller, if it is known.

        *returned* is what the debugger says that the outermost of them returned.
        """
        deeper = [live for live in self._live if live.depth > depth]
        for index, live in enumerate(reversed(deeper)):
            last = index == len(deeper) - 1
            self._close(live, returned if last else None, at if last else None)

    def see(self, at: SteppedFrame, values: Sequence[Value]) -> None:
        """Read the changes of the current line without a new step: the trace ends here."""
        live = self._live[-1] if self._live else None
        if live is not None and live.depth == at.depth and _is_same(live.frame, at):
            self._settle(live, [_plain(value) for value in values])

    def raised(self, exception: str) -> None:
        """Note an exception that left the current line."""
        if self._live:
            self._live[-1].step.raised = exception

    def unwound(self, exception: str) -> None:
        """Note an exception that left every frame of the trace."""
        for live in self._live:
            live.frame.raised = exception

    def steps(self) -> list[TracedStep]:
        """Return the steps so far."""
        return [
            TracedStep(step.number, step.frame, step.line, tuple(step.writes), raised=step.raised)
            for step in self._steps
        ]

    # --- parts

    def _step(self, frame: int, line: int) -> _Step:
        step = _Step(len(self._steps) + 1, frame, line)
        self._steps.append(step)
        return step

    def _is_another_call(self, live: _LiveFrame, at: SteppedFrame) -> bool:
        """Whether a stop at the depth of a live frame is in another call, not in that frame."""
        if at.again or not _is_same(live.frame, at):
            return True
        if at.line != live.frame.first_line or live.step.line == at.line:
            return False
        if at.called_by_library:
            return True  # a block or callback that a library calls for each element
        text = self._text(at.path, live.step.line) or ""
        return RETURN.match(text) is not None or text in _END_OF_CLOSURE

    def _close(self, live: _LiveFrame, returned: Value | None, at: SteppedFrame | None) -> None:
        """Remove a frame that has returned, or that an exception left."""
        self._live.remove(live)
        frame, step = live.frame, live.step
        if returned is not None and returned.text:
            frame.returned = self._value(returned)
        elif step.raised is not None:
            frame.raised = step.raised
        elif (raised := self._raised_by(live, at)) is not None:
            frame.raised = step.raised = raised
        else:
            frame.returned = self._named_result(live)

    def _raised_by(self, live: _LiveFrame, at: SteppedFrame | None) -> str | None:
        """Return the exception that left a frame, as far as the source tells; None: it returned.

        The frame's last line raised it, or the program goes on *at* a handler of its caller.
        """
        text = self._text(live.frame.path, live.step.line) or ""
        if match := RAISE.match(text):
            return match["type"]
        return "an exception" if at is not None and self._is_handler(at) else None

    def _is_handler(self, at: SteppedFrame) -> bool:
        """Whether a line is the first one of an exception handler, or its head."""
        if HANDLER.match(self._text(at.path, at.line) or ""):
            return True
        above = at.line - 1
        while above > 0 and self._text(at.path, above) == "":
            above -= 1
        head = self._text(at.path, above) or ""
        return HANDLER.match(head) is not None and not head.endswith("}")

    def _named_result(self, live: _LiveFrame) -> TracedValue | None:
        """Return what `return NAME` returned, by the variable's value; None for other lines."""
        text = self._text(live.frame.path, live.step.line)
        match = _RETURNED.fullmatch(text) if text else None
        if match is None or match["name"] in _KEYWORDS:
            return None
        name = match["name"]
        if _NAME.fullmatch(name) is None:
            return TracedValue(name)
        value = live.values.get(name)
        return self._value(value) if value is not None else None

    def _settle(self, live: _LiveFrame, values: Sequence[Value]) -> None:
        """Add what the frame's current line has changed."""
        before = live.values
        marked = value_changes.mark(values, before, self.joint)
        for value in marked:
            if value.changed:
                live.step.writes += self._writes(value, before.get(value.name))
        text = self._text(live.frame.path, live.step.line) or ""
        if _DELETION.match(text):
            live.step.writes += [
                Write(value.name, None, TracedValue(_clipped(value.was or "")))
                for value in value_changes.gone(values, before)
            ]
        live.values = value_changes.snapshot(values, before)
        self._learn_result(live)

    def _settle_shared(self, live: _LiveFrame, values: Sequence[Value]) -> None:
        """Add what the last line of a block changed of the variables that it shares.

        They are seen in the function around it, and in the next call of the block.
        """
        if live.shared:
            own = [each for each in live.values.values() if each.name not in live.shared]
            others = [each for each in values if each.name in live.shared]
            if others:
                self._settle(live, [*own, *others])

    def _writes(self, value: Value, before: Value | None) -> list[Write]:
        old = self._value(before) if before is not None and value.was is not None else None
        by_step = not self.is_ended
        writes = [Write(value.name, self._value(value), old, by_step=by_step)]
        found = _parts(value, value.name)
        for part in found[:_MAX_PARTS]:
            old = TracedValue(_clipped(part.was)) if part.was is not None else None
            new = None if part.gone else self._value(part)
            writes.append(Write(part.name, new, old, by_step=by_step))
        return writes

    def _learn_result(self, live: _LiveFrame) -> None:
        """Take what a line assigned as the result of its only call."""
        step = live.step
        called = self.frames[step.calls[0]] if len(step.calls) == 1 else None
        if called is None or called.returned is not None or called.raised is not None:
            return
        match = _ASSIGNED_CALL.fullmatch(self._text(live.frame.path, step.line) or "")
        if match is None or _closes_early(match["rest"]):
            return
        if re.split(r"\.|::|->", match["call"])[-1] != re.split(r"\.|::|#", called.function)[-1]:
            return
        value = live.values.get(match["name"])
        called.returned = self._value(value) if value is not None else None

    def _value(self, value: Value) -> TracedValue:
        text = value_changes.full_text(value)
        if value.type and text.startswith(f"{value.type} "):
            text = text[len(value.type) + 1 :]  # delve's: `[]string ["a"]`
        text = _clipped(text)
        self.bytes += len(text)
        return TracedValue(text, value.type or "")

    def _text(self, path: str, line: int) -> str | None:
        text = self.line_text(path, line)
        return None if text is None else code_of(text)


def _shared(live: _LiveFrame, frame: TracedFrame, values: Sequence[Value]) -> frozenset[str]:
    """Return the variables of a block that are those of the frame around it: the same values."""
    if live.frame.path != frame.path or _CLOSURE.search(frame.function) is None:
        return frozenset()
    return frozenset(
        value.name
        for value in values
        if (known := live.values.get(value.name)) is not None
        and (known.text, known.type) == (value.text, value.type)
    )


def _is_same(frame: TracedFrame, at: SteppedFrame) -> bool:
    return (frame.function, frame.path) == (at.function, at.path)


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _plain(value: Value) -> Value:
    """Return a value without the marks of a debugger that compares values itself."""
    if not value.changed and value.was is None and not value.parts:
        return value
    return replace(
        value, changed=False, was=None, parts=(), more_parts=0, same_change_as=None, gone=False
    )


def _parts(value: Value, path: str) -> list[Value]:
    """Return the changed parts of a value, named by their paths; empty if they are unknown."""
    if value.parts:
        return list(value.parts)
    found: list[Value] = []
    for child in value.children:
        if child.changed:
            name = child.expression or child_path(path, child.name)
            found += _parts(child, name) or [replace(child, name=name)]
    return found


_CALL = late_regex.compile(r"(?P<name>[^\W\d][\w]*)[!?]?(?:::<[^>]*>)?\(")
_NOT_CALLED = frozenset(
    ("if", "for", "while", "switch", "return", "catch", "match", "sizeof", "function", "func")
)


def _calls_in(text: str) -> list[str]:
    """Return the names before parentheses in a line of source, without its strings."""
    plain = STRING.sub('""', text)
    return [match["name"] for match in _CALL.finditer(plain) if match["name"] not in _NOT_CALLED]


def _closes_early(arguments: str) -> bool:
    """Whether the parenthesis of a call closes before the end: `f(a) + g(b)`."""
    depth = 0
    for char in STRING.sub('""', arguments):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0:
            return True
    return False
