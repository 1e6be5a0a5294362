"""The life of a call, and a table of calls."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model.calls import CallArgument, CallReport, CallRow, CallTable, LineOfCall
from freezeframe.render.budget import (
    BYTES_PER_TOKEN,
    DEFAULT_TOKENS,
    Capped,
    Listing,
    Section,
    size,
)
from freezeframe.render.formatting import clip, file_line, number, plural
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, wrapped_in
from .stops import exit_text

#: Bytes of an answer unless another budget is given: 400 tokens.
_SHARE = 400 * BYTES_PER_TOKEN
_RESULT, _LINES, _REST = 1, 2, 3
#: Columns of source text, and bytes of one value.
_TEXT, _VALUE = 44, 60
#: Values and rounds that are listed one by one.
_FEW = 5


def answer_limit(view: View) -> int:
    return _SHARE if view.limit == DEFAULT_TOKENS * BYTES_PER_TOKEN else view.limit


@renders(CallReport)
def _report(report: CallReport, view: View) -> list[Section]:
    called = f"{report.function}({_arguments(report.arguments, _VALUE)})"
    sections: list[Section] = [
        headline(f"{_which(report)} {file_line(report.path, report.line, view.cwd)}"),
        wrapped_in(_RESULT, called),
    ]
    room = answer_limit(view)
    sections.append(Capped(Lines(_LINES, report.lines), room - room // 4))
    sections.append(wrapped_in(_RESULT, _end(report), Tone.BAD if report.raised else Tone.CHANGED))
    if report.called_from is not None:
        site = report.called_from
        where = file_line(site.path or None, site.line, view.cwd)
        text = f"called from {where} in {clip(site.function, 60)}"
        sections.append(wrapped_in(_REST, f"{text}  {site.text}".rstrip()))
    sections += _rest(report, report.passed, view)
    return [*sections, *next_step(report.next)]


def _which(report: CallReport) -> str:
    text = f"call {number(report.number)}"
    if report.calls is not None:
        text += f" of {number(report.calls)}{' or more' if report.at_least else ''}"
    if report.condition:
        text += f" with {report.condition}"
    name = clip(report.function, 60)
    return f"{text} of {name}" if report.calls is None else f"{text}: {name}"


def _arguments(arguments: Sequence[CallArgument], width: int) -> str:
    return ", ".join(f"{each.name}={clip(each.value, width)}" for each in arguments)


def _end(report: CallReport) -> str:
    if report.raised:
        return f"=> raised {report.raised}"
    if not report.ended:
        text = "=> had not returned"
    elif report.returned is not None:
        text = f"=> {report.returned}"
    else:
        text = "=> returned" if report.left_at is None else f"=> left at line {report.left_at}"
    if report.limit:
        text += f"; recorded up to its limit of {report.limit} ({plural(report.steps, 'step')})"
    if report.recursive:
        text += f"; {plural(report.recursive, 'recursive call')} inside"
    return text


def _rest(
    answer: CallReport | CallTable, passed: Sequence[tuple[int, int]], view: View
) -> list[Section]:
    sections: list[Section] = []
    for id, times in passed:
        sections.append(
            wrapped_in(_REST, f"breakpoint {id} was hit {plural(times, 'time')}, passed")
        )
    sections += [wrapped_in(_REST, f"note: {note}", Tone.QUIET) for note in answer.notes]
    if answer.now is not None:
        where = file_line(answer.now.path or None, answer.now.line, view.cwd)
        text = f"the program is stopped at {where} in {clip(answer.now.function, 60)}"
        sections.append(wrapped_in(_RESULT, text))
    if answer.exit is not None and (answer.exit.code or answer.exit.signal):
        sections.append(wrapped_in(_REST, f"the program {exit_text(answer.exit)}"))
    return sections


class Lines:
    """The lines of a call; where they do not fit, those that changed nothing go first, and then
    those in the middle."""

    def __init__(self, rank: int, lines: Sequence[LineOfCall]) -> None:
        self.rank = rank
        self._lines = lines

    def within(self, limit: int) -> list[Line]:
        width = len(str(max((each.line for each in self._lines), default=0)))
        rows = [(each, Line(_line(each, width), Tone.PLAIN)) for each in self._lines]
        if size([line for _, line in rows]) > limit:
            rows = [(each, line) for each, line in rows if _facts(each)]
        lines = [line for _, line in rows]
        dropped = 0
        while lines and size(lines) > limit - 32:
            if not dropped and size(lines) <= limit:
                break
            lines.pop(len(lines) * 2 // 3)
            dropped += 1
        if dropped:
            at = len(lines) * 2 // 3
            lines.insert(at, Line(f"… {plural(dropped, 'line')} left out", Tone.QUIET))
        return lines


def _line(each: LineOfCall, width: int) -> str:
    text = clip("  " * each.depth + each.text, _TEXT)
    facts = "  ".join(_facts(each))
    return (
        f"  {each.line:>{width}}  {text:<{_TEXT}}  {facts}".rstrip()
        if facts
        else (f"  {each.line:>{width}}  {text}")
    )


def _facts(each: LineOfCall) -> list[str]:
    facts = []
    if each.in_rounds:
        facts.append(f"{_rounds(each.in_rounds)}:")
    if each.rounds is not None:
        facts.append(plural(each.rounds, "round"))
    elif each.times > 1 and not each.depth and each.changes:
        facts.append(f"executed {number(each.times)} times")
    facts += [_branch(each)] if each.taken_in or each.not_taken_in else []
    changed = []
    for change in each.changes:
        values = [clip(value, _VALUE) or "deleted" for value in change.values]
        if len(values) == 1:
            was = "" if change.old is None else f" (was {clip(change.old, _VALUE)})"
            changed.append(f"{change.name} = {values[0]}{was}")
        else:
            changed.append(f"{change.name} = {_several(values)}")
    facts += [", ".join(changed)] if changed else []
    facts += [f"raised {clip(each.raised, 80)}"] if each.raised else []
    return facts


def _several(values: Sequence[str]) -> str:
    if len(values) <= _FEW + 1:
        return ", ".join(values)
    return f"{', '.join(values[: _FEW - 1])}, … {values[-1]}"


def _rounds(rounds: Sequence[int]) -> str:
    if len(rounds) == 1:
        return f"round {number(rounds[0])}"
    if len(rounds) <= _FEW:
        return f"rounds {', '.join(map(str, rounds))}"
    return f"{number(len(rounds))} rounds, first {rounds[0]}, last {rounds[-1]}"


def _branch(each: LineOfCall) -> str:
    yes, no = each.taken_in, each.not_taken_in
    if not no:
        return "yes"
    if not yes:
        return "no"
    if not each.depth and each.rounds is None:
        return "yes and no"
    return f"yes in {_rounds(yes)}" if len(yes) <= len(no) else f"no in {_rounds(no)}"


@renders(CallTable)
def _table(table: CallTable, view: View) -> list[Section]:
    count = plural(len(table.rows), "call")
    more = " or more" if table.at_least else ""
    where = file_line(table.path, table.line, view.cwd)

    def item(index: int, width: int) -> list[Line]:
        return [Line(f"  {_row(table.rows[index], width)}")]

    def rest(shown: int) -> str | None:
        missing = len(table.rows) - shown
        return f"… {plural(missing, 'call')} left out" if missing else None

    listing = Listing(_LINES, len(table.rows), item, rest, widths=(120, 80, 50))
    limit = f"; its limit of {table.limit} was reached" if table.limit else ""
    sections: list[Section] = [
        headline(f"{count}{more} of {clip(table.function, 60)} {where}{limit}"),
        Capped(listing, answer_limit(view) * 3 // 4),
    ]
    sections += _rest(table, (), view)
    return [*sections, *next_step(table.next)]


def _row(row: CallRow, width: int) -> str:
    text = f"{row.number}  ({clip(_arguments(row.arguments, width // 3), width)})"
    if row.raised:
        text += f"  raised {clip(row.raised, width // 2)}"
    elif not row.ended:
        text += "  had not returned"
    elif row.returned is not None:
        text += f"  => {clip(row.returned, width // 2)}"
    if row.left_at is not None:
        text += f"  left at {row.left_at} {clip(row.left_text, width // 2)}"
    return text
