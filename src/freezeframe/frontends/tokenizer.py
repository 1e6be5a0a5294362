"""Split command lines that no shell has parsed: those of a batch or of a JSON request.

Quotes around a whole word are removed, as in a shell. Quotes within a word belong to the program's
language (`m["a"]`) and stay; the original text of a word is kept, for expressions of several words
(`x == "a"`).
"""

from __future__ import annotations

import re

from freezeframe.errors import UsageError
from freezeframe.model import late_regex

_QUOTED = r"""'[^']*'|"(?:[^"\\]|\\.)*\""""
#: an option's value, and a whole word, that consist of quoted parts only
_VALUE = late_regex.compile(rf"(--[\w-]+=)((?:{_QUOTED})+)", re.DOTALL)
_WHOLE = late_regex.compile(rf"(?:{_QUOTED})+", re.DOTALL)
_PART = late_regex.compile(_QUOTED, re.DOTALL)
#: an escape outside of quotes
_ESCAPED = late_regex.compile(rf"({_QUOTED})|\\([\s'\"\\])", re.DOTALL)
#: an unclosed quote within a word is an ordinary character (`&'a str`)
_WORD = late_regex.compile(rf"(?:{_QUOTED}|\\.|[^\s'\"\\]|(?<=[^\s])['\"]|\\)+", re.DOTALL)


class Token(str):
    """A word of a command line, with its original text."""

    __slots__ = ("written",)
    written: str

    @classmethod
    def of(cls, written: str) -> Token:
        word = cls(_unquoted(written))
        word.written = written
        return word


def split(line: str) -> list[str]:
    """Return the tokens of *line* without `dbg`. Raises UsageError for an unclosed quote."""
    tokens: list[str] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        match = _WORD.match(line, at)
        if match is None:
            raise UsageError(f"{line!r}: the quote at character {at + 1} has no end.")
        tokens.append(Token.of(match[0]))
        at = match.end()
    return tokens[1:] if tokens[:1] in (["dbg"], ["debugger"]) else tokens


def as_written(tokens: list[str]) -> list[str]:
    """Return the original text of each word."""
    return [word.written if isinstance(word, Token) else word for word in tokens]


def _unquoted(written: str) -> str:
    if _WHOLE.fullmatch(written):
        return "".join(map(_bare, _PART.findall(written)))
    if match := _VALUE.fullmatch(written):
        return match[1] + "".join(map(_bare, _PART.findall(match[2])))
    return _ESCAPED.sub(lambda found: found[1] or found[2], written)


def _bare(quoted: str) -> str:
    inside = quoted[1:-1]
    return re.sub(r'\\(["\\])', r"\1", inside) if quoted[0] == '"' else inside
