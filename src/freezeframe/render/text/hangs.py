"""Why a program makes no progress: the cycle of waits, or one round of its loop."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.model.calls import CallSite
from freezeframe.model.waits import HangReport, Holder, LoopReport, LoopValue, Waiter
from freezeframe.render.budget import Capped, Section
from freezeframe.render.formatting import clip, file_line, number, plural
from freezeframe.render.styled_lines import Tone, View

from ._registry import headline, next_step, renders, via, wrapped_in
from .output import output_sections
from .stops import exit_text
from .tracing import Lines, answer_limit

_RESULT, _LINES, _REST, _QUIET = 1, 2, 4, 5
_VALUE = 100
_MOST_HOLDERS = 3


@renders(HangReport)
def _hang(report: HangReport, view: View) -> list[Section]:
    sections: list[Section] = [headline(_head(report))]
    sections += [wrapped_in(_RESULT, _waiter(each, view), Tone.BAD) for each in report.cycle]
    if report.loop is not None:
        sections += _loop(report.loop, view)
    elif report.frame is not None:
        sections.append(wrapped_in(_RESULT, f"in all samples: {_site(report.frame, view)}"))
        sections += [
            wrapped_in(_REST, f"  {each.name} = {clip(each.value, _VALUE)}")
            for each in report.values
        ]
    if report.cycle and report.waits:
        sections.append(wrapped_in(_REST, "also waiting:", Tone.QUIET))
    sections += [wrapped_in(_REST, _waiter(each, view)) for each in report.waits]
    sections += [wrapped_in(_QUIET, f"note: {note}", Tone.QUIET) for note in report.notes]
    sections.append(wrapped_in(_RESULT, _evidence(report), Tone.QUIET))
    sections += output_sections(report.output, 6, 240)
    return [*sections, *next_step(report.next), *via(report.via)]


def _head(report: HangReport) -> str:
    name = clip(report.program, 40)
    if report.how == "ended":
        how = exit_text(report.exit) if report.exit is not None else "ended"
        return f"{name} does not hang: it {how}"
    if report.how == "deadlock":
        if not report.cycle:
            return f"deadlock in {name}: every thread waits, as its runtime reports"
        count = plural(len(report.cycle), "thread")
        if all(each.name.startswith("task ") for each in report.cycle):
            count = plural(len(report.cycle), "task")
        probably = "" if report.is_certain else "probably a "
        if len(report.cycle) == 1:
            return f"{probably}deadlock in {name}: {report.cycle[0].name} waits for itself"
        return f"{probably}deadlock in {name}: {count} wait for each other"
    if report.how == "loop":
        return f"{name} is in a loop that does not end"
    if report.how == "busy":
        return f"{name} computes in one call that does not return"
    return f"{name} waits"


#: waits that end with another thread or task: nobody holds anything
_ENDINGS = frozenset(("join", "task", "group", "exit"))


def _waiter(each: Waiter, view: View) -> str:
    text = f"  {each.name} waits for {each.what}" if each.what else f"  {each.name} waits"
    if each.detail:
        text += f" ({each.detail})"
    if each.at is not None:
        at = replace(each.at, text="") if each.kind == "lock" else each.at
        text += f"  {_site(at, view)}"
    text += "".join(f"; {_holder(each, holder, view)}" for holder in each.holders[:_MOST_HOLDERS])
    if each.alike:
        text += f"; {plural(each.alike, 'other')} there"
    return text


def _holder(each: Waiter, holder: Holder, view: View) -> str:
    if each.kind in _ENDINGS:
        return f"until {holder.name} ends"
    if each.kind == "future":
        return f"which {holder.name} must run"
    probably = "" if holder.is_certain else "probably "
    text = f"{probably}held by {holder.name}"
    if holder.at is not None:
        where = file_line(holder.at.path, holder.at.line, view.cwd)
        text += f" since {where}  {clip(_statement(holder.at.text), 60)}".rstrip()
    return text


def _statement(text: str) -> str:
    return text.rstrip(" :;{")


def _site(site: CallSite, view: View) -> str:
    where = f"{file_line(site.path or None, site.line, view.cwd)} in {clip(site.function, 60)}"
    return f"{where}  {clip(_statement(site.text), 80)}".rstrip()


def _loop(loop: LoopReport, view: View) -> list[Section]:
    where = f"{file_line(loop.path, loop.line, view.cwd)} in {clip(loop.function, 60)}"
    sections: list[Section] = [wrapped_in(_RESULT, f"loop: {clip(loop.text, 90)}  {where}")]
    for label, values in (
        ("does not change in a round", loop.unchanged),
        ("repeats", loop.repeats),
        ("grows", loop.grows),
    ):
        sections += [wrapped_in(_LINES, f"  {label}: {_value(each)}") for each in values]
    if loop.lines:
        sections.append(wrapped_in(_LINES, f"one round, of {number(loop.rounds)} seen:"))
        sections.append(Capped(Lines(3, loop.lines), answer_limit(view) // 2))
    return sections


def _value(each: LoopValue) -> str:
    if not each.growth:
        return f"{each.name} = {clip(each.value, _VALUE)}"
    return f"{each.name} {each.growth}: {clip(each.value, _VALUE)}"


def _evidence(report: HangReport) -> str:
    if report.how == "ended":
        return "nothing was examined"
    parts = [f"no output, no exit for {report.quiet_s:.0f} s"] if report.quiet_s >= 1 else []
    if report.processor is not None:
        parts.append(f"{report.processor:.0%} of a processor")
    if report.samples:
        parts.append(plural(report.samples, "sample"))
    pid = f" (pid {report.pid})" if report.pid is not None else ""
    parts.append(
        {
            "stopped": f"the program is stopped there{pid}",
            "detached": f"the process goes on{pid}",
            "running": f"the program goes on{pid}",
        }.get(report.left, f"the program was ended{pid}")
    )
    return "; ".join(parts)
