"""Whether two values of different runs are the same, as far as it matters. Pure.

Addresses and ids differ from run to run; a set has no order.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from freezeframe.model import late_regex
from freezeframe.model.divergence import OutputDifference
from freezeframe.model.values import is_cut

from .value_parts import split

_ADDRESS = late_regex.compile(r"\b0x[0-9a-fA-F]{4,}\b")
#: folders that test runners and `tempfile` number anew for each run
_TEMPORARY = late_regex.compile(
    r"(?<=/)(?:pytest-\d+|popen-gw\d+|tmp[a-z0-9_]{8})(?=[/'\"]|$)|\bid=\d{9,}\b"
)
_SET = late_regex.compile(r"(?:frozenset\(|set\()?\{.*\}\)?", re.DOTALL)
#: what clocks, process ids, random numbers and uuids look like
_VOLATILE = late_regex.compile(
    r"\d{9,}(?:\.\d+)?|0\.\d{9,}|-?\d+\.\d+e[-+]?\d+|(?:datetime|date|time|timedelta)\.?\w*\(.*\)"
    r"|(?:UUID\()?['\"][0-9a-f-]{32,36}['\"]\)?|['\"]?\d{4}-\d\d-\d\d[T ].*",
    re.DOTALL,
)

_DURATION = late_regex.compile(r"\b\d+(?:\.\d+)? ?(?:m|µ|n)?s\b")


def plain(text: str) -> str:
    """Return *text* without what is different in every run."""
    if "0x" in text:
        text = _ADDRESS.sub("0x", text)
    if "/" in text or "id=" in text:
        text = _TEMPORARY.sub("tmp", text)
    return text


def is_same_text(a: str, b: str) -> bool:
    """Whether two texts stand for values that are equal for a reader."""
    if a == b:
        return True
    a, b = plain(a), plain(b)
    if a == b:
        return True
    if _SET.fullmatch(a) and _SET.fullmatch(b) and ":" not in a:
        one, other = split(_inside(a)), split(_inside(b))
        if one is None or other is None or len(one) != len(other):
            return False
        # Of a set that was cut, the elements that are shown are chance.
        return sorted(one) == sorted(other) or (is_cut(a) and one[-1:] == other[-1:])
    return False


def is_volatile(a: str | None, b: str | None) -> bool:
    """Whether both texts look like what no two runs have in common: a time, an id."""
    return all(text is None or _VOLATILE.fullmatch(text) is not None for text in (a, b))


def _inside(text: str) -> str:
    return text[text.index("{") : text.rindex("}") + 1]


def output_difference(a: str, b: str) -> OutputDifference | None:
    """Return the first line in which two whole outputs differ by more than times and addresses."""
    for number, (one, other) in enumerate(zip_longest(a.splitlines(), b.splitlines()), 1):
        if one is None or other is None or _steady(one) != _steady(other):
            return OutputDifference(number, one, other)
    return None


def _steady(line: str) -> str:
    """Return a line without what differs from run to run."""
    return _DURATION.sub("…", plain(line))
