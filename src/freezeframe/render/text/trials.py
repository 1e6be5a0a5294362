"""Hypotheses and how each would end: one row for each run."""

from __future__ import annotations

from freezeframe.model.trials import Trial, TryReport
from freezeframe.render.budget import Capped, Listing, Section
from freezeframe.render.formatting import clip, file_line, number, one_line
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, via, wrapped_in
from .stops import exit_text
from .tracing import answer_limit

_ROWS, _REST = 2, 4
#: bytes of a hypothesis, and of the output after it
_TEXT, _OUTPUT = 40, 80


@renders(TryReport)
def _tried(report: TryReport, view: View) -> list[Section]:
    at = report.at
    where = f"{file_line(at.path, at.line, view.cwd)} in {clip(at.function, 50)}"
    head = f"tried at {where}, hit {number(report.hit)}; the program is still stopped there"
    trials = report.trials
    width = min(_TEXT, max(len(_label(each)) for each in trials))

    def item(index: int, room: int) -> list[Line]:
        trial = trials[index]
        text = f" {index}  {clip(_label(trial), _TEXT):<{width}}  {_outcome(trial, view)}"
        lines = [Line(clip(text, room), _tone(trial, trials[0]))]
        facts = _facts(trial, is_first=index == 0)
        return [*lines, *(Line(clip(f"      {fact}", room)) for fact in facts)]

    def more(shown: int) -> str | None:
        missing = len(trials) - shown
        return f" … {number(missing)} more" if missing else None

    listing = Listing(_ROWS, len(trials), item, more, widths=(240, 160, 110))
    sections: list[Section] = [headline(head), Capped(listing, answer_limit(view))]
    sections += [wrapped_in(_REST, f"note: {note}", Tone.QUIET) for note in report.notes]
    return [*sections, *next_step(report.next), *via(report.via)]


def _label(trial: Trial) -> str:
    return one_line(trial.text) or "(unpatched)"


def _tone(trial: Trial, unpatched: Trial) -> Tone:
    ends_well = trial.how == "ended" and not (trial.exit and (trial.exit.code or trial.exit.signal))
    return Tone.CHANGED if ends_well and trial is not unpatched else Tone.PLAIN


def _outcome(trial: Trial, view: View) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in trial.counts.known.items())
    tests = f"{counts}; " if counts else ""
    if trial.how == "refused":
        return f"not applied: {trial.problem}"
    if trial.how == "running":
        return f"{tests}still running when the time was up"
    if trial.how == "raised":
        where = f"  {file_line(trial.at.path, trial.at.line, view.cwd)}" if trial.at else ""
        return f"{tests}raised {trial.exception}{where}"
    return tests + (exit_text(trial.exit) if trial.exit is not None else "ended")


def _facts(trial: Trial, *, is_first: bool) -> list[str]:
    if trial.how == "refused":
        return []
    found = []
    if trial.difference:
        found.append(f"first difference: {trial.difference}")
    elif not is_first:
        found.append("no difference from the unpatched run")
    output = one_line(trial.output.strip())
    if output and (is_first or trial.difference):
        found.append(f"printed {clip(output, _OUTPUT)}")
    return found
