"""Translate conditions and log messages of breakpoints to the names of minified code.

Before the program stops there V8 reports no scopes: functions are read from the generated text. The
names in a function's own text are those of its variables; nested functions do not count, because
they may reuse the same letters. Where one letter stands for several variables, a breakpoint that
uses one of them is rejected: the wrong variable would be worse than none.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from freezeframe.backends.backend import BreakpointRequest
from freezeframe.backends.javascript import js_scanner
from freezeframe.backends.javascript.initialization import line_starts

from . import breakpoint_conditions, minified_names
from .scripts import offset_of
from .sourcemaps import SourceMap

#: an offset in generated text, the name there, and its name in the source if a map has it
_Named = tuple[int, str, str | None]


@dataclass(slots=True)
class _Visible:
    """The variables that are visible at a location."""

    #: by the source's name: the running name; None where that is unclear
    of_source: dict[str, str | None] = field(default_factory=dict)
    #: names in the running code
    running: set[str] = field(default_factory=set)


def renamed(
    request: BreakpointRequest, found: SourceMap, text: str, location: tuple[int, int]
) -> BreakpointRequest:
    """Return a breakpoint with its code in the names that run at a location of generated text.

    Raises EvaluationFailed, with the reason, if a name of that code is unclear.
    """
    if not found.names or not breakpoint_conditions.codes(request):
        return request
    visible = _visible(found, text, location)
    condition, log = request.condition, request.log
    if condition is not None:
        condition = _rewritten(condition, visible)
    if log is not None:
        log = "".join(
            part.replace("{", "{{").replace("}", "}}")
            if isinstance(part, str)
            else f"{{{_rewritten(part.code, visible)}}}"
            for part in breakpoint_conditions.log_parts(log)
        )
    return replace(request, condition=condition, log=log)


def _rewritten(code: str, visible: _Visible) -> str:
    known = {
        running: name for name, running in visible.of_source.items() if running and running != name
    }
    unclear = {
        name: f"the minified code does not tell {name} from other variables of its function"
        for name, running in visible.of_source.items()
        if running is None
    }
    for running in visible.running - visible.of_source.keys() - known.keys():
        unclear[running] = (
            f"{running} is a name of the minified code, and several of the source are it"
        )
    return minified_names.minify(code, known, unclear)


def _visible(found: SourceMap, text: str, location: tuple[int, int]) -> _Visible:
    offset = offset_of(text, *location)
    functions = js_scanner.functions(text)
    around = [(each.start, each.end) for each in functions if each.start <= offset < each.end]
    visible = _Visible()
    origin = found.origin(*location)
    every = list(_named(found, text, origin.path if origin is not None else None))
    for start, end in [*reversed(around), (0, len(text) + 1)]:
        inner = [
            (each.start, each.end)
            for each in functions
            if start <= each.start and each.end <= end and (each.start, each.end) != (start, end)
        ]
        _add(visible, _directly_in(every, start, end, inner))
    return visible


def _add(visible: _Visible, own_names: list[_Named]) -> None:
    """Add the variables of the next outer function, which inner ones hide."""
    source_names: dict[str, set[str]] = {}
    unmapped: set[str] = set()
    for _, running, name in own_names:
        if running in visible.running:
            continue
        if name is None:
            unmapped.add(running)
        else:
            source_names.setdefault(running, set()).add(name)
    hidden = set(visible.of_source)
    for running, called in source_names.items():
        for name in called - hidden:
            one = len(called) == 1 and name not in visible.of_source
            visible.of_source[name] = running if one else None
    for running in unmapped - source_names.keys():
        # A map may leave out a name that is the same as in the source.
        visible.of_source.setdefault(running, running)
    visible.running |= source_names.keys() | unmapped


def _directly_in(
    every: list[_Named], start: int, end: int, inner: list[tuple[int, int]]
) -> list[_Named]:
    """Return what is in a range of text and in no function inside it."""
    first = bisect.bisect_left(every, start, key=lambda each: each[0])
    last = bisect.bisect_left(every, end, key=lambda each: each[0])
    own_names: list[_Named] = []
    functions = iter([*inner, (len(every) and every[-1][0] + 1, 0)])
    begin, over = next(functions)
    past = start
    for each in every[first:last]:
        while each[0] >= begin:
            past = max(past, over)
            begin, over = next(functions)
        if each[0] >= past:
            own_names.append(each)
    return own_names


def _named(found: SourceMap, text: str, source: str | None) -> Iterator[_Named]:
    """Yield the names in generated text that come from one source, except fields and keys."""
    starts = line_starts(text)
    mapped_names = {
        starts[line] + column: name
        for (line, column), name in found.names.items()
        if line < len(starts)
    }
    tokens = _tokens(text)
    for index, token in enumerate(tokens):
        if token.kind != "name":
            continue
        before = tokens[index - 1].text if index else ""
        after = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if before in (".", "?.") or (before in ("{", ",") and after == ":"):
            continue
        line = bisect.bisect_right(starts, token.start) - 1
        origin = found.origin(line, token.start - starts[line])
        if origin is not None and origin.path == source:
            yield token.start, token.text, mapped_names.get(token.start)


@lru_cache(maxsize=2)
def _tokens(text: str) -> tuple[js_scanner.JsToken, ...]:
    return tuple(js_scanner.JsText(text).tokens)
