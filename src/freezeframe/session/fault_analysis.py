"""Explain a fault signal by an expression of the line that caused it.

Works on the text of the line and on values evaluated by the debugger, so with every debugger of a
language with C-like syntax. It reports only what it verified: a pointer in that line that is NULL
or that points near the fault address; a divisor that is zero; a stack that is exhausted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from freezeframe.errors import DebuggerError, DebuggerLost
from freezeframe.model import late_regex
from freezeframe.model.stops import Frame

from .stop_state import StopState

_FAULT_ADDRESS = late_regex.compile(r"(?:fault address|address)[=: ]+(0x[0-9a-fA-F]+)")
#: a name with its fields and elements: `list->head.next`, `table[i]`, `this->name`
_PATH = r"[A-Za-z_]\w*(?:(?:->|\.|::)\w+|\[\w+\])*"
_DEREFERENCED = (
    late_regex.compile(rf"({_PATH})(?=->)"),
    late_regex.compile(rf"({_PATH})(?=\[)"),
    late_regex.compile(rf"(?<![\w)\]])\*+\s*({_PATH})"),
    late_regex.compile(rf"({_PATH})(?=\()"),
)
_POINTED = late_regex.compile(r"->")
_DIVISOR = late_regex.compile(rf"[/%]=?\s*({_PATH})")
_COMMENT = late_regex.compile(r"//.*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"")
_NUMBER = late_regex.compile(r"0x[0-9a-fA-F]+|-?\d+")
#: The largest distance of a field or an element from the pointer to its object.
_NEAR = 1 << 16
#: Expressions evaluated for one line.
_MAX_EXPRESSIONS = 12
#: Frames of one function that count as endless recursion.
_MIN_RECURSIONS = 4


async def explain_fault(stop: StopState, frames: Sequence[Frame], line: str | None) -> str | None:
    """Return the cause of the fault behind a signal; None if it is unknown."""
    name, _, description = (stop.event.description or "").partition(": ")
    if name not in ("SIGSEGV", "SIGBUS", "SIGFPE"):
        return None
    try:
        if name == "SIGFPE":
            return await _zero(stop, line)
        match = _FAULT_ADDRESS.search(description)
        fault = int(match[1], 16) if match else None
        overflow = await _overflow(stop, frames, fault)
        return overflow or await _pointer(stop, line, fault)
    except DebuggerLost:
        raise
    except DebuggerError:
        return None


async def _overflow(stop: StopState, frames: Sequence[Frame], fault: int | None) -> str | None:
    pointer = await _number(stop, "$sp", 0)
    if fault is None or pointer is None or not -_NEAR < fault - pointer < _NEAR:
        return None
    functions = [frame.function for frame in frames if not frame.library]
    again = [name for name in dict.fromkeys(functions) if functions.count(name) >= _MIN_RECURSIONS]
    return f"stack overflow: endless recursion of {', '.join(again)}" if again else "stack overflow"


async def _zero(stop: StopState, line: str | None) -> str | None:
    for expression in _expressions(line, (_DIVISOR,)):
        if await _number(stop, expression, stop.selected) == 0:
            return f"{expression} is 0"
    return None


async def _pointer(stop: StopState, line: str | None, fault: int | None) -> str | None:
    for expression in _expressions(line, _DEREFERENCED):
        value = await _number(stop, expression, stop.selected, pointer=True)
        if value is None:
            continue
        if value == 0 and (fault is None or fault < _NEAR):
            return f"{expression} is NULL"
        if fault is not None and value and -_NEAR < fault - value < _NEAR:
            return f"{expression} = {value:#x} points to memory that cannot be accessed this way"
        # The processor does not report a non-canonical address: the fault address is 0 then.
        if not fault and not _is_canonical(value):
            return f"{expression} = {value:#x} is not a valid address"
    return None


def _expressions(line: str | None, patterns: Sequence[re.Pattern[str]]) -> Iterator[str]:
    """Yield the expressions of a line that match, shortest first."""
    code = _COMMENT.sub("", line or "")
    matches = {match[1] for pattern in patterns for match in pattern.finditer(code)}
    # Of `a->b->c` each pointer on the way may be the bad one.
    found = {path[: joint.start()] for path in matches for joint in _POINTED.finditer(path)}
    found |= matches
    # The shorter first: `a->b->c` fails at a or at a->b.
    yield from sorted(found, key=len)[:_MAX_EXPRESSIONS]


def _is_canonical(address: int) -> bool:
    return address < 1 << 47 or address >= (1 << 64) - (1 << 47)


async def _number(
    stop: StopState, expression: str, index: int, *, pointer: bool = False
) -> int | None:
    try:
        raw = await stop.backend.evaluate(expression, stop.frame_id(index))
    except DebuggerLost:
        raise
    except DebuggerError:
        return None
    match = _NUMBER.match(raw.text)
    if match is None or (pointer and not raw.text.startswith("0x")):
        return None
    return int(match[0], 0)
