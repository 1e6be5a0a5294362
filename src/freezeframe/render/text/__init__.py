"""Answers as plain text: one function per kind of answer, in the files of this folder.

A new kind of answer gets a function marked `@renders(Kind)` in the file of its topic.
"""

from __future__ import annotations

from freezeframe.errors import FreezeframeError
from freezeframe.render.budget import BYTES_PER_TOKEN, DEFAULT_TOKENS, LEAST_TOKENS, fit
from freezeframe.render.page import PLAIN, VALUE_CHARS, Line, Style, Tone, View
from freezeframe.render.words import harmless, one_line

from . import (
    batch,
    breakpoints,
    differences,
    frames,
    history,
    house,
    machine,
    output,
    sessions,
    source,
    stops,
    values,
)
from ._table import RENDERERS
from ._table import sections as sections_of

__all__ = ["RENDERERS", "render_error", "render_text"]

# The table is filled by importing the files of the topics.
_TOPICS = (
    batch,
    breakpoints,
    differences,
    frames,
    history,
    house,
    machine,
    output,
    sessions,
    source,
    stops,
    values,
)


def render_text(
    answer: object,
    *,
    budget_tokens: int = DEFAULT_TOKENS,
    cwd: str | None = None,
    style: Style = PLAIN,
    value_chars: int = VALUE_CHARS,
) -> str:
    """Return *answer* as text that fits the budget; it ends with a newline unless it is empty.

    Paths below *cwd* are shown relative to it. A budget below LEAST_TOKENS counts as that many.
    Colour costs nothing: the budget counts what is read.
    """
    limit = max(budget_tokens, LEAST_TOKENS) * BYTES_PER_TOKEN
    lines = fit(sections_of(answer, View(cwd=cwd, limit=limit, value_chars=value_chars)), limit)
    return _painted([_single(line) for line in lines], style)


def _single(line: Line) -> Line:
    """Return *line* as one line: a name that holds a newline must not begin one of ours."""
    if "\n" not in line.text:
        return line
    return Line(line.text.replace("\n", "\\n"), line.tone)


def render_error(error: FreezeframeError, style: Style = PLAIN) -> str:
    """Return `code: message` and, where there is a next step, `  next: …` below it.

    Further lines of a message are the debugger's or the program's, and are marked.
    """
    first, *rest = harmless(str(error)).splitlines() or [""]
    lines = [Line(first, Tone.BAD), *(Line(f"  | {line}", Tone.BAD) for line in rest)]
    if error.next:
        lines.append(Line(f"  next: {one_line(error.next)}", Tone.NEXT))
    return _painted(lines, style)


def _painted(lines: list[Line], style: Style) -> str:
    if style.colour:
        # rich takes a tenth of a second to load: only those who see colour wait for it.
        from freezeframe.render.terminal import paint

        return paint(lines, style)
    return "".join(f"{line.text}\n" for line in lines)
