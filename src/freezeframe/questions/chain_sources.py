"""The source around the statements of a chain: what a page draws arrows in."""

from __future__ import annotations

from freezeframe.model.questions import Explanation

from .source_files import SourceLines

#: lines around each statement
_AROUND = 5


def sources_around(answer: Explanation, sources: SourceLines) -> dict[str, dict[int, str]]:
    """Return the lines around the statements of a chain, by file and number."""
    requested: dict[str, set[int]] = {}
    for link in answer.links:
        locations = [(link.path, link.line), *((each.path, each.line) for each in link.via)]
        locations += [(each.path, each.line) for each in link.conditions]
        for path, line in locations:
            requested.setdefault(path, set()).update(range(line - _AROUND, line + _AROUND + 1))
    found: dict[str, dict[int, str]] = {}
    for path, numbers in requested.items():
        try:
            lines = sources.lines(path)
        except OSError:
            continue
        found[path] = {each: lines[each - 1] for each in sorted(numbers) if 0 < each <= len(lines)}
    return found
