"""What the program printed: every line marked by its stream, the newest kept.

`| ` is standard output, `err| ` standard error, `log| ` a logpoint, `dbg| ` the debugger. No line
without a mark is the program's, so nothing that it prints can pass for a line of ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from freezeframe.model.answers import Chunk, Output, OutputAnswer
from freezeframe.render.budget import Capped, Listing, Section
from freezeframe.render.page import Line, Tone, View
from freezeframe.render.words import clip, harmless, number, plural, size

from ._table import budget_for, headline, next_step, renders

_MARKS = {
    "stderr": ("err| ", Tone.STDERR),
    "log": ("log| ", Tone.LOG),
    "console": ("dbg| ", Tone.QUIET),
}


#: codes that colour text or move a cursor: CSI, OSC and other strings, two-character escapes
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"
    r"|[ -/]{1,4}[0-~]|[0-Z\\^_`a-~])"
)

#: A width at which no line of output is elided.
_WHOLE = 1_000_000


def printed_lines(chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
    """Return (stream, line) in order; pieces of one line are put together again."""
    lines: list[tuple[str, str]] = []
    for stream, pieces in groupby(chunks, key=lambda chunk: chunk.stream):
        text = "".join(piece.text for piece in pieces).replace("\r\n", "\n")
        text = without_ansi(text)
        lines.extend((stream, line) for line in text.removesuffix("\n").split("\n") if text)
    return lines


def without_ansi(text: str) -> str:
    """Return *text* without the escape codes of a terminal; an incomplete one stays."""
    return _ANSI.sub("", text) if "\x1b" in text else text


class Follower:
    """Marks output that is shown as it comes, piece by piece."""

    def __init__(self) -> None:
        self._stream: str | None = None

    def text(self, chunk: Chunk) -> str:
        """Return what to write for *chunk*: each line of it with its mark, none begun twice."""
        mark, _ = _mark(chunk.stream)
        shown = ""
        if self._stream is not None and self._stream != chunk.stream:
            shown, self._stream = "\n", None
        for line in harmless(without_ansi(chunk.text.replace("\r\n", "\n"))).splitlines(True):
            shown += line if self._stream is not None else mark + line
            self._stream = None if line.endswith("\n") else chunk.stream
        return shown


def _mark(stream: str) -> tuple[str, Tone]:
    return _MARKS.get(stream, ("| ", Tone.OUTPUT))


def _newest(chunks: Sequence[Chunk], enough: int) -> tuple[list[Chunk], int, int]:
    """Return the newest chunks, *enough* characters of them, the bytes of all older ones, and the
    bytes of the marks that their lines would have.

    Ten megabytes may have come since the last stop; no more is looked at than can be shown.
    """
    newest: list[Chunk] = []
    older = marks = 0

    def pass_over(text: str, stream: str) -> None:
        nonlocal older, marks
        older += size(text)
        marks += (text.count("\n") + 1) * len(_mark(stream)[0])

    for chunk in reversed(chunks):
        if enough <= 0:
            pass_over(chunk.text, chunk.stream)
            continue
        if len(chunk.text) > enough:
            # Begin with a whole line where there is one.
            start = chunk.text.find("\n", len(chunk.text) - enough) + 1
            start = start if 0 < start < len(chunk.text) else len(chunk.text) - enough
            pass_over(chunk.text[:start], chunk.stream)
            chunk = Chunk(chunk.stream, chunk.text[start:])
            enough = 0
        enough -= len(chunk.text)
        newest.append(chunk)
    newest.reverse()
    return newest, older, marks


def output_sections(
    output: Output, rank: int, limit: int, *, own_answer: bool = False
) -> list[Section]:
    """Return the section of what was printed: the newest lines, what is older counted.

    It takes at most *limit* bytes. In an answer of its own (*own_answer*) it has no heading, and
    its lines are whole where they fit.
    """
    chunks, older, marks = _newest(output.chunks, limit + 200)
    lines = printed_lines(chunks)
    notes: list[Line] = []
    if output.dropped:
        lost = plural(output.dropped, "character")
        notes.append(Line(f"… {lost} lost: the buffer was full", Tone.BAD))
    if output.skipped:
        left = plural(output.skipped, "character")
        notes.append(Line(f"… {left} left out (dbg output --all)", Tone.QUIET))
    if not lines and not notes:
        return []
    sizes = [size(text) + 1 for _, text in lines]
    marks += sum(len(_mark(stream)[0]) for stream, _ in lines)

    def item(index: int, width: int) -> list[Line]:
        stream, text = lines[index]
        mark, tone = _mark(stream)
        shown = harmless(text) if size(text) <= width else clip(text, width)
        return [Line(mark + shown, tone)]

    def more(shown: int) -> str | None:
        left = older + sum(sizes[: len(lines) - shown])
        if not left:
            return None
        budget = budget_for(older + sum(sizes) + marks)
        hint = f"dbg output --since {output.start} --budget {budget}"
        return f"… {number(left)} bytes of output ({hint})"

    head = () if own_answer else (Line("output:", Tone.HEAD),)
    widths = (_WHOLE, 200, 100) if own_answer else (200, 100)
    listing = Listing(
        rank, len(lines), item, more, head=(*head, *notes), widths=widths, from_end=True
    )
    return [Capped(listing, limit)]


@renders(OutputAnswer)
def _output(answer: OutputAnswer, view: View) -> list[Section]:
    sections = output_sections(answer.output, 1, view.limit, own_answer=True)
    if not sections:
        sections = [headline(f"no new output ({answer.state})", Tone.QUIET)]
    return [*sections, *next_step(answer.next)]
