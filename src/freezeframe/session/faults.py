"""What a program died of: the expression in its line that a fault can be laid to.

Works on the text of the line and on values that the debugger is asked for, so for every debugger
of a language that is written like C. It says only what it has seen: a pointer in that line that is
NULL, or that points where the fault is; a divisor that is zero; a stack that has run out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from freezeframe.errors import DebuggerError, DebuggerLost
from freezeframe.model.stops import Frame

from .moment import Moment

_FAULT_ADDRESS = re.compile(r"(?:fault address|address)[=: ]+(0x[0-9a-fA-F]+)")
#: a name with its fields and elements: `list->head.next`, `table[i]`, `this->name`
_PATH = r"[A-Za-z_]\w*(?:(?:->|\.|::)\w+|\[\w+\])*"
_DEREFERENCED = (
    re.compile(rf"({_PATH})(?=->)"),
    re.compile(rf"({_PATH})(?=\[)"),
    re.compile(rf"(?<![\w)\]])\*+\s*({_PATH})"),
    re.compile(rf"({_PATH})(?=\()"),
)
_DIVISOR = re.compile(rf"[/%]=?\s*({_PATH})")
_COMMENT = re.compile(r"//.*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|-?\d+")
#: How far from a pointer a field or an element of what it points to may lie.
_NEAR = 1 << 16
#: Expressions of one line that are asked for.
_MOST = 12
_FEW_ROUNDS = 4


async def explain(moment: Moment, frames: Sequence[Frame], line: str | None) -> str | None:
    """Return what the fault behind a signal can be laid to; None where nothing can be said."""
    name, _, description = (moment.event.description or "").partition(": ")
    if name not in ("SIGSEGV", "SIGBUS", "SIGFPE"):
        return None
    try:
        if name == "SIGFPE":
            return await _zero(moment, line)
        match = _FAULT_ADDRESS.search(description)
        fault = int(match[1], 16) if match else None
        overflow = await _overflow(moment, frames, fault)
        return overflow or await _pointer(moment, line, fault)
    except DebuggerLost:
        raise
    except DebuggerError:
        return None


async def _overflow(moment: Moment, frames: Sequence[Frame], fault: int | None) -> str | None:
    pointer = await _number(moment, "$sp", 0)
    if fault is None or pointer is None or not -_NEAR < fault - pointer < _NEAR:
        return None
    rounds = [frame.function for frame in frames if not frame.library]
    again = [name for name in dict.fromkeys(rounds) if rounds.count(name) >= _FEW_ROUNDS]
    return f"stack overflow: endless recursion of {', '.join(again)}" if again else "stack overflow"


async def _zero(moment: Moment, line: str | None) -> str | None:
    for expression in _found(line, (_DIVISOR,)):
        if await _number(moment, expression, moment.selected) == 0:
            return f"{expression} is 0"
    return None


async def _pointer(moment: Moment, line: str | None, fault: int | None) -> str | None:
    for expression in _found(line, _DEREFERENCED):
        value = await _number(moment, expression, moment.selected, pointer=True)
        if value is None:
            continue
        if value == 0 and (fault is None or fault < _NEAR):
            return f"{expression} is NULL"
        if fault is not None and value and -_NEAR < fault - value < _NEAR:
            return f"{expression} = {value:#x} points to memory that cannot be used so"
        # The processor does not say which address it was that is none: 0 stands for it.
        if not fault and not _canonical(value):
            return f"{expression} = {value:#x} is no address"
    return None


def _found(line: str | None, patterns: Sequence[re.Pattern[str]]) -> Iterator[str]:
    """Yield the expressions of a line, shortest first."""
    code = _COMMENT.sub("", line or "")
    found = {match[1] for pattern in patterns for match in pattern.finditer(code)}
    # What is reached through another one is asked after it: `a->b->c` fails at a, or at a->b.
    yield from sorted(found, key=len)[:_MOST]


def _canonical(address: int) -> bool:
    return address < 1 << 47 or address >= (1 << 64) - (1 << 47)


async def _number(
    moment: Moment, expression: str, index: int, *, pointer: bool = False
) -> int | None:
    try:
        raw = await moment.backend.evaluate(expression, moment.frame_id(index))
    except DebuggerLost:
        raise
    except DebuggerError:
        return None
    match = _NUMBER.match(raw.text)
    if match is None or (pointer and not raw.text.startswith("0x")):
        return None
    return int(match[0], 0)
