"""What the program printed: lines marked by stream, the newest kept."""

from __future__ import annotations

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


#: A width at which no line of output is elided.
_WHOLE = 1_000_000


def printed_lines(chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
    """Return (stream, line) in order; pieces of one line are put together again."""
    lines: list[tuple[str, str]] = []
    for stream, pieces in groupby(chunks, key=lambda chunk: chunk.stream):
        text = "".join(piece.text for piece in pieces).replace("\r\n", "\n")
        lines.extend((stream, line) for line in text.removesuffix("\n").split("\n") if text)
    return lines


def _newest(chunks: Sequence[Chunk], enough: int) -> tuple[list[Chunk], int]:
    """Return the newest chunks, *enough* characters of them, and the bytes of all older ones.

    Ten megabytes may have come since the last stop; no more is looked at than can be shown.
    """
    newest: list[Chunk] = []
    older = 0
    for chunk in reversed(chunks):
        if enough <= 0:
            older += size(chunk.text)
            continue
        if len(chunk.text) > enough:
            # Begin with a whole line where there is one.
            start = chunk.text.find("\n", len(chunk.text) - enough) + 1
            start = start if 0 < start < len(chunk.text) else len(chunk.text) - enough
            older += size(chunk.text[:start])
            chunk = Chunk(chunk.stream, chunk.text[start:])
            enough = 0
        enough -= len(chunk.text)
        newest.append(chunk)
    newest.reverse()
    return newest, older


def output_sections(
    output: Output, rank: int, limit: int, *, own_answer: bool = False
) -> list[Section]:
    """Return the section of what was printed: the newest lines, what is older counted.

    It takes at most *limit* bytes. In an answer of its own (*own_answer*) standard output is
    unmarked, for it is what was asked.
    """
    chunks, older = _newest(output.chunks, limit + 200)
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

    def item(index: int, width: int) -> list[Line]:
        stream, text = lines[index]
        mark, tone = _MARKS.get(stream, ("" if own_answer else "| ", Tone.OUTPUT))
        shown = harmless(text) if size(text) <= width else clip(text, width)
        return [Line(mark + shown, tone)]

    def more(shown: int) -> str | None:
        left = older + sum(sizes[: len(lines) - shown])
        if not left:
            return None
        hint = f"dbg output --since {output.start} --budget {budget_for(older + sum(sizes))}"
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
