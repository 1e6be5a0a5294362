"""Colour and aligned columns for terminals, with rich. Same content as the plain text."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from .styled_lines import Line, Style, Tone

_STYLES = {
    Tone.PLAIN: "",
    Tone.REASON: "bold",
    Tone.BAD: "bold red",
    Tone.GOOD: "green",
    Tone.CHANGED: "yellow",
    Tone.VALUE: "",
    Tone.SOURCE: "",
    Tone.CURRENT: "bold",
    Tone.OUTPUT: "",
    Tone.STDERR: "red",
    Tone.LOG: "magenta",
    Tone.HEAD: "bold cyan",
    Tone.QUIET: "dim",
    Tone.NEXT: "green",
}


def paint(lines: Sequence[Line], style: Style) -> str:
    """Return the lines in colour, columns aligned, nothing wrapped or cut."""
    target = io.StringIO()
    console = Console(
        file=target,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        width=style.width or 100,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        # The daemon's environment is not the caller's: `style` has the caller's settings.
        _environ={},
    )
    for text in _texts(lines, style):
        console.print(text, soft_wrap=True)
    return target.getvalue()


def _texts(lines: Sequence[Line], style: Style) -> Iterator[Text]:
    for tabular, run in groupby(lines, key=lambda line: len(line.cells) > 1):
        if tabular:
            yield from _table(list(run), style)
        else:
            yield from map(_text, run)


def _table(lines: Sequence[Line], style: Style) -> Iterator[Text]:
    columns = max(len(line.cells) for line in lines)
    widths = [
        max((cell_len(line.cells[i]) for line in lines if i < len(line.cells)), default=0)
        for i in range(columns)
    ]
    # One long cell must not push the others off the screen.
    most = max(16, (style.width or 100) // 2)
    widths = [min(width, most) for width in widths]
    for line in lines:
        padded = [
            cell + " " * max(0, width - cell_len(cell))
            for cell, width in zip(line.cells, widths, strict=False)
            if width
        ]
        yield Text("  ".join(padded).rstrip(), style=_STYLES[line.tone])


def _text(line: Line) -> Text:
    if line.code_path is not None:
        return _code(line)
    text = Text(line.text, style=_STYLES[line.tone])
    if line.tone in (Tone.VALUE, Tone.CHANGED):
        name, equals, _ = line.text.partition(" = ")
        if equals:
            text.stylize("cyan", 0, len(name))
    return text


def _code(line: Line) -> Text:
    prefix, code = line.text[: line.code_at], line.text[line.code_at :]
    lexer = Syntax.guess_lexer(line.code_path or "", code)
    highlighted = Syntax("", lexer, theme="ansi_dark", background_color="default").highlight(code)
    highlighted.rstrip()
    text = Text()
    text.append(prefix, style="bold yellow" if line.tone is Tone.CURRENT else "dim")
    # The lexer strips padding; then show the unchanged code without colour.
    if highlighted.plain != code.rstrip():
        highlighted = Text(code)
    return text.append_text(highlighted)
