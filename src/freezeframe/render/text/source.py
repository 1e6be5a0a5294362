"""Source lines: numbered, the current one marked; the farthest from it are dropped first."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model.answers import SourceAnswer
from freezeframe.model.locations import Source, SourceLine
from freezeframe.render.budget import Listing, Resizable, Section, size
from freezeframe.render.formatting import clip, escape_control, number, one_line, relative
from freezeframe.render.formatting import size as size_of_text
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, wrapped_in

_WIDTH = 160


def _line(line: SourceLine, digits: int, path: str, width: int = _WIDTH) -> Line:
    arrow = "->" if line.current else "  "
    prefix = f"{arrow} {line.number:>{digits}}  "
    text = line.text.rstrip()
    shown = escape_control(text).replace("\n", "\\n") if len(text) <= width else ""
    if not shown or size_of_text(shown) > width:
        shown = clip(text, width, tail=False)
    tone = Tone.CURRENT if line.current else Tone.SOURCE
    return Line((prefix + shown).rstrip(), tone, code_at=len(prefix), code_path=path)


def source_sections(source: Source | None, rank: int, *, current_only: bool) -> list[Section]:
    """Return the section of source around the current line; *current_only*: that line alone."""
    if source is None:
        return []
    sections: list[Section] = []
    if source.missing is not None:
        sections.append(wrapped_in(rank, f"no source: {source.missing}", Tone.QUIET))
    lines = source.lines
    if current_only:
        lines = tuple(line for line in lines if line.current) or lines
    if lines:
        sections.append(Resizable(rank, lambda limit: _around(source, lines, limit)))
    if source.note:
        sections.append(wrapped_in(rank, f"note: {source.note}", Tone.QUIET))
    return sections


def _around(source: Source, lines: Sequence[SourceLine], limit: int) -> list[Line]:
    """Return the current line and as many around it as fit, the nearest first."""
    digits = max(len(str(line.number)) for line in lines)
    shown = [_line(line, digits, source.path) for line in lines]
    if size(shown) <= limit:
        return shown
    current = next((i for i, line in enumerate(lines) if line.current), 0)
    more = Line(f"{' ' * (digits + 3)}… (dbg source)", Tone.QUIET)
    room = limit - more.size
    if shown[current].size > room:
        return [_line(lines[current], digits, source.path, room - digits - 7), more]
    first = last = current
    room -= shown[current].size
    while first > 0 or last < len(shown) - 1:
        # Nearest first; of two equally near, the one above, which has run already.
        above = first > 0 and (current - first <= last - current or last == len(shown) - 1)
        room -= shown[first - 1 if above else last + 1].size
        if room < 0:
            break
        first, last = (first - 1, last) if above else (first, last + 1)
    return [*shown[first : last + 1], more]


@renders(SourceAnswer)
def _source(answer: SourceAnswer, view: View) -> list[Section]:
    source = answer.source
    path = clip(relative(source.path, view.cwd), 100)
    where = f"{path} in {one_line(answer.function)}" if answer.function else path
    if source.missing is not None:
        return [headline(f"{where}: no source: {source.missing}"), *next_step(answer.next)]
    total = f" ({source.total_lines} lines)" if source.total_lines is not None else ""
    digits = max((len(str(line.number)) for line in source.lines), default=1)

    def item(index: int, width: int) -> list[Line]:
        return [_line(source.lines[index], digits, source.path, width)]

    def more(shown: int) -> str | None:
        missing = len(source.lines) - shown
        if not missing:
            return None
        # `source FILE:LINE` shows lines around a line, so name the middle of the rest.
        middle = source.lines[shown + missing // 2].number
        return f"… {number(missing)} more lines (dbg source {path}:{middle})"

    note = [wrapped_in(1, f"note: {source.note}", Tone.QUIET)] if source.note else []
    return [
        headline(f"{where}{total}", Tone.HEAD),
        *note,
        Listing(1, len(source.lines), item, more, widths=(_WIDTH, 80)),
        *next_step(answer.next),
    ]
