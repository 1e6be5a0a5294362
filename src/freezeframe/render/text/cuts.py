"""The way into a value that was cut: the command that shows what is missing, on one line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from freezeframe.model.answers import Evaluated
from freezeframe.model.values import Scope, Value, is_cut
from freezeframe.render.budget import Fixed, Section
from freezeframe.render.page import Line, Tone, View
from freezeframe.render.words import commands

from .one_value import assigned, changes, right_side, worth

#: Paths that one answer names.
_PATHS = 2
#: The width that a listing gives a value where it has the room.
_WIDTH = 160
#: A longer expression is not worth its line.
_LONGEST = 80
#: what ends an array of which the first elements are shown
_COUNTED = re.compile(r"… [\d,]+ items?\W*$")
#: what ends an object of which not all fields are shown
_FIELDS_LEFT_OUT = re.compile(r"…\+[\d,]+\)$")


def cut_in_scopes(scopes: Sequence[Scope], view: View, rank: int, *, marked: bool) -> list[Section]:
    """Return the line about the variables that are cut; what changed comes first.

    *marked*: all are listed alike, with what changed marked; else what did not is shown narrower,
    or not at all.
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
    # The end of a long string or array, which is counted, is rarely what is looked for.
    structured = [path for value, path in found if value.has_children and not _is_counted(value)]
    return _line(structured or [path for _, path in found][:1], rank)


def cut_in_value(answer: Evaluated, view: View, rank: int, *, listed: bool) -> list[Section]:
    """Return the line about what is cut inside of a value that is shown by itself.

    *listed*: its children have lines of their own.
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
    """Yield the expressions of what is cut in *value*, shown that wide; the first says most."""
    text = right_side(value, width)
    if value.failed or value.gone or not is_cut(text):
        return
    if value.opaque and not _FIELDS_LEFT_OUT.search(text):
        # Each field has a share of the room where they do not fit together.
        for share in (width, max(24, min(60, width // 3))):
            for child in value.children:
                yield from _inside(child, share)
    if value.expression:
        yield value.expression


def _line(paths: Sequence[str], rank: int) -> list[Section]:
    short = [path for path in dict.fromkeys(paths) if len(path) <= _LONGEST and "\n" not in path]
    if not short:
        return []
    words = commands([f"print {shlex.quote(path)}" for path in short[:_PATHS]])
    return [Fixed(rank, (Line(f"cut: {words}", Tone.QUIET),))]
