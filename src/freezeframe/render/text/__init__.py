"""Answers as plain text: one function per kind of answer, in the modules of this package.

A new kind of answer gets a function with `@renders(Kind)` in the module of its topic. A module is
imported when the first answer of its topic is rendered.
"""

from __future__ import annotations

from freezeframe.errors import FreezeframeError
from freezeframe.render.budget import BYTES_PER_TOKEN, DEFAULT_TOKENS, LEAST_TOKENS, fit
from freezeframe.render.formatting import escape_control, one_line
from freezeframe.render.styled_lines import PLAIN, VALUE_CHARS, Line, Style, Tone, View

from ._registry import RENDERERS, load_all, sections

__all__ = ["RENDERERS", "load_all", "render_error", "render_text"]


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
    The budget counts text, not colour codes.
    """
    limit = max(budget_tokens, LEAST_TOKENS) * BYTES_PER_TOKEN
    lines = fit(sections(answer, View(cwd=cwd, limit=limit, value_chars=value_chars)), limit)
    return _painted([_single(line) for line in lines], style)


def _single(line: Line) -> Line:
    """Return *line* as one line: a name with a newline must not start a new line of the report."""
    if "\n" not in line.text:
        return line
    return Line(line.text.replace("\n", "\\n"), line.tone)


def render_error(error: FreezeframeError, style: Style = PLAIN) -> str:
    """Return `code: message` and, if there is a next step, `  next: …` below it.

    Further lines of a message come from the debugger or the program, and get a prefix.
    """
    first, *rest = escape_control(str(error)).splitlines() or [""]
    lines = [Line(first, Tone.BAD), *(Line(f"  | {line}", Tone.BAD) for line in rest)]
    if error.next:
        lines.append(Line(f"  next: {one_line(error.next)}", Tone.NEXT))
    return _painted(lines, style)


def _painted(lines: list[Line], style: Style) -> str:
    if style.colour:
        # rich takes 0.1 s to import: do it only for colour.
        from freezeframe.render.terminal import paint

        return paint(lines, style)
    return "".join(f"{line.text}\n" for line in lines)
