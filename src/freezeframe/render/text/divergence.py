"""Where two runs of a program diverge."""

from __future__ import annotations

from freezeframe.model.divergence import (
    DivergenceKind,
    DivergencePoint,
    NextLine,
    OutputDifference,
    ProgramDiff,
    RunEnd,
)
from freezeframe.render.budget import Capped, Fixed, Section
from freezeframe.render.formatting import around_difference, clip, file_line, one_line, plural
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, wrapped_in

_MOST_VALUE = 70
_WHAT = {
    DivergenceKind.BRANCH: "the runs part here",
    DivergenceKind.VALUE: "same values in, different result",
    DivergenceKind.OPERANDS: "it read different values",
    DivergenceKind.RAISED: "only one of them raised",
    DivergenceKind.EDIT: "this statement was edited",
    DivergenceKind.INPUT: "the values are different from the beginning",
}


@renders(ProgramDiff)
def _program_diff(answer: ProgramDiff, view: View) -> list[Section]:
    return [*divergence_sections(answer, view), *next_step(answer.next)]


def divergence_sections(answer: ProgramDiff, view: View) -> list[Section]:
    """Return the lines of a comparison, without its next steps."""
    a, b = answer.a.label, answer.b.label
    first = answer.first
    if first is None:
        sections: list[Section] = [
            headline(f"no divergence seen between {a} and {b}", Tone.GOOD),
            Fixed(1, (Line(f"  compared: {_compared(answer.a)}; {_compared(answer.b)}"),)),
        ]
    else:
        where = f"{file_line(first.path, first.line, view.cwd)} in {clip(first.function, 40)}"
        hit = f", hit {first.hit}" if first.hit > 1 else ""
        sections = [
            headline(f"first divergence: {where}{hit}: {_what(first)}", Tone.BAD),
            *_point(first, a, b),
        ]
        for each in answer.then:
            sections.append(Capped(wrapped_in(3, _then(each, a, b, view)), 220))
    sections += [_end(each, view) for each in (answer.a, answer.b)]
    return [*sections, *_context(answer)]


def _what(point: DivergencePoint) -> str:
    if point.kind is DivergenceKind.RAISED and point.a_raised and point.b_raised:
        return "they raised different exceptions"
    return _WHAT[point.kind]


def _point(point: DivergencePoint, a: str, b: str) -> list[Section]:
    lines: list[Section] = []
    if point.a_statement:
        at = f" (line {point.a_line})" if point.a_line not in (None, point.line) else ""
        lines.append(_source(f"{a}: {point.a_statement}{at}"))
        lines.append(_source(f"{b}: {point.statement}"))
    else:
        lines.append(_source(point.statement))
    for each in point.differences:
        left, right = around_difference(each.a or "(none)", each.b or "(none)", _MOST_VALUE)
        text = f"  {clip(each.path, 50)}: {left} in {a}, {right} in {b}"
        lines.append(Capped(wrapped_in(1, text, Tone.CHANGED), 260))
    if point.kind is DivergenceKind.BRANCH and (point.a_next or point.b_next):
        for name, went, raised in (
            (a, point.a_next, point.a_raised),
            (b, point.b_next, point.b_raised),
        ):
            lines.append(Capped(wrapped_in(1, f"  {name} {_went(went, raised)}"), 160))
    for name, raised in ((a, point.a_raised), (b, point.b_raised)):
        if raised and point.kind is DivergenceKind.RAISED:
            lines.append(Capped(wrapped_in(1, f"  {name} raised {one_line(raised)}"), 200))
    if point.note:
        note = point.note.replace("{a}", a).replace("{b}", b)
        lines.append(Capped(wrapped_in(2, f"  {note}", Tone.QUIET), 200))
    return lines


def _source(text: str) -> Section:
    return Capped(wrapped_in(1, f"  {one_line(text)}", Tone.SOURCE), 180)


def _went(went: NextLine | None, raised: str | None) -> str:
    if went is not None:
        return f"went on to line {went.line}: {clip(went.text, 80)}"
    return f"left the function with {clip(raised, 100)}" if raised else "left the function"


def _then(point: DivergencePoint, a: str, b: str, view: View) -> str:
    text = f"then {file_line(point.path, point.line, view.cwd)} in {clip(point.function, 30)}"
    text += f"  {clip(point.statement, 60)}"
    for each in point.differences[:1]:
        left, right = around_difference(each.a or "(none)", each.b or "(none)", 40)
        text += f"  {clip(each.path, 30)}: {left} / {right}"
    if point.kind is DivergenceKind.BRANCH and point.a_next and point.b_next:
        text += f"  {a} → line {point.a_next.line}, {b} → line {point.b_next.line}"
    return text


def _end(end: RunEnd, view: View) -> Section:
    text = f"{end.label} {end.how}"
    if end.message is not None:
        text += f": {one_line(end.message)}"
    if end.failed and end.path is not None:
        text += f"  at {file_line(end.path, end.line, view.cwd)}"
        text += f" in {clip(end.function, 40)}" if end.function else ""
    elif end.function:
        text += f"  {clip(end.function, 90)}"
    return Capped(wrapped_in(1, text, Tone.BAD if end.failed else Tone.GOOD), 260)


def _context(answer: ProgramDiff) -> list[Section]:
    lines: list[str] = []
    if answer.first is not None and answer.equal_steps:
        functions = plural(answer.equal_functions, "function")
        lines.append(f"up to there: {plural(answer.equal_steps, 'step')} in {functions}")
    if answer.output is not None and _is_own_output(answer):
        lines.append(_output(answer.output, answer.a.label, answer.b.label))
    if answer.unrelated:
        example = f", such as {answer.unrelated_example}" if answer.unrelated_example else ""
        what = plural(answer.unrelated, "earlier difference")
        lines.append(f"{what} did not lead to it{example}")
    if answer.edited:
        shown = ", ".join(answer.edited[:4]) + (" …" if len(answer.edited) > 4 else "")
        lines.append(f"edited: {shown}; lines are matched through the edits")
    lines += answer.notes[:4]
    return [Capped(wrapped_in(4, each, Tone.QUIET), 220) for each in lines]


def _is_own_output(answer: ProgramDiff) -> bool:
    """Whether the difference of the outputs is more than the report of the failure."""
    texts = (answer.output.a, answer.output.b) if answer.output is not None else ()
    is_report = any(text is None or text.startswith("Traceback") for text in texts)
    return answer.first is None or not (answer.b.failed and is_report)


def _output(output: OutputDifference, a: str, b: str) -> str:
    shown = [
        repr(clip(text, 50)) if text is not None else "nothing" for text in (output.a, output.b)
    ]
    return f"output line {output.line}: {shown[0]} in {a}, {shown[1]} in {b}"


def _compared(end: RunEnd) -> str:
    return f"{plural(end.steps, 'step')} of {end.label}"
