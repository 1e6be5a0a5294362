"""Conditions and log messages of breakpoints in minified code, in the names of the source.

Before anything stops there V8 tells no scopes: functions are read from the generated text. What a
function's own text names is what its variables are called; functions inside it do not count, for
they may use the same letters again. Where one letter means several variables there, a breakpoint
that asks for one of them is refused: another variable would be worse than none.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from freezeframe.backends.backend import WantedBreakpoint

from . import conditions, grammar, names
from .scripts import line_starts, offset_of
from .sourcemaps import SourceMap

#: an offset in generated text, the name there, and what the source calls it where a map tells
_Named = tuple[int, str, str | None]


@dataclass(slots=True)
class _Visible:
    """The variables that code at a place can see."""

    #: by the name of the source: what runs; None where that cannot be told
    of_source: dict[str, str | None] = field(default_factory=dict)
    #: names that the running code has
    running: set[str] = field(default_factory=set)


def renamed(
    want: WantedBreakpoint, found: SourceMap, text: str, place: tuple[int, int]
) -> WantedBreakpoint:
    """Return a breakpoint with its code in the names that run at a place of generated text.

    Raises EvaluationFailed, with the reason, where a name of that code cannot be told.
    """
    if not found.names or not conditions.codes(want):
        return want
    visible = _visible(found, text, place)
    condition, log = want.condition, want.log
    if condition is not None:
        condition = _rewritten(condition, visible)
    if log is not None:
        log = "".join(
            f"{{{_rewritten(piece, visible)}}}"
            if is_code
            else piece.replace("{", "{{").replace("}", "}}")
            for is_code, piece in conditions.pieces(log)
        )
    return replace(want, condition=condition, log=log)


def _rewritten(code: str, visible: _Visible) -> str:
    known = {runs: name for name, runs in visible.of_source.items() if runs and runs != name}
    unclear = {
        name: f"the minified code does not tell {name} from other variables of its function"
        for name, runs in visible.of_source.items()
        if runs is None
    }
    for runs in visible.running - visible.of_source.keys() - known.keys():
        unclear[runs] = f"{runs} is a name of the minified code, and several of the source are it"
    return names.minify(code, known, unclear)


def _visible(found: SourceMap, text: str, place: tuple[int, int]) -> _Visible:
    offset = offset_of(text, *place)
    functions = grammar.functions(text)
    around = [(each.start, each.end) for each in functions if each.start <= offset < each.end]
    visible = _Visible()
    origin = found.origin(*place)
    every = list(_named(found, text, origin.path if origin is not None else None))
    for start, end in [*reversed(around), (0, len(text) + 1)]:
        inner = [
            (each.start, each.end)
            for each in functions
            if start <= each.start and each.end <= end and (each.start, each.end) != (start, end)
        ]
        _add(visible, _own(every, start, end, inner))
    return visible


def _add(visible: _Visible, own: list[_Named]) -> None:
    """Add the variables of one more function outwards: those within hide them."""
    meant: dict[str, set[str]] = {}
    bare: set[str] = set()
    for _, runs, name in own:
        if runs in visible.running:
            continue
        if name is None:
            bare.add(runs)
        else:
            meant.setdefault(runs, set()).add(name)
    hidden = set(visible.of_source)
    for runs, called in meant.items():
        for name in called - hidden:
            one = len(called) == 1 and name not in visible.of_source
            visible.of_source[name] = runs if one else None
    for runs in bare - meant.keys():
        # Where it is called as in the source, a map may leave out the name.
        visible.of_source.setdefault(runs, runs)
    visible.running |= meant.keys() | bare


def _own(every: list[_Named], start: int, end: int, inner: list[tuple[int, int]]) -> list[_Named]:
    """Return what stands in a stretch of text and in no function inside it."""
    first = bisect.bisect_left(every, start, key=lambda each: each[0])
    last = bisect.bisect_left(every, end, key=lambda each: each[0])
    own: list[_Named] = []
    functions = iter([*inner, (len(every) and every[-1][0] + 1, 0)])
    begin, over = next(functions)
    past = start
    for each in every[first:last]:
        while each[0] >= begin:
            past = max(past, over)
            begin, over = next(functions)
        if each[0] >= past:
            own.append(each)
    return own


def _named(found: SourceMap, text: str, source: str | None) -> Iterator[_Named]:
    """Yield the names in generated text that come from one source, and are no fields or keys."""
    starts = line_starts(text)
    told = {
        starts[line] + column: name
        for (line, column), name in found.names.items()
        if line < len(starts)
    }
    tokens = _tokens(text)
    for index, token in enumerate(tokens):
        if token.kind != "name":
            continue
        before = tokens[index - 1].text if index else ""
        behind = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if before in (".", "?.") or (before in ("{", ",") and behind == ":"):
            continue
        line = bisect.bisect_right(starts, token.start) - 1
        origin = found.origin(line, token.start - starts[line])
        if origin is not None and origin.path == source:
            yield token.start, token.text, told.get(token.start)


@lru_cache(maxsize=2)
def _tokens(text: str) -> tuple[grammar.Token, ...]:
    return tuple(grammar.Text(text).tokens)
