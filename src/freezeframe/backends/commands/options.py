"""Options of a command that come before what it runs."""

from __future__ import annotations

from collections.abc import Collection

from freezeframe.model.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """The arguments of a command: options first, then the rest."""

    options: tuple[str, ...]
    rest: tuple[str, ...]

    def value(self, *names: str) -> str | None:
        """Return the value of the last option of those names: `--bin x`, `--bin=x`."""
        return next(iter(reversed(values(self.options, names))), None)

    def has(self, *names: str) -> bool:
        return any(each.partition("=")[0] in names for each in self.options)


def split(args: tuple[str, ...], valued: Collection[str], *, letters: str = "") -> Split:
    """Return the options that *args* begin with, and what follows them.

    *valued* are options whose value is the next word unless it is attached with `=`; *letters* are
    options of one letter whose value may be attached directly (`-j4`). `--` ends the options and
    stays with the rest.
    """
    at = 0
    while at < len(args):
        word = args[at]
        if not word.startswith("-") or word in ("-", "--"):
            break
        at += 1 + takes_next(word, valued, letters)
    return Split(args[:at], args[at:])


def takes_next(word: str, valued: Collection[str], letters: str = "") -> bool:
    """Return whether the value of an option is the next word."""
    if word in valued:
        return True
    return len(word) == 2 and word[0] == "-" and word[1] in letters


def values(args: tuple[str, ...], names: Collection[str]) -> list[str]:
    """Return every value of the options of those names."""
    found = []
    for at, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name in names:
            found.append(value if equals else "".join(args[at + 1 : at + 2]))
        elif len(word) > 2 and word[:2] in names and not word.startswith("--"):
            found.append(word[2:].removeprefix("="))
    return found
