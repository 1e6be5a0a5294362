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


def program(wanted: Sequence[WantedBreakpoint]) -> str | None:
    """Return the condition of a place at which these breakpoints share; None to stop always."""
    if all(w.condition is None and w.hit_count is None and w.log is None for w in wanted):
        return None
    steps = "".join(_step(want) for want in wanted)
    # Arrow functions, so that `this` and `arguments` are the program's.
    return (
        f"(()=>{{const __b={BINDING},__h=[];let __p;{steps}"
        "if(__h.length)__b(JSON.stringify({hit:__h}));return __h.length>0})()"
    )


def _step(want: WantedBreakpoint) -> str:
    passes = "__p=true;"
    if want.condition is not None:
        # A condition that fails stops, and the reason is told.
        words = f"JSON.stringify({{failed:{want.id},why:String(__e)}})"
        passes = f"try{{__p=!!(()=>(\n{want.condition}\n))()}}catch(__e){{__p=true;__b({words});}}"
    if want.hit_count is not None:
        counter = json.dumps(f"n{want.id}_{zlib.crc32(repr(want).encode()):x}")
        operator = want.hit_count.rstrip("0123456789")
        number = want.hit_count.removeprefix(operator)
        count = f"(__b[{counter}]=(__b[{counter}]||0)+1)"
        if operator == "%":
            passes += f"if(__p)__p={count}%{number}===0;"
        else:
            passes += f"if(__p)__p={count}{'===' if operator in ('', '==') else operator}{number};"
    if want.log is None:
        return f"{passes}if(__p)__h.push({want.id});"
    return f"{passes}if(__p)__b(JSON.stringify({{log:{want.id},text:{_message(want.log)}}}));"


def _message(text: str) -> str:
    """Return an expression for a logpoint's words."""
    parts = []
    for is_code, piece in pieces(text):
        if not is_code:
            parts.append(json.dumps(piece))
            continue
        shown = "(v=>__b.log?__b.log(v):String(v))"
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
