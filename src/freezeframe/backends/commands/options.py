"""Options of a command that stand before what it runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """Words of a command: options first, then the rest."""

    options: tuple[str, ...]
    rest: tuple[str, ...]

    def value(self, *names: str) -> str | None:
        """Return the value of the last option of those names: `--bin x`, `--bin=x`."""
        return next(iter(reversed(values(self.options, names))), None)

    def has(self, *names: str) -> bool:
        return any(each.partition("=")[0] in names for each in self.options)


def split(words: tuple[str, ...], valued: Collection[str], *, letters: str = "") -> Split:
    """Return the options that *words* begin with, and what follows them.

    *valued* are options whose value is a word of its own unless it is attached with `=`; *letters*
    those of one letter whose value may be attached as it is (`-j4`). `--` ends the options and
    stays with the rest.
    """
    at = 0
    while at < len(words):
        word = words[at]
        if not word.startswith("-") or word in ("-", "--"):
            break
        at += 1 + takes_next(word, valued, letters)
    return Split(words[:at], words[at:])


def takes_next(word: str, valued: Collection[str], letters: str = "") -> bool:
    """Whether the value of an option is the word behind it."""
    if word in valued:
        return True
    return len(word) == 2 and word[0] == "-" and word[1] in letters


def values(words: tuple[str, ...], names: Collection[str]) -> list[str]:
    """Return every value that options of those names have."""
    found = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            found.append(value if equals else "".join(words[at + 1 : at + 2]))
        elif len(word) > 2 and word[:2] in names and not word.startswith("--"):
            found.append(word[2:].removeprefix("="))
    return found
