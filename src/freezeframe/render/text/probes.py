"""The table of a probe."""

from __future__ import annotations

from freezeframe.model.probes import ProbeColumn, ProbeReport, ProbeRow
from freezeframe.render.budget import Capped, Fixed, Section
from freezeframe.render.formatting import clip, file_line, number, plural
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, wrapped_in
from .stops import exit_text

_RESULT, _ROWS, _REST = 1, 2, 3
#: bytes of a cell, and of a frequent value
_CELL, _VALUE = 40, 30


@renders(ProbeReport)
def _probe(report: ProbeReport, view: View) -> list[Section]:
    where = file_line(report.path, report.line, view.cwd) if report.path else report.location
    hits = plural(report.hits, "hit") if report.hits else "no hit"
    sections: list[Section] = [headline(f"{where}  {hits}")]
    if report.until is not None:
        sections.append(_until(report))
    if report.first:
        sections.append(Capped(Fixed(_ROWS, _table(report)), view.limit // 2))
    for column in report.columns if report.hits > 1 else ():
        sections.append(wrapped_in(_RESULT, _summary(column)))
    if report.exception is not None:
        sections.append(wrapped_in(_REST, f"exception: {report.exception}", Tone.BAD))
    if report.exit is not None:
        sections.append(wrapped_in(_REST, f"the program {exit_text(report.exit)}"))
    sections += [wrapped_in(_REST, f"note: {note}") for note in report.notes]
    return [*sections, *next_step(report.next)]


def _until(report: ProbeReport) -> Section:
    if report.found is None:
        return wrapped_in(_RESULT, f"{report.until} was true at no hit")
    names = [column.expression for column in report.columns]
    cells = ", ".join(
        f"{name} = {clip(cell, _CELL)}"
        for name, cell in zip(names, report.found.cells, strict=False)
    )
    text = f"{report.until} first held at hit {number(report.found.hit)}"
    return wrapped_in(_RESULT, f"{text}: {cells}" if cells else text, Tone.CHANGED)


def _table(report: ProbeReport) -> tuple[Line, ...]:
    head = ("hit", *(clip(column.expression, _CELL) for column in report.columns))
    first = [_cells(row) for row in report.first]
    last = [_cells(row) for row in report.last]
    left_out = report.hits - len(first) - len(last)
    rows = [head, *first, *last]
    widths = [max(len(row[index]) for row in rows) for index in range(len(head))]
    lines = [Line(_aligned(row, widths)) for row in [head, *first]]
    if left_out > 0:
        lines.append(Line(f" … {number(left_out)} more", Tone.QUIET))
    return (*lines, *(Line(_aligned(row, widths)) for row in last))


def _cells(row: ProbeRow) -> tuple[str, ...]:
    return (number(row.hit), *(clip(cell, _CELL) for cell in row.cells))


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    return f" {'  '.join(cells)}".rstrip()


def _summary(column: ProbeColumn) -> str:
    parts = ["over 10,000 different values"]
    if column.distinct is not None:
        parts = (
            ["always the same"]
            if column.distinct == 1
            else [f"{number(column.distinct)} different"]
        )
    if column.distinct != 1 and column.least is not None and column.greatest is not None:
        for name, (text, hit) in (("min", column.least), ("max", column.greatest)):
            parts.append(f"{name} {clip(text, _VALUE)} (hit {number(hit)})")
    if column.frequent and column.distinct != 1:
        most = ", ".join(
            f"{clip(text, _VALUE)} ×{number(count)}" for text, count in column.frequent[:3]
        )
        parts.append(f"most often {most}")
    return f"{clip(column.expression, 60)}: {', '.join(parts)}"
