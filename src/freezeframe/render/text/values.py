"""Values: the variables of scopes, one line each, and what `print` shows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from freezeframe.model.answers import Evaluated, Variables
from freezeframe.model.stops import Frame
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.render.budget import Capped, Fixed, Listing, Resizable, Section
from freezeframe.render.formatting import clip, file_line, number, one_line, plural, size
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, via, wrapped_in
from .one_value import assigned, changes, right_side, tree, worth
from .output import output_sections
from .truncated_values import cut_in_scopes, cut_in_value

# --- scopes -------------------------------------------------------------------------------------

#: kind of scope → noun for one of its values, and the command that lists them
_NOUNS = {
    ScopeKind.ARGUMENTS: ("argument", "args"),
    ScopeKind.LOCALS: ("local", "locals"),
    ScopeKind.GLOBALS: ("global", "globals"),
    ScopeKind.REGISTERS: ("register", "registers"),
}
#: kinds whose commands take --range
_PAGED = (ScopeKind.LOCALS, ScopeKind.GLOBALS)


def _more(
    scope: Scope, positions: Sequence[int], shown: int, view: View, option: str
) -> str | None:
    """Return the line about missing values once *shown* of those at *positions* are shown."""
    missing = len(positions) - shown + scope.more
    if not missing:
        return None
    word, command = _NOUNS.get(scope.kind, ("value", None))
    hint = f"dbg {command} {view.more}" if command else view.more
    if scope.kind in _PAGED:
        start = positions[shown] if shown < len(positions) else len(scope.values)
        stop = len(scope.values) + scope.more
        hint = f"dbg {command}{option} --range {start + scope.start}:{stop + scope.start}"
    return f"… {number(missing)} more {word if missing == 1 else word + 's'} ({hint})"


def changed_values(scopes: Sequence[Scope], rank: int, *, show_type: bool = False) -> list[Section]:
    """Return the section of values that changed since the last stop here, with their paths."""
    found = [part for scope in scopes for value in scope.values for part in changes(value)]
    found += [(value.name, value) for scope in scopes for value in scope.gone]
    if not found:
        return []

    def item(index: int, width: int) -> list[Line]:
        path, value = found[index]
        text = assigned(value, width, name=path, show_type=show_type)
        return [Line(f"* {text}", Tone.CHANGED)]

    def more(shown: int) -> str | None:
        missing = len(found) - shown
        return f"… {number(missing)} more changed (dbg locals)" if missing else None

    return [Listing(rank, len(found), item, more)]


def unchanged_values(
    scopes: Sequence[Scope],
    rank: int,
    view: View,
    *,
    names_only: bool,
    show_type: bool = False,
) -> list[Section]:
    """Return the sections of unchanged values; with *names_only* one line of names."""
    sections: list[Section] = []
    for scope in scopes:
        positions = [i for i, value in enumerate(scope.values) if not changes(value)]
        if names_only:
            sections.extend(_names(scope, positions, rank))
            continue
        if positions or scope.more:
            listing = _listing(scope, positions, rank, view, mark=False, show_type=show_type)
            sections.append(listing)
        sections.extend(_definitions(scope, rank))
    return sections


def _definitions(scope: Scope, rank: int) -> list[Section]:
    if not scope.definitions:
        return []
    hint = f"dbg {_NOUNS.get(scope.kind, ('', 'locals'))[1]} --all"
    text = f"… {plural(scope.definitions, 'definition')}: functions, classes, modules ({hint})"
    return [Fixed(rank, (Line(text, Tone.QUIET),))]


def _names(scope: Scope, positions: Sequence[int], rank: int) -> list[Section]:
    if not positions:
        return []
    names = ", ".join(one_line(scope.values[i].name) for i in positions)
    text = f"  unchanged: {names}"
    return [Resizable(rank, lambda limit: [Line(clip(text, min(limit, 120) - 1), Tone.QUIET)], 41)]


def _listing(
    scope: Scope,
    positions: Sequence[int],
    rank: int,
    view: View,
    *,
    mark: bool,
    titled: bool = False,
    option: str = "",
    show_type: bool = False,
) -> Listing:
    def item(index: int, width: int) -> list[Line]:
        value = scope.values[positions[index]]
        if not mark:
            width = worth(value, view.value_chars, width)
        parts = changes(value) if mark else []
        star = "* " if parts else "  "
        tone = Tone.CHANGED if parts else Tone.VALUE
        # Changed parts are listed, so the whole needs no mark.
        inside = bool(parts) and all(part is not value for _, part in parts)
        text = assigned(value, width, show_type=show_type, mark=mark and not inside)
        lines = [Line(star + text, tone)]
        for path, part in parts:
            if part is not value:
                lines.append(Line(f"  * {assigned(part, width, name=path)}", Tone.CHANGED))
        return lines

    titled = titled or scope.kind in (ScopeKind.GLOBALS, ScopeKind.REGISTERS, ScopeKind.OTHER)
    kind, of, function = one_line(scope.name).partition(" of ")
    head = (Line(f"{kind.lower()}{of}{function}:", Tone.HEAD),) if titled else ()

    def more(shown: int) -> str | None:
        return _more(scope, positions, shown, view, option)

    return Listing(rank, len(positions), item, more, head=head)


# --- answers ------------------------------------------------------------------------------------


def in_frame(frame: Frame, cwd: str | None, *, arguments: bool = False) -> str:
    """Return `app.py:22 in total`, as far as known; with *arguments* `… in total(n=3)`."""
    function = clip(frame.function, 60) if frame.function else ""
    if arguments and frame.arguments is not None:
        function += f"({clip(one_line(frame.arguments), 100)})"
    if frame.path is None and (frame.address or frame.module):
        where = " ".join(one_line(part) for part in (frame.address, frame.module) if part)
        where = clip(where, 80)
    else:
        where = file_line(frame.path, frame.line, cwd)
    if function and frame.optimized:
        function += " [optimized]"
    return f"{where} in {function}" if function else where


@renders(Variables)
def _variables(answer: Variables, view: View) -> list[Section]:
    sections: list[Section] = []
    filled = [scope for scope in answer.scopes if scope.values or scope.more]
    if answer.frame.index and filled:
        sections.append(headline(f"{in_frame(answer.frame, view.cwd)}:", Tone.HEAD))
    if not filled:
        kinds = [scope.kind for scope in answer.scopes]
        kind = ScopeKind.LOCALS if ScopeKind.LOCALS in kinds else next(iter(kinds), None)
        noun = _NOUNS[kind][0] if kind in _NOUNS else "value"
        sections.append(headline(f"no {noun}s in {answer.frame.function or 'this frame'}"))
    for rank, scope in enumerate(filled, 1):
        everything = range(len(scope.values))
        option = " --all" if answer.all else ""
        listing = _listing(
            scope,
            everything,
            rank,
            view,
            mark=True,
            titled=len(filled) > 1,
            option=option,
            show_type=answer.show_type,
        )
        if len(filled) == 1:
            listing = Listing(rank, listing.count, listing.item, listing.more)
        sections.append(listing)
        sections.extend(_definitions(scope, rank))
    sections.extend(cut_in_scopes(answer.scopes, view, len(filled) + 1, marked=True))
    return [*sections, *next_step(answer.next), *via(answer.via)]


@renders(Evaluated)
def _evaluated(answer: Evaluated, view: View) -> list[Section]:
    value = answer.value
    name = clip(answer.expression, 60) if answer.expression else value.name
    sections: list[Section] = []
    listed = _has_levels(value) and not (answer.brief and _fits(value))
    if answer.range is not None and (value.children or value.has_children or not value.text):
        sections.extend(_page(answer, name))
    elif answer.range is not None:
        # A slice of what has no children: text, bytes.
        sections.append(_whole(answer, f"{name}[{answer.range[0]}:{answer.range[1]}]", cap=None))
    elif not value.text and not value.type and not value.children:
        sections.append(headline("done: it has no value"))
    elif listed:
        sections.append(_whole(answer, name, cap=160))
        sections.append(_children(answer, rank=2))
    else:
        sections.append(_whole(answer, name, cap=None))
    if answer.frame is not None and answer.frame.index:
        text = f"in frame {answer.frame.index}: {in_frame(answer.frame, view.cwd)}"
        sections.append(Capped(wrapped_in(4, text, Tone.QUIET), 240))
    sections += [wrapped_in(1, f"note: {note}", Tone.QUIET) for note in answer.notes]
    sections.extend(output_sections(answer.output, 3, view.limit // 3))
    if answer.range is None and not answer.next:
        sections.extend(cut_in_value(answer, view, 4, listed=listed))
    return [*sections, *next_step(answer.next), *via(answer.via)]


def _has_levels(value: Value) -> bool:
    """Whether the value has levels that its own line does not show."""
    inner = any(child.children for child in value.children)
    return bool(value.children) and (not value.opaque or inner)


def _fits(value: Value) -> bool:
    """Whether one line shows the whole value."""
    return "…" not in right_side(value, 160)


def _whole(answer: Evaluated, name: str, *, cap: int | None) -> Section:
    value = answer.value

    def make(limit: int) -> list[Line]:
        room = limit - 1 if cap is None else min(limit - 1, cap)
        text = assigned(value, room, name=name, show_type=answer.show_type)
        if cap is None and value.count and "…" in text and answer.range is None:
            step, unit = (100, "item") if value.has_children else (2000, "character")
            hint = _print_range(answer.expression, 0, min(value.count, step))
            more = f"… {plural(value.count, unit)} ({hint})"
            room -= size(more) + 1
            text = assigned(value, room, name=name, show_type=answer.show_type)
            return [Line(text, Tone.VALUE), Line(more, Tone.QUIET)]
        return [Line(text, Tone.VALUE)]

    return Resizable(1, make, 170)


def _print_range(expression: str, start: int, stop: int) -> str:
    quoted = shlex.quote(one_line(expression)) if len(expression) <= 60 else "EXPR"
    return f"dbg print {quoted} --range {start}:{stop}"


def _children(answer: Evaluated, rank: int) -> Section:
    value = answer.value

    def item(index: int, width: int) -> list[Line]:
        child = value.children[index]
        line = Line(f"  {assigned(child, width - 2, mark=False)}", Tone.VALUE)
        if child.opaque and not any(grandchild.children for grandchild in child.children):
            return [line]
        return [line, *tree(child, 4, width, None if answer.depth is None else answer.depth - 1)]

    first = answer.range[0] if answer.range else 0
    stop = first + len(value.children)
    if answer.range is None and value.count is not None:
        stop = max(stop, value.count)

    def more(shown: int) -> str | None:
        missing = stop - first - shown
        if not missing:
            return None
        hint = _print_range(answer.expression, first + shown, stop)
        return f"  … {number(missing)} more ({hint})"

    return Listing(rank, len(value.children), item, more)


def _page(answer: Evaluated, name: str) -> list[Section]:
    value, (start, stop) = answer.value, answer.range or (0, 0)
    stop = min(stop, start + len(value.children)) if value.children else stop
    of = f" of {number(value.count)}" if value.count is not None else ""
    type_ = f": {value.type}" if answer.show_type and value.type else ""
    head = headline(f"{name}{type_} [{start}:{stop}]{of}", Tone.HEAD)
    if not value.children:
        return [headline(f"{name}{type_} [{start}:{stop}]{of}: nothing there", Tone.HEAD)]
    return [head, _children(answer, rank=1)]
