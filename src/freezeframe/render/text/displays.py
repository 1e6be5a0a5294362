"""Expressions that every stop shows: `1: cart.total = 12 (was 9)`."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model.answers import Display, DisplayList
from freezeframe.render.budget import Capped, Listing, Section
from freezeframe.render.formatting import clip, one_line, plural
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders
from .one_value import assigned


def display_sections(displays: Sequence[Display], rank: int, view: View) -> list[Section]:
    """Return one line for each expression; at most a third of the answer."""
    if not displays:
        return []

    def item(index: int, width: int) -> list[Line]:
        return [_line(displays[index], width)]

    def more(shown: int) -> str | None:
        missing = len(displays) - shown
        return f"… {plural(missing, 'more display')} (dbg display)" if missing else None

    listing = Listing(rank, len(displays), item, more, widths=(160, 80))
    return [Capped(listing, max(240, view.limit // 3))]


def _line(display: Display, width: int) -> Line:
    name = clip(display.expression, 60)
    if display.error is not None:
        return Line(f"{display.id}: {name}: {clip(display.error, width)}", Tone.QUIET)
    if display.value is None:
        return Line(f"{display.id}: {name}")
    tone = Tone.CHANGED if display.value.changed else Tone.VALUE
    return Line(f"{display.id}: {assigned(display.value, width, name=name)}", tone)


@renders(DisplayList)
def _list(answer: DisplayList, view: View) -> list[Section]:
    if not answer.displays:
        text = "nothing is displayed" if answer.done is None else "nothing was displayed"
        return [headline(text), *next_step(answer.next)]
    done = one_line(answer.done) if answer.done else ""
    head = [headline(f"{done} {_plain(answer.displays)}")] if done == "removed" else []
    lines = [] if head else display_sections(answer.displays, 1, view)
    return [*head, *lines, *next_step(answer.next)]


def _plain(displays: Sequence[Display]) -> str:
    return ", ".join(f"{each.id}: {clip(each.expression, 60)}" for each in displays)
