"""The line that names the commands that show truncated values in full."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from freezeframe.model import late_regex
from freezeframe.model.answers import Evaluated
from freezeframe.model.values import Scope, Value, is_cut
from freezeframe.render.budget import Fixed, Section
from freezeframe.render.formatting import commands
from freezeframe.render.styled_lines import Line, Tone, View

from .one_value import assigned, changes, right_side, worth

#: Maximum of paths in one answer.
_PATHS = 2
#: The width of a value in a listing with enough room.
_WIDTH = 160
#: Longer expressions are not suggested.
_LONGEST = 80
#: end of an array that is not shown whole
_COUNTED = late_regex.compile(r"… [\d,]+ items?\W*$")
#: end of an object that is not shown whole
_FIELDS_LEFT_OUT = late_regex.compile(r"…\+[\d,]+\)$")


def cut_in_scopes(scopes: Sequence[Scope], view: View, rank: int, *, marked: bool) -> list[Section]:
    """Return the line about truncated variables; changed ones come first.

    *marked*: all are listed with the same width, changed ones marked; otherwise unchanged ones are
    shown narrower, or not at all.
    """
    changed: list[Value] = []
    unchanged: list[Value] = []
    found: list[tuple[Value, str]] = []
    for scope in scopes:
        for value in scope.values:
            (changed if changes(value) else unchanged).append(value)
    for value in changed:
        for name, part in changes(value):
            path = _path(part, _WIDTH) or part.expression or value.expression
            if path and is_cut(assigned(part, _WIDTH, name=name)):
                found.append((value, path))
    if marked or not view.repeated:
        for value in unchanged:
            width = _WIDTH if marked else worth(value, view.value_chars, _WIDTH)
            inner = _path(value, width - len(value.name) - 3)
            if inner:
                found.append((value, inner))
    # The end of a long string or array, whose length is shown, is rarely of interest.
    structured = [path for value, path in found if value.has_children and not _is_counted(value)]
    return _line(structured or [path for _, path in found][:1], rank)


def cut_in_value(answer: Evaluated, view: View, rank: int, *, listed: bool) -> list[Section]:
    """Return the line about truncated parts of a value that is the whole answer.

    *listed*: its children have their own lines.
    """
    value = answer.value
    inner = _in_lines(value, answer.depth) if listed else _inside(value, view.limit)
    return _line([path for path in inner if path != answer.expression], rank)


def _in_lines(value: Value, levels: int | None) -> Iterator[str]:
    below = None if levels is None else levels - 1
    for child in value.children:
        plain = child.opaque and all(not each.children for each in child.children)
        if child.children and not plain and below != 0:
            yield from _in_lines(child, below)
        else:
            yield from _inside(child, _WIDTH - len(child.name) - 8)


def _is_counted(value: Value) -> bool:
    return bool(value.count) and _COUNTED.search(right_side(value, _WIDTH)) is not None


def _path(value: Value, width: int) -> str | None:
    return next(_inside(value, width), None)


def _inside(value: Value, width: int) -> Iterator[str]:
    """Yield expressions for the parts truncated in *value* at *width*; the most useful first."""
    text = right_side(value, width)
    if value.failed or value.gone or not is_cut(text):
        return
    if value.opaque and not _FIELDS_LEFT_OUT.search(text):
        # Each field has a share of the width if they do not fit together.
        for share in (width, max(24, min(60, width // 3))):
            for child in value.children:
                yield from _inside(child, share)
    if value.expression:
        yield value.expression


def _line(paths: Sequence[str], rank: int) -> list[Section]:
    short = [path for path in dict.fromkeys(paths) if len(path) <= _LONGEST and "\n" not in path]
    if not short:
        return []
    text = commands([f"print {shlex.quote(path)}" for path in short[:_PATHS]])
    return [Fixed(rank, (Line(f"cut: {text}", Tone.QUIET),))]
