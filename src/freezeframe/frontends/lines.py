"""Command lines that no shell has read: those of a batch, and of a program that sends one.

Quotes around a whole word hold it together and are taken off, as in a shell. Quotes within a word
belong to the program's language (`m["a"]`) and stay; how a word was written is kept, for
expressions of several words (`x == "a"`).
"""

from __future__ import annotations

import re

from freezeframe.errors import UsageError

_QUOTED = r"""'[^']*'|"(?:[^"\\]|\\.)*\""""
#: an option's value, and a whole word, made of nothing but what is quoted
_VALUE = re.compile(rf"(--[\w-]+=)((?:{_QUOTED})+)", re.DOTALL)
_WHOLE = re.compile(rf"(?:{_QUOTED})+", re.DOTALL)
_PART = re.compile(_QUOTED, re.DOTALL)
#: outside of quotes, which keep what is in them
_ESCAPED = re.compile(rf"({_QUOTED})|\\([\s'\"\\])", re.DOTALL)
#: a quote within a word that nothing closes is a character like any other (`&'a str`)
_WORD = re.compile(rf"(?:{_QUOTED}|\\.|[^\s'\"\\]|(?<=[^\s])['\"]|\\)+", re.DOTALL)


class Word(str):
    """A word of a command line, and how it was written."""

    __slots__ = ("written",)
    written: str

    @classmethod
    def of(cls, written: str) -> Word:
        word = cls(_meant(written))
        word.written = written
        return word


def split(line: str) -> list[str]:
    """Return the words of *line*, `dbg` left off. Raises UsageError for a quote without its end."""
    words: list[str] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        match = _WORD.match(line, at)
        if match is None:
            raise UsageError(f"{line!r}: the quote at character {at + 1} has no end.")
        words.append(Word.of(match[0]))
        at = match.end()
    return words[1:] if words[:1] in (["dbg"], ["debugger"]) else words


def as_written(words: list[str]) -> list[str]:
    """Return several words as they stand in the line that they come from."""
    return [word.written if isinstance(word, Word) else word for word in words]


def _meant(written: str) -> str:
    if _WHOLE.fullmatch(written):
        return "".join(map(_bare, _PART.findall(written)))
    if match := _VALUE.fullmatch(written):
        return match[1] + "".join(map(_bare, _PART.findall(match[2])))
    return _ESCAPED.sub(lambda found: found[1] or found[2], written)


def _bare(quoted: str) -> str:
    inside = quoted[1:-1]
    return re.sub(r'\\(["\\])', r"\1", inside) if quoted[0] == '"' else inside
