"""Many runs of one command."""

from __future__ import annotations

from freezeframe.model.hunting import FailureGroup, Hunt, HuntWorker
from freezeframe.render.budget import Capped, Fixed, Listing, Section
from freezeframe.render.formatting import clip, number, one_line, plural, seconds
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, wrapped_in
from .divergence import divergence_sections


@renders(Hunt)
def _hunt(answer: Hunt, view: View) -> list[Section]:
    rate = f"{answer.failures} of {plural(answer.runs, 'run')} failed"
    if answer.runs and answer.failures:
        rate += f": {_percent(answer.failures / answer.runs)}"
    interval = f"95 % interval {_percent(answer.low)} to {_percent(answer.high)}"
    tone = Tone.BAD if answer.failures else Tone.GOOD
    sections: list[Section] = [headline(f"{rate} ({interval})", tone)]
    groups = answer.groups

    def item(index: int, width: int) -> list[Line]:
        return [Line(clip(_group(groups[index]), width), Tone.VALUE)]

    def more(shown: int) -> str | None:
        missing = len(groups) - shown
        return f"  … {plural(missing, 'more group')}" if missing else None

    if groups:
        sections.append(Listing(1, len(groups), item, more, widths=(220, 150, 100)))
    if answer.race is not None:
        sections.append(Capped(wrapped_in(1, f"race: {one_line(answer.race)}", Tone.CHANGED), 340))
    if answer.divergence is not None:
        sections += divergence_sections(answer.divergence, view)
    sections += [Capped(wrapped_in(3, _worker(each), Tone.QUIET), 200) for each in answer.workers]
    how = (
        f"{seconds(answer.run_s)} a run, {number(answer.jobs)} at a time, {seconds(answer.took_s)}"
    )
    if answer.shaken:
        how += ", shaken"
    if answer.continued:
        how += f"; {plural(answer.continued, 'run')} of an earlier call"
    sections.append(Fixed(4, (Line(how, Tone.QUIET),)))
    sections += [Capped(wrapped_in(4, each, Tone.QUIET), 220) for each in answer.notes]
    return [*sections, *next_step(answer.next)]


def _group(group: FailureGroup) -> str:
    where = f"{one_line(group.location)}: " if group.location else ""
    test = f"  in {one_line(group.test)}" if group.test else ""
    return (
        f"  {group.count} × {where}{one_line(group.message)}{test} (first: run {group.first_run})"
    )


def _worker(worker: HuntWorker) -> str:
    text = f"worker {one_line(worker.name)}: {plural(worker.runs, 'run')}"
    if worker.problem:
        text += f"; {one_line(worker.problem)}"
    if not worker.has_debugger:
        text += "; the debugger is not installed there"
    return text


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f} %" if rate >= 0.095 else f"{100 * rate:.2g} %"
