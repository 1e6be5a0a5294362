"""Conditions, hit counts and logpoints as one expression that V8 evaluates where it would stop.

Nothing stops for a pass that nobody wants, so a line that is passed a million times stays quick.
What is said goes through a function that the inspector puts into each global scope: it tells us
in the order of everything else.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

from freezeframe.backends.backend import WantedBreakpoint

#: the function's name: the inspector makes it, so it is there in every context
BINDING = "__freezeframe__"
#: a part of it that tells why a condition could not be evaluated, and is true
FAILED = f"{BINDING}.f"
#: makes that part
FAILED_CODE = (
    f"{FAILED}=(failed,e)=>{{{BINDING}(JSON.stringify({{failed,why:String(e)}}));return true}}"
)


def program(wanted: Sequence[WantedBreakpoint]) -> str | None:
    """Return the condition of a place that these breakpoints share; None to stop always."""
    if all(w.condition is None and w.hit_count is None and w.log is None for w in wanted):
        return None
    if len(wanted) == 1 and wanted[0].log is None:
        # V8 compiles it anew at every pass, so that the usual case must be short.
        return _guarded(wanted[0], _test(wanted[0]))
    steps = "".join(_step(want) for want in wanted)
    # Arrow functions, so that `this` and `arguments` are the program's.
    return (
        f"(()=>{{const __h=[];{steps}"
        f"if(__h.length){BINDING}(JSON.stringify({{hit:__h}}));return __h.length>0}})()"
    )


def says_who(wanted: Sequence[WantedBreakpoint]) -> bool:
    """Whether the code of a place tells which of its breakpoints hold."""
    return program(wanted) is not None and not (len(wanted) == 1 and wanted[0].log is None)


def _test(want: WantedBreakpoint) -> str:
    """Return an expression that is true where a breakpoint holds."""
    condition = f"(\n{want.condition}\n)" if want.condition is not None else ""
    if want.hit_count is None:
        return condition or "true"
    counter = f"{BINDING}.n{want.id}_{zlib.crc32(repr(want).encode()):x}"
    operator = want.hit_count.rstrip("0123456789")
    number = want.hit_count.removeprefix(operator)
    count = f"({counter}=({counter}||0)+1)"
    if operator == "%":
        passes = f"{count}%{number}===0"
    else:
        passes = f"{count}{'===' if operator in ('', '==') else operator}{number}"
    return f"({condition}&&{passes})" if condition else passes


def _guarded(want: WantedBreakpoint, test: str) -> str:
    """Return a statement of that value: one that fails stops, and the reason is told."""
    if want.condition is None:
        return test
    # Where the probe is not there, nobody tells why.
    return f"try{{{test}}}catch(e){{{FAILED}?{FAILED}({want.id},e):1}}"


def _step(want: WantedBreakpoint) -> str:
    words = f"JSON.stringify({{failed:{want.id},why:String(__e)}})"
    test = f"let __p;try{{__p={_test(want)}}}catch(__e){{__p=true;{BINDING}({words})}}"
    then = f"__h.push({want.id})"
    if want.log is not None:
        then = f"{BINDING}(JSON.stringify({{log:{want.id},text:{_message(want.log)}}}))"
    return f"{{{test}if(__p){then};}}"


def _message(text: str) -> str:
    """Return an expression for a logpoint's words."""
    parts = []
    for is_code, piece in pieces(text):
        if not is_code:
            parts.append(json.dumps(piece))
            continue
        shown = f"(v=>{BINDING}.log?{BINDING}.log(v):String(v))"
        parts.append(
            f"(()=>{{try{{return {shown}(\n{piece}\n)}}catch(__e){{return'<'+__e+'>'}}}})()"
        )
    return "+".join(parts) or '""'


def pieces(text: str) -> list[tuple[bool, str]]:
    """Split `n is {n}` into words and code; a brace that is doubled is one.

    Raises ValueError where braces do not match.
    """
    found: list[tuple[bool, str]] = []
    words, at = "", 0
    while at < len(text):
        letter = text[at]
        if text[at : at + 2] in ("{{", "}}"):
            words += letter
            at += 2
        elif letter == "{":
            end = _closing(text, at)
            found += [(False, words)] if words else []
            found.append((True, text[at + 1 : end].strip()))
            words, at = "", end + 1
        elif letter == "}":
            raise ValueError("its braces do not match")
        else:
            words += letter
            at += 1
    return [*found, (False, words)] if words else found


def _closing(text: str, start: int) -> int:
    depth, quote = 0, ""
    for at in range(start, len(text)):
        letter = text[at]
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'`":
            quote = letter
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
            if depth == 0:
                if not text[start + 1 : at].strip():
                    raise ValueError("its braces hold nothing")
                return at
    raise ValueError("its braces do not match")


def codes(want: WantedBreakpoint) -> list[str]:
    """Return every expression of the user's in a breakpoint, to be checked before it is set."""
    found = [want.condition] if want.condition is not None else []
    if want.log is not None:
        found += [piece for is_code, piece in pieces(want.log) if is_code]
    return found
