"""Batch answers: each under its command, all in one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from freezeframe.model.answers import Batch, BatchItem, StopReport, Text
from freezeframe.render.budget import Resizable, Section, fit
from freezeframe.render.formatting import clip
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import renders, sections, wrapped_in

#: The shortest form of an item: its command and one line.
_LEAST_ITEM = 150


@renders(Batch)
def _batch(answer: Batch, view: View) -> list[Section]:
    parts: list[Section] = []
    last = len(answer.items) - 1
    last_tool: str | None = None
    for index, item in enumerate(answer.items):
        # Failures and the last answer are more important than the answers before.
        rank = 1 if index == last or not item.ok else 2
        later = answer.items[index + 1 :]
        seen = _view_of(item.answer, answer.items[:index], later, view)
        shown = item
        tool = getattr(item.answer, "via", None)
        if tool is not None and tool == last_tool:
            changed: Any = item.answer
            shown = replace(item, answer=replace(changed, via=None))
        last_tool = tool or last_tool
        parts.append(_item(shown, rank, seen))
    if answer.skipped:
        names = "; ".join(answer.skipped)
        parts.append(wrapped_in(1, f"not run: {names}", Tone.BAD))
    return parts


def _view_of(
    answer: object, earlier: Sequence[BatchItem], later: Sequence[BatchItem], view: View
) -> View:
    """Return a view in which a stop does not repeat what neighbouring answers show."""
    if not isinstance(answer, StopReport):
        return view
    brief = any(_has_stop(item.answer) for item in later)
    before = next((i.answer for i in reversed(earlier) if isinstance(i.answer, StopReport)), None)
    return replace(view, brief=brief, repeated=before is not None and _same_frame(before, answer))


def _has_stop(answer: object) -> bool:
    return isinstance(answer, StopReport) and answer.stop is not None


def _same_frame(one: StopReport, other: StopReport) -> bool:
    if one.stop is None or other.stop is None or one.session != other.session:
        return False
    a, b = one.stop.frame, other.stop.frame
    if a is None or b is None or one.stop.thread.id != other.stop.thread.id:
        return False
    if (a.path, a.function) != (b.path, b.function):
        return False
    # Show only the name of an unchanged value if the answer above shows its text.
    shown = {value.name: value.text for scope in one.scopes for value in scope.values}
    return all(
        value.changed or shown.get(value.name) == value.text
        for scope in other.scopes
        for value in scope.values
    )


def _item(item: BatchItem, rank: int, view: View) -> Section:
    # Not `$`, which is the shell's prompt in transcripts.
    command = Line(f"> {clip(item.command, 100)}", Tone.HEAD)
    inner = _answer_sections(item, view)

    def make(limit: int) -> list[Line]:
        return [command, *fit(inner, limit - command.size)]

    return Resizable(rank, make, _LEAST_ITEM + command.size)


def _answer_sections(item: BatchItem, view: View) -> Sequence[Section]:
    if not item.ok:
        text = f"{item.error_code or 'failed'}: {item.error or 'no reason given'}"
        failed: list[Section] = [wrapped_in(0, text, Tone.BAD)]
        if item.next:
            failed.append(wrapped_in(1, f"  next: {item.next}", Tone.NEXT))
        return failed
    if item.answer is None:
        return []
    return sections(Text(item.answer) if isinstance(item.answer, str) else item.answer, view)
