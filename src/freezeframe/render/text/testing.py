"""Failing tests, and the results of runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from freezeframe.model.answers import RunnerReport
from freezeframe.model.testing import Failure, FailureFrame
from freezeframe.render.budget import Capped, Fixed, Listing, Section, size
from freezeframe.render.formatting import clip, file_line, number, one_line, plural, seconds
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, via, wrapped_in
from .one_value import assigned
from .output import output_sections
from .questions import explanation_sections

# Ranks: sections with a lower rank shrink last.
_CAUSE, _FRAMES, _ORIGIN, _OUTPUT, _REST = 1, 2, 3, 5, 6
#: lines of a message that are shown, and the bytes of one
_MESSAGE_LINES = 8
_MESSAGE = 200
#: of what the trace has left out
_NOTE = 200
#: bytes of the frames, of the answer without its last lines, and of the chain at least
_FRAME_BYTES, _ANSWER_BYTES, _CHAIN_BYTES = 560, 1640, 700
#: of a long chain its frames leave more room
_FEW_LINKS, _FEWER_FRAME_BYTES, _FEWER_CHAIN_BYTES = 4, 400, 480
_LONGEST_VIA = 70
#: a time that is not worth a word
_BRIEF_S = 0.05
#: bytes of one value, and of the line of values of one frame
_VALUE, _VALUES = 100, 300
#: the type of failures that are no exceptions
_UNNAMED = "failure"
_RESULTS = {
    "passed": "passed",
    "failed": "failed",
    "errors": "with errors",
    "skipped": "skipped",
    "xfailed": "failed as expected",
    "xpassed": "passed unexpectedly",
}
_PARTS = {
    "setup": "error in the setup of ",
    "teardown": "error in the teardown of ",
    "collect": "error while loading ",
}


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number(count)} {_RESULTS[name]}" for name, count in counts.items())


@renders(RunnerReport)
def runner_sections(report: RunnerReport, view: View) -> list[Section]:
    sections: list[Section] = []
    if report.state == "stopped":
        for failure in report.failures:
            sections += _failure(failure, view)
    else:
        sections += _ended(report, view)
    for note in report.notes:
        sections.append(Capped(wrapped_in(_CAUSE, f"note: {note}", Tone.BAD), 400))
    share = view.limit // (50 if _is_explained(report) else 8 if report.failures else 3)
    sections += output_sections(report.output, _OUTPUT, share)
    return [*sections, *next_step(report.next, _REST + 1), *via(_tools(report), _REST)]


def _tools(report: RunnerReport) -> str | None:
    """Return what ran the tests; without a long reason, where a chain needs the room."""
    if report.via is None or not _is_explained(report) or len(report.via) <= _LONGEST_VIA:
        return report.via
    return report.via.partition(" (")[0]


def _is_explained(report: RunnerReport) -> bool:
    return any(
        each.origin is not None and (each.origin.links or each.origin.calls)
        for each in report.failures
    )


def _failure(failure: Failure, view: View) -> list[Section]:
    test = failure.test
    if test is None:
        first = "failed"
    else:
        first = f"{_PARTS.get(test.part, 'failed: ')}{clip(test.id, 110, tail=True)}"
    return [headline(first + _position(failure), Tone.BAD), *failure_sections(failure, view)]


def failure_sections(failure: Failure, view: View, *, brief: bool = False) -> list[Section]:
    """Return message, frames and chain of a failure; *brief*: without the message."""
    sections: list[Section] = [] if brief else _message(failure)
    frames = failure.frames

    def item(index: int, width: int) -> list[Line]:
        lines = _frame(frames[index], width, view)
        if index == 0 and failure.hidden:
            lines.append(Line(f"  … {plural(failure.hidden, 'frame')} (dbg backtrace)", Tone.QUIET))
        return lines

    def more(shown: int) -> str | None:
        missing = len(frames) - shown
        return f"  … {plural(missing, 'outer frame')} (dbg backtrace)" if missing else None

    listing = Listing(_FRAMES, len(frames), item, more, widths=(160, 100, 60), from_end=True)
    found = len(failure.origin.links) + len(failure.origin.calls) if failure.origin else 0
    is_explained = found > _FEW_LINKS
    sections.append(Capped(listing, _FRAME_BYTES if not is_explained else _FEWER_FRAME_BYTES))
    if failure.raised_in is not None:
        sections.append(Fixed(_FRAMES, (Line(f"  raised in {one_line(failure.raised_in)}"),)))
    if failure.origin is not None and (failure.origin.links or failure.origin.calls):
        chain = explanation_sections(failure.origin, _ORIGIN, view)
        used = sum(size(each.within(view.limit)) for each in [*sections, *chain[1:]])
        least = _CHAIN_BYTES if not failure.origin.calls else _FEWER_CHAIN_BYTES
        sections += [Capped(chain[0], max(least, _ANSWER_BYTES - used)), *chain[1:]]
        for note in failure.origin.notes:
            sections.append(Capped(wrapped_in(_ORIGIN, f"note: {note}", Tone.BAD), _NOTE))
    return sections


def _position(failure: Failure) -> str:
    """Return `(test 3 of 14; 2 passed, 0.4 s)`, as far as it is known."""
    test = failure.test
    if test is None:
        return ""
    facts = []
    if test.position is not None and test.total is not None and test.total > 1:
        facts.append(f"test {number(test.position)} of {number(test.total)}")
    shown = ("passed", "failed", "errors")
    rest = {name: n for name, n in test.counts.known.items() if name in shown}
    if rest.get("failed", 0) + rest.get("errors", 0) == 1:
        # The described one.
        rest = {name: n for name, n in rest.items() if name == "passed"}
    so_far = [_counted(rest)] if rest else []
    if test.duration_s is not None and test.duration_s >= _BRIEF_S:
        so_far.append(seconds(test.duration_s))
    facts += [", ".join(so_far)] if so_far else []
    return f"  ({'; '.join(facts)})" if facts else ""


def _message(failure: Failure) -> list[Section]:
    lines = [line.rstrip() for line in failure.message.splitlines() if line.strip()]
    named = failure.type not in ("", _UNNAMED)
    text = f"{failure.type}: {lines[0]}" if lines and named else "".join(lines[:1])
    text = text or failure.type
    sections: list[Section] = [Capped(wrapped_in(_CAUSE, text, Tone.BAD), _MESSAGE)]
    rest = lines[1:]
    # The first lines say most; a long difference is left to those who ask for it.
    shown = rest[: _MESSAGE_LINES if sum(map(len, rest)) < _MESSAGE * 2 else _MESSAGE_LINES // 2]
    for line in shown:
        # pytest begins its explanations so; in a difference the sign matters.
        text = re.sub(r"^\+ +(?=where |and )", "", line.strip())
        sections.append(Capped(wrapped_in(_CAUSE, f"  {text}", Tone.BAD), _MESSAGE))
    if len(rest) > len(shown):
        more = plural(len(rest) - len(shown), "line")
        sections.append(Fixed(_CAUSE, (Line(f"  … {more} (dbg context)", Tone.QUIET),)))
    for line in failure.details[:4]:
        sections.append(Capped(wrapped_in(_CAUSE, f"  {line}", Tone.BAD), 240))
    return sections


def _frame(frame: FailureFrame, width: int, view: View) -> list[Line]:
    where = f"  {file_line(frame.path, frame.line, view.cwd)} in {clip(frame.function, 60)}"
    text = clip(frame.text, width) if frame.text else ""
    lines = [Line(f"{where}: {text}" if text else where)]
    lines += [Line(f"    {each}") for each in _values(frame, min(_VALUES, width))]
    if frame.more:
        lines[-1] = Line(f"{lines[-1].text}  … {number(frame.more)} more (dbg locals)")
    return lines


def _values(frame: FailureFrame, width: int) -> list[str]:
    """Return the values of a frame, as many on one line as fit."""
    rows: list[str] = []
    for value in frame.values:
        text = assigned(value, min(width, _VALUE * 2), mark=False)
        if rows and len(rows[-1]) + len(text) < _VALUE:
            rows[-1] += f", {text}"
        else:
            rows.append(text)
    return rows


def _ended(report: RunnerReport, view: View) -> list[Section]:
    counts = report.counts.known
    duration_s = report.duration_s or 0.0
    took = f" ({seconds(duration_s)})" if duration_s >= _BRIEF_S else ""
    sections: list[Section] = []
    for failure in report.failures:
        sections += _failure(failure, view)
    exit = report.exit
    clean = exit is not None and not exit.code and not exit.signal
    if counts and clean:
        rest = {name: count for name, count in counts.items() if name != "passed"}
        also = f"; {_counted(rest)}" if rest else ""
        return [headline(f"passed: {plural(counts.get('passed', 0), 'test')}{also}{took}")]
    if clean and not sections:
        return [headline(f"passed{took}; {report.runner} reports no counts")]
    if counts:
        sections.insert(0, headline(f"done: {_counted(counts)}{took}", Tone.BAD))
        if not report.failures:
            sections += _names(report.failed)
        return sections
    code = "" if exit is None or exit.code is None else f" with code {exit.code}"
    return [headline(f"{report.runner} ended{code} and reported no results", Tone.BAD), *sections]


def _names(failed: Sequence[str]) -> list[Section]:
    def item(index: int, width: int) -> list[Line]:
        return [Line(f"  {clip(failed[index], width)}", Tone.BAD)]

    def more(shown: int) -> str | None:
        missing = len(failed) - shown
        return f"  … {number(missing)} more (dbg output --all)" if missing else None

    return [Capped(Listing(_FRAMES, len(failed), item, more), 900)] if failed else []
