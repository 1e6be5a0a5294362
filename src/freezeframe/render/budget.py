"""Every answer fits its budget, and says what was left out.

One token is counted as three bytes of UTF-8. An answer is a list of sections; each can say
itself in fewer bytes, and the sections that matter least shrink first. Nothing is cut blindly at
the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .page import Line, Tone
from .words import size as size_of_text

BYTES_PER_TOKEN = 3
DEFAULT_TOKENS = 2000
#: A smaller budget counts as this one: a first line and what was left out need that much.
LEAST_TOKENS = 60
#: The longest first line: it stands whole in the smallest budget.
HEADLINE = 140


def tokens(text: str) -> int:
    """Return what *text* costs its reader."""
    return -(-size_of_text(text) // BYTES_PER_TOKEN)


def size(lines: Sequence[Line]) -> int:
    return sum(line.size for line in lines)


class Section(Protocol):
    """A part of an answer that can shrink."""

    @property
    def rank(self) -> int:
        """Its importance. 0 is never left out; the highest shrinks first."""

    def within(self, limit: int) -> list[Line]:
        """Return its lines in at most *limit* bytes, or in as few as it can be said in."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Lines that do not shrink."""

    rank: int
    lines: tuple[Line, ...]

    def within(self, limit: int) -> list[Line]:
        return list(self.lines)


@dataclass(frozen=True, slots=True)
class Elastic:
    """Lines made to measure: `make` gets the bytes there are, never fewer than `least`."""

    rank: int
    make: Callable[[int], list[Line]]
    least: int = 0

    def within(self, limit: int) -> list[Line]:
        return self.make(max(limit, self.least))


@dataclass(frozen=True, slots=True)
class Capped:
    """A section that never takes more than `cap` bytes, however much there is."""

    section: Section
    cap: int

    @property
    def rank(self) -> int:
        return self.section.rank

    def within(self, limit: int) -> list[Line]:
        return self.section.within(min(limit, self.cap))


@dataclass(frozen=True, slots=True)
class Listing:
    """Many items of one kind: narrowed first, then shown in part with the rest counted.

    `item` gives the lines of one item at a width; it is called only for items that are shown.
    `more` gives the words for what is missing once so many are shown, None when nothing is.
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
        # A few short items may cost less than the words that would stand for them.
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
        words = self.more(shown)
        return [Line(words, Tone.QUIET)] if words else []


def fit(sections: Sequence[Section], limit: int) -> list[Line]:
    """Return the lines of all sections in at most *limit* bytes.

    Sections of one rank share what there is evenly; a lower rank is served first. A section for
    which not even its shortest form has room is left out, and the last line says so.
    """
    wanted = [section.within(limit) for section in sections]
    if sum(map(size, wanted)) <= limit:
        return [line for lines in wanted for line in lines]

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
        # Those who want least come first, so that what they leave goes to the others.
        members = sorted(
            (i for i in kept if sections[i].rank == rank),
            key=lambda i: size(wanted[i]) - size(shortest[i]),
        )
        for waiting, i in zip(range(len(members), 0, -1), members, strict=True):
            least = size(shortest[i])
            lines = sections[i].within(least + max(0, spare) // waiting)
            spare -= size(lines) - least
            chosen[i] = lines
    return [line for i in kept for line in chosen[i]] + missing
