"""Lines of one version of source files in another version. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping


class LineMap:
    """Maps lines of one version of the sources to another."""

    def __init__(self, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        self._maps: dict[str, dict[int, int]] = {}
        for file, text in old.items():
            if file in new and new[file] != text:
                self._maps[file] = _line_map(text.split("\n"), new[file].split("\n"))

    @property
    def edited(self) -> tuple[str, ...]:
        return tuple(sorted(self._maps))

    def is_new(self, file: str, line: int) -> bool:
        """Whether a line of the new text corresponds to none of the old one."""
        return file in self._maps and line not in self._maps[file].values()

    def translate(self, file: str | None, line: int | None) -> int | None:
        """Return the line in the new text; the negated old line if it was removed."""
        if file is None or line is None or file not in self._maps:
            return line
        return self._maps[file].get(line, -line)


def _line_map(old: list[str], new: list[str]) -> dict[int, int]:
    """Return the new number of each line that is unchanged or was edited in place."""
    found: dict[int, int] = {}
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag == "equal" or (tag == "replace" and last - first == end - begin):
            for offset in range(last - first):
                found[first + offset + 1] = begin + offset + 1
        elif tag == "replace":
            found.update(_similar(old, new, first, last, begin, end))
    return found


def _similar(
    old: list[str], new: list[str], first: int, last: int, begin: int, end: int
) -> dict[int, int]:
    """Match the lines of a block that grew or shrank by similarity, in order."""
    found: dict[int, int] = {}
    at = begin
    for number in range(first, last):
        best, best_ratio = -1, 0.6
        for candidate in range(at, end):
            ratio = difflib.SequenceMatcher(
                None, old[number].strip(), new[candidate].strip(), autojunk=False
            ).ratio()
            if ratio > best_ratio:
                best, best_ratio = candidate, ratio
        if best >= 0:
            found[number + 1] = best + 1
            at = best + 1
    return found
