"""Output of the program: every line has the prefix of its stream; the newest lines are kept.

`| ` is standard output, `err| ` standard error, `log| ` a logpoint, `dbg| ` the debugger. Every
output line has a prefix, so the program cannot print a line that looks like part of a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from freezeframe.model import late_regex
from freezeframe.model.answers import Chunk, Output, OutputAnswer
from freezeframe.render.budget import Capped, Listing, Section
from freezeframe.render.formatting import clip, escape_control, number, plural, size
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import budget_for, headline, next_step, renders

_PREFIXES = {
    "stderr": ("err| ", Tone.STDERR),
    "log": ("log| ", Tone.LOG),
    "console": ("dbg| ", Tone.QUIET),
}


#: codes that colour text or move a cursor: CSI, OSC and other strings, two-character escapes
_ANSI = late_regex.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"
    r"|[ -/]{1,4}[0-~]|[0-Z\\^_`a-~])"
)

#: the first line of a sanitizer's report; its dump of shadow memory, which ends the report
_REPORT = late_regex.compile(r"(?:==\d+==\s?)?(?:ERROR|WARNING): \w+Sanitizer: ")
_SHADOW = "Shadow bytes around the buggy address"
#: How much of the newest output is searched for a report.
_REPORT_CHARS = 24_000

#: A width at which no line of output is elided.
_WHOLE = 1_000_000


def printed_lines(chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
    """Return (stream, line) in order; chunks of one line are joined."""
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
    """Adds prefixes to output that is streamed in chunks."""

    def __init__(self) -> None:
        self._stream: str | None = None

    def text(self, chunk: Chunk) -> str:
        """Return the text of *chunk* with a prefix at the start of each line."""
        mark, _ = _prefix(chunk.stream)
        shown = ""
        if self._stream is not None and self._stream != chunk.stream:
            shown, self._stream = "\n", None
        for line in escape_control(without_ansi(chunk.text.replace("\r\n", "\n"))).splitlines(True):
            shown += line if self._stream is not None else mark + line
            self._stream = None if line.endswith("\n") else chunk.stream
        return shown


def _prefix(stream: str) -> tuple[str, Tone]:
    return _PREFIXES.get(stream, ("| ", Tone.OUTPUT))


def _newest(chunks: Sequence[Chunk], enough: int) -> tuple[list[Chunk], int, int]:
    """Return the newest chunks, *enough* characters of them, the bytes of all older ones, and the
    bytes of the prefixes of their lines.

    Ten megabytes may have been printed since the last stop; only what can be shown is processed.
    """
    newest: list[Chunk] = []
    older = prefix_bytes = 0

    def pass_over(text: str, stream: str) -> None:
        nonlocal older, prefix_bytes
        older += size(text)
        prefix_bytes += (text.count("\n") + 1) * len(_prefix(stream)[0])

    for chunk in reversed(chunks):
        if enough <= 0:
            pass_over(chunk.text, chunk.stream)
            continue
        if len(chunk.text) > enough:
            # Begin with a whole line if there is one.
            start = chunk.text.find("\n", len(chunk.text) - enough) + 1
            start = start if 0 < start < len(chunk.text) else len(chunk.text) - enough
            pass_over(chunk.text[:start], chunk.stream)
            chunk = Chunk(chunk.stream, chunk.text[start:])
            enough = 0
        enough -= len(chunk.text)
        newest.append(chunk)
    newest.reverse()
    return newest, older, prefix_bytes


def output_sections(
    output: Output, rank: int, limit: int, *, own_answer: bool = False
) -> list[Section]:
    """Return the section of output: the newest lines, and the size of what is older.

    It takes at most *limit* bytes. With *own_answer* the output is the whole answer: it has no
    heading, and its lines are not elided if they fit. Of a sanitizer's report at the end of the
    output the first lines are shown, not the last.
    """
    searched = 0 if own_answer else _REPORT_CHARS
    chunks, older, prefix_bytes = _newest(output.chunks, max(limit + 200, searched))
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
    prefix_bytes += sum(len(_prefix(stream)[0]) for stream, _ in lines)
    report = None if own_answer else _report(lines)
    first, end = (0, len(lines)) if report is None else report
    if sum(sizes[:end]) + 6 * end < limit:
        first = 0

    def item(index: int, width: int) -> list[Line]:
        stream, text = lines[first + index]
        mark, tone = _prefix(stream)
        shown = escape_control(text) if size(text) <= width else clip(text, width)
        return [Line(mark + shown, tone)]

    def more(shown: int) -> str | None:
        kept = sum(sizes[first : first + shown] if report else sizes[len(lines) - shown :])
        left = older + sum(sizes) - kept
        if not left:
            return None
        budget = budget_for(older + sum(sizes) + prefix_bytes)
        hint = f"dbg output --since {output.start} --budget {budget}"
        return f"… {number(left)} bytes of output ({hint})"

    head = () if own_answer else (Line("output:", Tone.HEAD),)
    widths = (_WHOLE, 200, 100) if own_answer else (200, 100)
    listing = Listing(
        rank,
        end - first,
        item,
        more,
        head=(*head, *notes),
        widths=widths,
        from_end=report is None,
    )
    return [Capped(listing, limit)]


def _report(lines: Sequence[tuple[str, str]]) -> tuple[int, int] | None:
    """Return the first line of a sanitizer's report that ends the output, and its end.

    Without its dump of shadow memory. None if there is no such report.
    """
    end = len(lines)
    for index in range(len(lines) - 1, -1, -1):
        stream, text = lines[index]
        if stream not in ("stderr", "console"):
            return None
        if text.startswith(_SHADOW):
            end = index
        if _REPORT.match(text):
            return index, end
    return None


@renders(OutputAnswer)
def _output(answer: OutputAnswer, view: View) -> list[Section]:
    sections = output_sections(answer.output, 1, view.limit, own_answer=True)
    if not sections:
        sections = [headline(f"no new output ({answer.state})", Tone.QUIET)]
    return [*sections, *next_step(answer.next)]
