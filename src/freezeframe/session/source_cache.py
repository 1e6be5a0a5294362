"""Cached lines of source files, as they are on disk."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from freezeframe import files
from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.locations import Source, SourceLine
from freezeframe.model.stops import Frame

_MAX_BYTES = 8 << 20
_KEPT_FILES = 64


@dataclass(slots=True)
class _File:
    stamp: tuple[int, int]
    lines: list[str]


class Sources:
    """Reads source files and caches the last few; a file that changed is read again."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, _File] = OrderedDict()

    def lines(self, path: str) -> list[str]:
        """Return the file's lines. Raises OSError when it cannot be read."""
        stamp = files.stamp(path)
        kept = self._files.get(path)
        if kept is not None and kept.stamp == stamp:
            self._files.move_to_end(path)
            return kept.lines
        lines = files.read_text(path, _MAX_BYTES).split("\n")
        if lines and not lines[-1]:
            lines.pop()
        self._files[path] = _File(stamp, lines)
        if len(self._files) > _KEPT_FILES:
            self._files.popitem(last=False)
        return lines

    def line(self, path: str, number: int) -> str | None:
        """Return one line; None if the line or the file cannot be read."""
        try:
            lines = self.lines(path)
        except OSError:
            return None
        return lines[number - 1] if 0 < number <= len(lines) else None

    def unreadable(self, frame: Frame) -> bool:
        """Whether a frame belongs to a library whose source cannot be read."""
        if not frame.library or frame.source_reference:
            return False
        if frame.path is None or frame.line is None:
            return True
        return self.line(frame.path, frame.line) is None

    def excerpt(
        self,
        path: str,
        line: int,
        context: int,
        *,
        current: int | None = None,
        newer_than: float | None = None,
    ) -> Source:
        """Return *context* lines before and after *line*; `missing` says why there are none."""
        try:
            lines = self.lines(path)
        except OSError as error:
            return Source(path, (), missing=error.strerror or str(error))
        return self.cut(path, lines, max(1, line - context), line + context, current, newer_than)

    def cut(
        self,
        path: str,
        lines: list[str],
        first: int,
        last: int,
        current: int | None,
        newer_than: float | None = None,
    ) -> Source:
        """Return lines *first* to *last* of *lines*, shown as those of *path*."""
        last = min(last, len(lines))
        if first > last:
            return Source(path, (), len(lines), missing=f"the file has {len(lines)} lines")
        note = None
        if newer_than is not None:
            try:
                changed = files.stamp(path)[0] > newer_than * 1e9
            except OSError:
                changed = False
            if changed:
                note = "changed on disk since the program started"
        return Source(
            path,
            tuple(
                SourceLine(number, lines[number - 1].expandtabs(4), number == current)
                for number in range(first, last + 1)
            ),
            len(lines),
            note=note,
        )


_CONTROL = late_regex.compile(
    r"^[}\s]*(if|elif|else|for|foreach|while|with|try|except|finally|switch|case|match|catch|do|"
    r"loop|unless|until|async with|async for|return|when)\b"
)


def enclosing_block(lines: Sequence[str], line: int) -> tuple[int, int]:
    """Return the first and last line of the function around *line*, found by indentation.

    Return the whole file if nothing that looks like a function encloses the line.
    """

    def indent(number: int) -> int | None:
        text = lines[number - 1].expandtabs(4)
        return len(text) - len(text.lstrip()) if text.strip() else None

    if not 0 < line <= len(lines):
        return 1, len(lines)
    first = line
    while first > 1 and indent(first) is None:
        first -= 1
    depth = indent(first) or 0
    header = is_header(lines, first)
    while not header:
        first -= 1
        if first < 1:
            return 1, len(lines)
        here = indent(first)
        if here is None or here >= depth or lines[first - 1].strip() == "{":
            continue
        depth = here
        header = is_header(lines, first)
    depth = indent(first) or 0
    last = first
    for number in range(first + 1, len(lines) + 1):
        here = indent(number)
        if here is None:
            continue
        if here <= depth:
            # A closing bracket at the header's depth ends the block and belongs to it.
            closes = lines[number - 1].strip()[0] in "})" or lines[number - 1].strip() == "end"
            if not closes and not (number == first + 1 and lines[number - 1].strip() == "{"):
                break
            last = number
            if not lines[number - 1].rstrip().endswith(("{", ":")):
                break
        last = number
    while first > 1 and lines[first - 2].lstrip().startswith("@") and indent(first - 1) == depth:
        first -= 1
    return first, last


def function_block(lines: Sequence[str], line: int, function: str) -> range:
    """Return the lines of *function*, which is stopped at *line*; empty where they are not found.

    The line may itself begin a block that belongs to another function: `rows.map((row) => {`.
    """
    name = late_regex.compile(r"\w+").findall(function) or [""]
    at = line
    if 0 < line <= len(lines) and name[-1] not in lines[line - 1].partition("(")[0]:
        depth = _indent(lines[line - 1])
        while at > 1 and (not lines[at - 1].strip() or _indent(lines[at - 1]) >= depth):
            at -= 1
    first, last = enclosing_block(lines, at)
    found = range(first, last + 1)
    return found if line in found and (first, last) != (1, len(lines)) else range(0)


def _indent(text: str) -> int:
    text = text.expandtabs(4)
    return len(text) - len(text.lstrip())


def body_line(lines: Sequence[str], block: range) -> int:
    """Return the first line of code in a function's *block*, after its head."""
    depth = 0
    line = block.start
    while line < block.stop - 1:
        text = lines[line - 1]
        depth += text.count("(") - text.count(")")
        line += 1
        if depth <= 0:
            break
    while line < block.stop - 1 and _NO_CODE.match(lines[line - 1]):
        line += 1
    return line


#: a comment, an opening bracket, an empty line
_NO_CODE = late_regex.compile(r"\s*(?://.*|#.*|\*.*|/\*.*|\{|\"\"\".*\"\"\")?$")


def is_header(lines: Sequence[str], number: int) -> bool:
    text = lines[number - 1]
    if text.lstrip().startswith("def ") and "=" not in text:
        return True  # also Ruby's, which ends without a mark
    if "(" not in text or _CONTROL.match(text) is not None:
        return False
    following = lines[number].strip() if number < len(lines) else ""
    return text.rstrip().endswith(("{", ":", "(")) or following == "{"
