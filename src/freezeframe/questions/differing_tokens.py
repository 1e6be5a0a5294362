"""Which tokens an expected value has that the actual one has not, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass

from .text_spans import known_text

_TOKEN = late_regex.compile(r"\w+|\s+|[^\w\s]")
#: tokens of a text that are compared
_MOST_TOKENS = 600
_MOST_SHOWN = 6
#: characters of a word that stands for itself; shorter ones only where nothing else differs
_LEAST = 2
#: and of one that says what a function was about
_LEAST_KNOWN = 3


@dataclass(frozen=True, slots=True)
class DifferingTokens:
    """Words and marks of two texts that the other one has not, in their order."""

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    #: the words of both texts
    known: frozenset[str] = frozenset()


def differing_tokens(actual: str, expected: str) -> DifferingTokens:
    """Return what distinguishes the texts of two values."""
    mine, other = _tokens(actual), _tokens(expected)
    missing: list[str] = []
    extra: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
        if kind != "equal":
            extra += mine[a:b]
            missing += other[c:d]
    known = frozenset(each for each in (*mine, *other) if len(each) >= _LEAST_KNOWN)
    return DifferingTokens(_only_in(missing, mine), _only_in(extra, other), known)


def _tokens(text: str) -> list[str]:
    known = known_text(text)
    return _TOKEN.findall(known[0] if known is not None else text)[:_MOST_TOKENS]


def _only_in(tokens: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return the tokens that the other text does not have; words, if there are some."""
    alone = [each for each in dict.fromkeys(tokens) if each not in others and not each.isspace()]
    long = [each for each in alone if len(each) >= _LEAST]
    return tuple((long or alone)[:_MOST_SHOWN])
