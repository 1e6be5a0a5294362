"""Names of variables in minified code: what the source calls them, and back.

A source map may name what stands at a place. Where one minified name means several variables of the
source within a scope, it is left as it is: a wrong name would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from freezeframe.errors import EvaluationFailed

from .scripts import Scripts, line_starts

_IDENTIFIER = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
#: strings are passed over as they are
_WORDS = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?P<name>(?:[^\W\d]|\$)[\w$]*)|\d[\w.]*""", re.DOTALL
)
#: names of a map that are looked at in one scope
_MOST_NAMES = 20_000
_NOTHING_UNCLEAR: Mapping[str, str] = MappingProxyType({})


async def of_frame(call: Mapping[str, Any], scripts: Scripts) -> dict[str, str]:
    """Return by minified name what the source calls the variables that a frame can see."""
    script = scripts.get(str(call["location"]["scriptId"]))
    found = scripts.map_of(script) if script is not None else None
    if script is None or found is None or not found.names:
        return {}
    text = await scripts.text_of(script)
    starts = line_starts(text)
    result: dict[str, str] = {}
    seen: set[str] = set()
    for scope in call.get("scopeChain") or ():
        if "startLocation" not in scope or "endLocation" not in scope:
            continue
        meant: dict[str, set[str]] = {}
        begin, end = _position(scope["startLocation"]), _position(scope["endLocation"])
        for (line, column), name in found.names_between(begin, end, _MOST_NAMES):
            offset = starts[line] + column if line < len(starts) else len(text)
            match = _IDENTIFIER.match(text, offset)
            if match is not None:
                meant.setdefault(match[0], set()).add(name)
        for minified, names in meant.items():
            # Further out the same name is hidden by this one.
            if minified not in seen and len(names) == 1 and {minified} != names:
                result[minified] = next(iter(names))
        seen |= meant.keys()
    taken: set[str] = set()
    for minified, name in list(result.items()):
        if name in taken:
            del result[minified]  # an inner one of the source hides it
        taken.add(name)
    return result


def _position(location: Mapping[str, Any]) -> tuple[int, int]:
    return int(location["lineNumber"]), int(location.get("columnNumber") or 0)


def minify(
    expression: str, names: Mapping[str, str], unclear: Mapping[str, str] = _NOTHING_UNCLEAR
) -> str:
    """Return an expression in the source's names as the running code has them.

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

    return _WORDS.sub(replaced, expression)
