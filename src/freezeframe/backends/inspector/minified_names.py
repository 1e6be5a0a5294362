"""Names of variables in minified code: minified name to source name, and back.

A source map may name what is at a position. Where one minified name stands for several variables of
the source within a scope, it is left as it is: a wrong name would be worse than none.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from freezeframe.backends.javascript.initialization import MAX_SIZE, line_starts
from freezeframe.backends.javascript.js_scanner import Function, functions
from freezeframe.errors import EvaluationFailed

from .scripts import Scripts

_IDENTIFIER = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
#: strings are skipped
_TOKENS = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?P<name>(?:[^\W\d]|\$)[\w$]*)|\d[\w.]*""", re.DOTALL
)
#: names of a map that are read in one scope
_MAX_NAMES = 20_000
_NOTHING_UNCLEAR: Mapping[str, str] = MappingProxyType({})


async def of_frame(call: Mapping[str, Any], scripts: Scripts) -> dict[str, str]:
    """Return the source's name of each minified variable that is visible in a frame."""
    script = scripts.get(str(call["location"]["scriptId"]))
    found = scripts.map_of(script) if script is not None else None
    if script is None or found is None or not found.names:
        return {}
    text = await scripts.text_of(script)
    starts = line_starts(text)
    inner = functions(text) if len(text) <= MAX_SIZE else ()
    result: dict[str, str] = {}
    seen: set[str] = set()
    for scope in call.get("scopeChain") or ():
        if "startLocation" not in scope or "endLocation" not in scope:
            continue
        source_names: dict[str, set[str]] = {}
        begin, end = _position(scope["startLocation"]), _position(scope["endLocation"])
        nested = _outermost(inner, _offset(starts, begin, text), _offset(starts, end, text))
        for position, name in found.names_between(begin, end, _MAX_NAMES):
            offset = _offset(starts, position, text)
            match = _IDENTIFIER.match(text, offset)
            # A member of an imported module is no variable. Functions in this scope have variables
            # of their own, which may be called the same.
            is_member = text[offset - 1 : offset] == "."
            if match is not None and not is_member and not _is_within(nested, offset):
                source_names.setdefault(match[0], set()).add(name)
        for minified, names in source_names.items():
            # The same name in an outer scope is hidden by this one.
            if minified not in seen and len(names) == 1 and {minified} != names:
                result[minified] = next(iter(names))
        seen |= source_names.keys()
    taken: set[str] = set()
    for minified, name in list(result.items()):
        if name in taken:
            del result[minified]  # an inner variable of the source hides it
        taken.add(name)
    return result


def _outermost(functions: Sequence[Function], begin: int, end: int) -> list[tuple[int, int]]:
    """Return begin and end of the functions within a scope that are in no other function of it."""
    found: list[tuple[int, int]] = []
    for each in sorted(functions, key=lambda function: function.start):
        if begin < each.start and each.end <= end and (not found or each.start >= found[-1][1]):
            found.append((each.start, each.end))
    return found


def _is_within(ranges: list[tuple[int, int]], offset: int) -> bool:
    index = bisect.bisect_right(ranges, offset, key=lambda each: each[0]) - 1
    return index >= 0 and offset < ranges[index][1]


def _offset(starts: Sequence[int], position: tuple[int, int], text: str) -> int:
    line, column = position
    return starts[line] + column if line < len(starts) else len(text)


def _position(location: Mapping[str, Any]) -> tuple[int, int]:
    return int(location["lineNumber"]), int(location.get("columnNumber") or 0)


def minify(
    expression: str, names: Mapping[str, str], unclear: Mapping[str, str] = _NOTHING_UNCLEAR
) -> str:
    """Return an expression in the source's names translated to the names of the running code.

    Raises EvaluationFailed for a name that only the minified code has: to the reader of the source
    it means another variable, or none; and for one of *unclear*, with the reason given there.
    """
    if not names and not unclear:
        return expression
    minified = {name: each for each, name in names.items()}

    def replaced(match: re.Match[str]) -> str:
        word = match["name"]
        if word is None or not (word in minified or word in names or word in unclear):
            return match[0]
        before = expression[: match.start()].rstrip()
        after = expression[match.end() :].lstrip()
        is_field = before.endswith(".") and not before.endswith("...")
        is_key = before.endswith(("{", ",")) and after.startswith(":")
        if is_field or is_key:
            return match[0]
        if word in unclear:
            raise EvaluationFailed(unclear[word])
        if word in minified:
            return minified[word]
        raise EvaluationFailed(
            f"`{word}` is the minified name of `{names[word]}` here, and the source has no such "
            "variable in sight.",
            next=f"dbg print {names[word]}",
        )

    return _TOKENS.sub(replaced, expression)
