"""How a program crashed: message, operands, frames, the report of a sanitizer."""

from __future__ import annotations

from freezeframe.model.calls import CallSite
from freezeframe.model.crashes import CrashReport, SanitizerReport
from freezeframe.render.budget import Section
from freezeframe.render.formatting import clip, file_line
from freezeframe.render.styled_lines import Tone, View

from ._registry import headline, next_step, renders, via, wrapped_in
from .output import output_sections
from .stops import exit_text
from .testing import failure_sections

_CAUSE, _FRAMES, _REST, _OUTPUT = 1, 2, 4, 5


@renders(CrashReport)
def _crash(report: CrashReport, view: View) -> list[Section]:
    name = clip(report.program, 40)
    sections: list[Section] = []
    if report.how == "ended":
        how = exit_text(report.exit) if report.exit is not None else "ended"
        sections.append(headline(f"{name} does not crash: it {how}"))
    elif report.how == "running":
        sections.append(headline(f"{name} has not crashed and was ended"))
    else:
        sections.append(headline(f"{name} crashes{_end(report)}", Tone.BAD))
    if report.sanitizer is not None:
        sections += _sanitizer(report.sanitizer, view)
    if report.failure is not None:
        sections += failure_sections(report.failure, view, brief=report.sanitizer is not None)
    if report.operands:
        sections.append(wrapped_in(_CAUSE, f"operands: {', '.join(report.operands)}"))
    sections += [wrapped_in(_CAUSE, f"note: {note}", Tone.BAD) for note in report.notes]
    if report.how == "crashed":
        sections.append(wrapped_in(_REST, _left(report), Tone.QUIET))
    if report.sanitizer is None:
        sections += output_sections(report.output, _OUTPUT, 300)
    return [*sections, *next_step(report.next), *via(report.via)]


def _end(report: CrashReport) -> str:
    return f": {exit_text(report.exit)}" if report.exit is not None else ""


def _left(report: CrashReport) -> str:
    pid = f" (pid {report.pid})" if report.pid is not None else ""
    return {
        "stopped": f"the program is stopped there{pid}",
        "core": "the core file is open",
    }.get(report.left, f"the program has ended{pid}")


def _sanitizer(report: SanitizerReport, view: View) -> list[Section]:
    sections: list[Section] = [wrapped_in(_CAUSE, f"{report.tool}: {report.kind}", Tone.BAD)]
    for stack in report.stacks:
        where = [_site(each, view) for each in stack.frames]
        title = f"{clip(stack.title, 80)}: " if stack.title else ""
        sections.append(wrapped_in(_CAUSE, f"  {title}{', from '.join(where)}"))
    sections += [wrapped_in(_FRAMES, f"  {clip(fact, 160)}") for fact in report.facts]
    return sections


def _site(site: CallSite, view: View) -> str:
    where = file_line(site.path, site.line, view.cwd)
    return f"{where} in {clip(site.function, 60)}" if site.function else where
