"""Which functions two runs executed differently, by the lines of them that were executed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.line_map import LineMap


@dataclass(frozen=True, slots=True)
class CoveredLines:
    """What one run executed. Files are relative to the version of the source that was run."""

    #: the executed lines of each function, by file and qualified name
    lines: Mapping[tuple[str, str], set[int]]
    #: the text of each file
    texts: Mapping[str, Sequence[str]]

    def statements(self, key: tuple[str, str], numbers: set[int]) -> dict[int, str]:
        text = self.texts.get(key[0], ())
        return {each: text[each - 1].strip() if each <= len(text) else "" for each in numbers}


def differing_functions(a: CoveredLines, b: CoveredLines) -> tuple[str, ...]:
    """Return the qualified names of functions that the runs executed differently.

    One of them executed lines that the other did not, or the text of a line is not the same. Lines
    are matched through edits of the source.
    """
    lines = LineMap(_joined(a.texts), _joined(b.texts))
    found = set()
    for key in a.lines.keys() | b.lines.keys():
        one = a.statements(key, a.lines.get(key, set()))
        moved = {lines.translate(key[0], number): text for number, text in one.items()}
        if moved != b.statements(key, b.lines.get(key, set())):
            found.add(key[1])
    return tuple(sorted(found))


def _joined(texts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {path: "\n".join(lines) for path, lines in texts.items()}
