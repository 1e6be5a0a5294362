"""Fit an answer into its budget, and say what was left out.

One token is counted as three bytes of UTF-8. An answer is a list of sections; each can shrink, and
the least important ones shrink first. The end is never simply cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from freezeframe.model.fast_dataclass import dataclass

from .formatting import size as size_of_text
from .styled_lines import Line, Tone

BYTES_PER_TOKEN = 3
DEFAULT_TOKENS = 2000
#: The minimum budget: room for a first line and a line about what was left out.
LEAST_TOKENS = 60
#: The longest first line: it fits the smallest budget.
HEADLINE = 140


def tokens(text: str) -> int:
    """Return the estimated number of tokens of *text*."""
    return -(-size_of_text(text) // BYTES_PER_TOKEN)


def size(lines: Sequence[Line]) -> int:
    return sum(line.size for line in lines)


class Section(Protocol):
    """A part of an answer that can shrink."""

    @property
    def rank(self) -> int:
        """The importance. 0 is never left out; the highest shrinks first."""

    def within(self, limit: int) -> list[Line]:
        """Return the lines in at most *limit* bytes, or the shortest form if that is longer."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Lines that do not shrink."""

    rank: int
    lines: tuple[Line, ...]

    def within(self, limit: int) -> list[Line]:
        return list(self.lines)


@dataclass(frozen=True, slots=True)
class Resizable:
    """Lines of a given size: `make` gets the available bytes, never fewer than `least`."""

    rank: int
    make: Callable[[int], list[Line]]
    least: int = 0

    def within(self, limit: int) -> list[Line]:
        return self.make(max(limit, self.least))


@dataclass(frozen=True, slots=True)
class Capped:
    """A section that never takes more than `cap` bytes."""

    section: Section
    cap: int

    @property
    def rank(self) -> int:
        return self.section.rank

    def within(self, limit: int) -> list[Line]:
        return self.section.within(min(limit, self.cap))


@dataclass(frozen=True, slots=True)
class Listing:
    """Items of one kind: first made narrower, then shown in part, with a count of the rest.

    `item` returns the lines of one item at a width; it is called only for items that are shown.
    `more` returns the line about missing items once so many are shown, None if none are missing.
    """

    rank: int
    count: int
    item: Callable[[int, int], Sequence[Line]]
    more: Callable[[int], str | None] = lambda shown: None
    head: tuple[Line, ...] = ()
    widths: tuple[int, ...] = (160, 96, 56)
    #: keep the last items, not the first
    from_end: bool = False

    def within(self, limit: int) -> list[Line]:
        room = limit - size(self.head)
        taken: list[Sequence[Line]] = []
        for width in self.widths:
            taken = self._take(width, room)
            if len(taken) == self.count:
                lines = self._assemble(taken)
                if size(lines) <= limit:
                    return lines
        while taken:
            lines = self._assemble(taken)
            if size(lines) <= limit:
                return lines
            taken.pop()
        return self._shortest(limit)

    def _shortest(self, limit: int) -> list[Line]:
        rest = self._rest(0)
        # A few short items may be shorter than the line that would count them.
        few = self._take(self.widths[-1], size(rest))
        if len(few) == self.count:
            lines = self._assemble(few)
            if size(lines) <= size(rest):
                return lines
        with_head = [*self.head, *rest]
        return with_head if size(with_head) <= limit else rest

    def _take(self, width: int, room: int) -> list[Sequence[Line]]:
        taken: list[Sequence[Line]] = []
        for step in range(self.count):
            lines = self.item(self.count - 1 - step if self.from_end else step, width)
            room -= size(lines)
            if room < 0:
                break
            taken.append(lines)
        return taken

    def _assemble(self, taken: list[Sequence[Line]]) -> list[Line]:
        rest = self._rest(len(taken))
        if self.from_end:
            shown = [line for lines in reversed(taken) for line in lines]
            return [*self.head, *rest, *shown]
        return [*self.head, *(line for lines in taken for line in lines), *rest]

    def _rest(self, shown: int) -> list[Line]:
        text = self.more(shown)
        return [Line(text, Tone.QUIET)] if text else []


def fit(sections: Sequence[Section], limit: int) -> list[Line]:
    """Return the lines of all sections in at most *limit* bytes.

    Sections of one rank share the space evenly; a lower rank is served first. A section whose
    shortest form does not fit is left out, and the last line says so.
    """
    full = [section.within(limit) for section in sections]
    if sum(map(size, full)) <= limit:
        return [line for lines in full for line in lines]

    shortest = [section.within(0) for section in sections]
    kept = list(range(len(sections)))
    missing: list[Line] = []
    while sum(size(shortest[i]) for i in kept) + size(missing) > limit:
        worst = max((sections[i].rank for i in kept), default=0)
        if worst == 0:
            break
        kept.remove(next(i for i in kept if sections[i].rank == worst))
        missing = [Line(f"… more left out (--budget {2 * limit // BYTES_PER_TOKEN})", Tone.QUIET)]

    spare = limit - sum(size(shortest[i]) for i in kept) - size(missing)
    chosen: dict[int, list[Line]] = {}
    for rank in sorted({sections[i].rank for i in kept}):
        # The smallest sections come first, so that the others get the remaining space.
        members = sorted(
            (i for i in kept if sections[i].rank == rank),
            key=lambda i: size(full[i]) - size(shortest[i]),
        )
        for waiting, i in zip(range(len(members), 0, -1), members, strict=True):
            least = size(shortest[i])
            limit_of_section = least + max(0, spare) // waiting
            lines = sections[i].within(limit_of_section)
            if size(lines) > limit_of_section:
                # A section that cannot be made so long may only be shorter.
                lines = shortest[i]
            spare -= size(lines) - least
            chosen[i] = lines
    return [line for i in kept for line in chosen[i]] + missing
