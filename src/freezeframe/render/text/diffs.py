"""Differences between two hits of a location, and between two runs."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model.history import Difference, Divergence, Hit, HitDiff, RunDiff
from freezeframe.model.runs import Run
from freezeframe.render.budget import Capped, Fixed, Listing, Section
from freezeframe.render.formatting import around_difference, clip, one_line, plural, size
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, wrapped_in
from .history import named, run_text


def _differences(
    found: Sequence[Difference], rank: int, a: str, b: str, indent: str = "  "
) -> Section:
    def item(index: int, width: int) -> list[Line]:
        each = found[index]
        name = clip(each.path, 60)
        room = max(40, (width - size(name)) // 2)
        if each.a is None:
            return [Line(f"{indent}{name}: only in {b}: {clip(each.b or '', room)}", Tone.CHANGED)]
        if each.b is None:
            return [Line(f"{indent}{name}: only in {a}: {clip(each.a, room)}", Tone.CHANGED)]
        left, right = around_difference(each.a, each.b, room)
        return [Line(f"{indent}{name}: {left} → {right}", Tone.CHANGED)]

    def more(shown: int) -> str | None:
        missing = len(found) - shown
        return f"{indent}… {plural(missing, 'more difference')}" if missing else None

    return Listing(rank, len(found), item, more)


def _hit_of(hit: Hit, run: Run, several: bool) -> str:
    return f"{named(run)}, hit {hit.number}" if several else f"hit {hit.number}"


@renders(HitDiff)
def _hit_diff(answer: HitDiff, view: View) -> list[Section]:
    several = answer.a_run.number != answer.b_run.number
    one = _hit_of(answer.a, answer.a_run, several)
    other = _hit_of(answer.b, answer.b_run, several)
    what = plural(len(answer.differences), "difference") if answer.differences else "no difference"
    whose = "" if several else f" of {run_text(answer.a_run)}"
    sections: list[Section] = [
        headline(f"{one_line(answer.location)}: {what}, {one} → {other}{whose}")
    ]
    if answer.differences:
        sections.append(_differences(answer.differences, 1, one, other))
    if answer.equal:
        sections.append(Capped(wrapped_in(2, f"equal: {', '.join(answer.equal)}", Tone.QUIET), 240))
    return [*sections, *next_step(answer.next)]


@renders(RunDiff)
def _run_diff(answer: RunDiff, view: View) -> list[Section]:
    a, b = named(answer.a), named(answer.b)
    if a == b:
        a, b = f"run {answer.a.number}", f"run {answer.b.number}"
    found = answer.divergences
    compared = f"{a} ({plural(answer.a.stops, 'stop')}) and {b} ({answer.b.stops})"
    if not found:
        sections: list[Section] = [headline(f"no divergence between {compared}", Tone.GOOD)]
    else:
        first = found[0]
        sections = [headline(_location(first, a, b, "first divergence"), Tone.BAD)]
        sections.extend(_divergence(first, a, b, 1))
    equal = (
        f"equal up to there: {plural(answer.equal_stops, 'stop')}"
        if found
        else f"equal: {plural(answer.equal_stops, 'stop')}"
    )
    if answer.last_equal:
        equal += f", the last at {one_line(answer.last_equal)}"
    sections.append(Fixed(2, (Line(equal, Tone.QUIET),)))
    for each in found[1:]:
        sections.append(Fixed(3, (Line(_location(each, a, b, "then"), Tone.HEAD),)))
        sections.extend(_divergence(each, a, b, 4))
    if answer.edited:
        files = ", ".join(answer.edited)
        note = f"edited between the runs: {files}; lines are matched through the change"
        sections.append(Capped(wrapped_in(3, note, Tone.QUIET), 240))
    for name, locations in ((a, answer.only_a), (b, answer.only_b)):
        if locations:
            note = f"only {name} was watched at {', '.join(locations)}"
            sections.append(Capped(wrapped_in(5, note, Tone.QUIET), 240))
    next = answer.next
    if answer.more and not next:
        sections.append(
            Fixed(5, (Line(f"… {plural(answer.more, 'more divergence')}", Tone.QUIET),))
        )
    elif answer.more:
        sections.append(
            Fixed(
                5,
                (
                    Line(
                        f"… {plural(answer.more, 'further divergence')} (dbg {one_line(next[0])})",
                        Tone.QUIET,
                    ),
                ),
            )
        )
    return sections


def _location(each: Divergence, a: str, b: str, lead: str) -> str:
    where = f"{one_line(each.place)}"
    if each.function:
        where += f" in {clip(each.function, 40)}"
    hit = f", hit {each.hit}" if each.hit else ""
    match each.kind:
        case "values":
            count = len(each.differences)
            verb = "differs" if count == 1 else "differ"
            return f"{lead}: {where}{hit}: {plural(count, 'value')} {verb}"
        case "path":
            return f"{lead}: {a} goes to {where}{hit}, {b} to {one_line(each.b_place)}"
        case "missing":
            who = a if each.a_stop is not None else b
            other = b if each.a_stop is not None else a
            return f"{lead}: only {who} reaches {where}{hit}; {other} does not"
        case "end":
            return f"{lead}: they end differently"
    return f"{lead}: they print different lines to {one_line(each.place)}"


def _divergence(each: Divergence, a: str, b: str, rank: int) -> list[Section]:
    sections: list[Section] = []
    for name, text in ((a, each.a_text), (b, each.b_text)):
        if text:
            sections.append(Capped(wrapped_in(rank, f"  {name}: {text}", Tone.SOURCE), 160))
    if each.differences and each.kind == "missing":
        known = ", ".join(f"{d.path} = {clip(d.a or d.b or '', 30)}" for d in each.differences)
        sections.append(Capped(wrapped_in(rank + 1, f"  there: {known}"), 240))
    elif each.differences:
        sections.append(_differences(each.differences, rank, a, b))
    if each.equal and rank == 1:
        note = f"  the same there: {', '.join(each.equal)}"
        sections.append(Capped(wrapped_in(rank + 1, note, Tone.QUIET), 200))
    stops = [
        f"dbg replay {name} --stop {stop}"
        for name, stop in ((a, each.a_stop), (b, each.b_stop))
        if stop is not None
    ]
    if rank == 1 and stops:
        shown = [note.replace("replay run ", "replay ") for note in stops]
        sections.append(Fixed(3, (Line(f"  see: {' or '.join(shown)}", Tone.NEXT),)))
    return sections
