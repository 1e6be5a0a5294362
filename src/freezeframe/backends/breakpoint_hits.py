"""Decide what a hit of a breakpoint does: stop the program, write a message, or nothing.

What the user requests is a *logical* breakpoint: a location, and optionally a condition, a hit
count and a log message (`session/breakpoints.py`). A backend sets *physical* breakpoints for it in
its debugger. One of these may serve several logical breakpoints (many debuggers keep one per
location), and one logical breakpoint may need several of them. Backends set breakpoints and report
which of them a stop is at; this module decides the rest, in the same order in every language:

1. The condition. If it does not hold, nothing happens. If it cannot be evaluated, it counts as
   true, and the reason is reported with the stop.
2. The hit count. Each hit whose condition holds is counted once. The count belongs to the request:
   it is kept when the same request is set again, and begins at zero when the request changes.
3. The log message. A logpoint writes its message, and the program goes on.
4. Any other breakpoint stops the program.

A debugger that takes some of these steps itself, which is faster, is given them as
`HitCondition.expression` and as the parts that `read_log` returns.
"""

from __future__ import annotations

import operator
import re
import zlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from freezeframe.backends.backend import BreakpointRequest
from freezeframe.errors import DebuggerError, DebuggerLost
from freezeframe.model.fast_dataclass import dataclass, field

_Field = TypeVar("_Field")

# --- hit counts ---------------------------------------------------------------------------------

_HIT_CONDITION = re.compile(r"\s*(==|=|>=|<=|>|<|%)?\s*(\d+)\s*")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "%": lambda count, number: bool(count % number == 0),
}


class HitCondition(NamedTuple):
    """The hits on which a breakpoint acts: `== 3`, `>= 3`, `% 3`."""

    comparison: str
    number: int

    @classmethod
    def parse(cls, text: str) -> HitCondition:
        """Parse a hit count. Raises ValueError with a sentence."""
        match = _HIT_CONDITION.fullmatch(text)
        if match is None:
            raise ValueError(f"`{text}` is not a hit count; write 3, >= 3, > 3, < 3 or % 3")
        comparison, number = match[1] or "==", int(match[2])
        if number == 0 and comparison not in (">", ">="):
            raise ValueError(f"`{text}` is never a hit")
        return cls("==" if comparison == "=" else comparison, number)

    def matches(self, count: int) -> bool:
        """Whether the breakpoint acts on its *count*-th hit."""
        return _COMPARISONS[self.comparison](count, self.number)

    def expression(self, count: str) -> str:
        """Return the comparison as code, in any language with C's operators."""
        if self.comparison == "%":
            return f"{count} % {self.number} == 0"
        return f"{count} {self.comparison} {self.number}"


def counter_name(request: BreakpointRequest) -> str:
    """Return a name for the count of a request inside a program: a changed one has another."""
    return f"n{request.id}_{zlib.crc32(repr(request).encode()):x}"


# --- log messages -------------------------------------------------------------------------------


class LogExpression(NamedTuple):
    """An expression between the braces of a log message."""

    code: str


def split_log(
    message: str, read_field: Callable[[str, int], tuple[_Field, int]]
) -> list[str | _Field]:
    """Return a log message as text and fields. `{{` and `}}` are literal braces, and so is a lone
    `}`: a message is prose.

    *read_field* reads the field that begins after a brace, and returns the position after it.
    """
    parts: list[str | _Field] = []
    text, position = "", 0
    while position < len(message):
        if message[position] == "{" and message[position : position + 2] != "{{":
            value, position = read_field(message, position + 1)
            parts += [text, value] if text else [value]
            text = ""
        else:
            doubled = message[position : position + 2] in ("{{", "}}")
            text += message[position]
            position += 2 if doubled else 1
    return [*parts, text] if text else parts


def read_log(message: str, quotes: str = '"') -> list[str | LogExpression]:
    """Return a log message as text and expressions. Raises ValueError with a sentence.

    Braces inside an expression are matched, `{(struct p){1, 2}}`, but for those in a string, which
    *quotes* begin and end.
    """

    def read_field(message: str, start: int) -> tuple[LogExpression, int]:
        depth, quote = 1, ""
        for at in range(start, len(message)):
            character = message[at]
            if quote:
                quote = "" if character == quote and message[at - 1] != "\\" else quote
            elif character in quotes:
                quote = character
            elif character in "{}":
                depth += 1 if character == "{" else -1
            if depth == 0:
                code = message[start:at].strip()
                if not code:
                    raise ValueError("its braces hold nothing")
                return LogExpression(code), at + 1
        raise ValueError("its braces do not match")

    return split_log(message, read_field)


def log_problem(message: str, read: Callable[[str], object] = read_log) -> str | None:
    """Return why a log message cannot be read."""
    try:
        read(message)
    except ValueError as error:
        return str(error)
    return None


def has_literal_braces(message: str) -> bool:
    """Whether a log message has braces that are text or in a string: debuggers differ there."""
    texts = [part for part in read_log(message) if isinstance(part, str)]
    return message.count("{") != message.count("}") or any("{" in t or "}" in t for t in texts)


# --- conditions ---------------------------------------------------------------------------------

_FALSE = frozenset({"false", "False", "nil", "null", "None", "undefined", '""', "''", ""})
#: zero, and a null pointer or character, as native debuggers print them
_ZERO = re.compile(r"(?:\([^()]*\) )?(?:0x0+|0(?:\.0+)?)(?: '\\0+')?|'\\0+'")


def holds(value: str) -> bool:
    """Whether a condition with this value holds, for a debugger that only prints values."""
    return value not in _FALSE and _ZERO.fullmatch(value) is None


# --- hits ---------------------------------------------------------------------------------------

Evaluator = Callable[[str], Awaitable[bool]]
Renderer = Callable[[str], Awaitable[str]]


@dataclass(slots=True)
class CountedBreakpoint:
    """A requested breakpoint, its hit count and log message parsed, and its hits so far."""

    request: BreakpointRequest
    hit_condition: HitCondition | None
    log: Sequence[str | LogExpression] | None
    count: int = 0


@dataclass(slots=True)
class HitDecision:
    """What happens at a stop."""

    #: the breakpoints that the stop is reported for
    breakpoints: tuple[int, ...] = ()
    #: there are breakpoints at the location, whether or not this hit counts for them
    met: bool = False
    #: the messages of logpoints
    messages: list[str] = field(default_factory=list)
    #: why a condition could not be evaluated, by breakpoint
    failures: dict[int, str] = field(default_factory=dict)


class BreakpointHits:
    """The breakpoints whose hits a backend decides, by id."""

    def __init__(self) -> None:
        self._breakpoints: dict[int, CountedBreakpoint] = {}

    def add(self, request: BreakpointRequest) -> None:
        """Add a breakpoint, or change it. Raises ValueError with a sentence for the user."""
        known = self._breakpoints.get(request.id)
        if known is None or known.request != request:
            self._breakpoints[request.id] = CountedBreakpoint(
                request,
                None if request.hit_count is None else HitCondition.parse(request.hit_count),
                None if request.log is None else read_log(request.log),
            )

    def __contains__(self, id: int) -> bool:
        return id in self._breakpoints

    async def decide(
        self,
        ids: Iterable[int],
        evaluate: Evaluator | None,
        render: Renderer,
        *,
        back: bool = False,
    ) -> HitDecision:
        """Decide a stop at the breakpoints *ids*; count their hits.

        *evaluate*: None if the debugger has evaluated the conditions. When going *back* nothing is
        counted or written.
        """
        decision = HitDecision()
        for id in ids:
            breakpoint = self._breakpoints[id]
            decision.met = True
            condition = breakpoint.request.condition
            if condition is not None and evaluate is not None:
                try:
                    if not await evaluate(condition):
                        continue
                except DebuggerLost:
                    raise
                except DebuggerError as error:
                    decision.failures[id] = error.message.rstrip(".")
            if back:
                acts = breakpoint.log is None
            else:
                breakpoint.count += 1
                hit_condition = breakpoint.hit_condition
                acts = hit_condition is None or hit_condition.matches(breakpoint.count)
            if acts and breakpoint.log is None:
                decision.breakpoints += (id,)
            elif acts:
                decision.messages.append(await _message(breakpoint.log or (), render))
        return decision


async def _message(parts: Sequence[str | LogExpression], render: Renderer) -> str:
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        try:
            text += await render(part.code)
        except DebuggerLost:
            raise
        except DebuggerError as error:
            text += f"<{error.message.rstrip('.')}>"
    return text
