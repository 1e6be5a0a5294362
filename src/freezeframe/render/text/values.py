"""Values: one line each, changes by their path, children indented."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from freezeframe.model.answers import Evaluated, Variables
from freezeframe.model.stops import Frame
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.render.budget import Capped, Elastic, Fixed, Listing, Section
from freezeframe.render.page import Line, Tone, View
from freezeframe.render.words import (
    LEAST_LINE,
    around_difference,
    clip,
    elided,
    head_of,
    number,
    one_line,
    place,
    plural,
    size,
)

from ._table import headline, next_step, renders, via, wrapped_in
from .output import output_sections

#: A change of a container is shown whole up to this many characters, else by its changed parts.
_SHORT = 60
#: What a gap must save at least: one that says how much is missing is nearly as long itself.
_SPARED = 24
#: Changed parts of one value that are told one by one.
_FEW = 4
#: what a container's text begins with: `[`, `deque([`, `Map(2) {`; not what its first element does
_OPENING = re.compile(
    r"(?:[\w.$*-]+(?:\(\d+\))? (?=[\[{]))?(?:[\w.]+(?P<call>\())?(?P<open>[(\[{]?)"
)
#: what nests and what parts; an escaped quote ends no string
_BRACKETS = re.compile(r"\\.|[(\[{}\])'\"]|, ")
_CLOSED_BY = str.maketrans("([{", ")]}")
_TYPE_IN_TEXT = re.compile(r"<?(?:class )?([\w.$:]+)")


# --- one value ----------------------------------------------------------------------------------


_POINTER = re.compile(r"0x[0-9a-f]+")
_INDEX = re.compile(r"\d+|\[\d+\]")
_RUST_POINTER = re.compile(r"^(?:&(?:mut )?|\*(?:mut|const) )+(?=\w)")
#: what stands before the last word of a name, and its parameters: `std::vec::Vec<u8>` is a Vec
_QUALIFIED = re.compile(r"^(?:const |struct |class |union )?(?:[\w$]+(?:::|\.))*([\w$]+)(?:<.*>)?$")


def right_side(value: Value, limit: int) -> str:
    """Return what stands right of `name =`: never empty, at most *limit* bytes."""
    if value.failed:
        return f"<cannot be shown: {clip(value.text or 'no reason given', limit - 20)}>"
    if value.opaque and value.children:
        return _composed(value, limit)
    if not value.text:
        return f"<{clip(value.type, limit - 10)}, no text>" if value.type else "<no text>"
    if value.has_children and value.count and len(value.text) > limit:
        return _counted(value.text, value.count, limit)
    return clip(value.text, limit)


def _counted(text: str, count: int, limit: int) -> str:
    """Return `[0, 1, 2, … 500 items]`: the first elements, and how many there are."""
    opening = _OPENING.match(text)
    opened = (opening["call"] or "") + opening["open"] if opening else ""
    closing = opened[::-1].translate(_CLOSED_BY)
    end = f", … {plural(count, 'item')}{closing}"
    head = head_of(text, max(limit, LEAST_LINE) - size(end))
    whole = head[: _last_comma(head, opening.end() if opening else 0)]
    # An element that is longer than all the room is elided by itself.
    return whole + end if len(whole) > len(head) // 2 else clip(text, limit)


def _last_comma(text: str, start: int) -> int:
    """Return where the last `, ` is that stands between two elements; 0 without."""
    depth, last, quote = 0, 0, ""
    for found in _BRACKETS.finditer(text, start):
        mark = found[0]
        if quote:
            quote = "" if mark == quote else quote
        elif mark in ("'", '"'):
            quote = mark
        elif mark == ", ":
            last = last if depth else found.start()
        elif len(mark) == 1:
            depth += 1 if mark in "([{" else -1
    return last


def _composed(value: Value, limit: int) -> str:
    """Return `Account(id=1, owner='Bo', …+3)`: an object by its fields."""
    head, tail = f"{clip(_type_name(value), 40)}(", ")"
    if _POINTER.fullmatch(value.text):
        # A pointer is its address, and what it points to is worth seeing.
        head = f"{value.text} {head}"
        if len(value.children) == 1 and value.children[0].name.startswith(("*", "&")):
            return f"{value.text} -> {right_side(value.children[0], limit - size(value.text) - 4)}"
    total = value.count if value.count is not None else len(value.children)
    # Whole where it fits; else no part may take the room of all the others.
    for widest in (limit, max(24, min(60, limit // 3))):
        room = limit - size(head) - size(f", …+{number(total)}{tail}")
        parts: list[str] = []
        for child in value.children:
            part = _part(child, widest)
            room -= size(part) + 2
            if room < 0:
                break
            parts.append(part)
        left = max(total, len(value.children)) - len(parts)
        if not left:
            break
    if not parts and _POINTER.fullmatch(value.text):
        return value.text
    if left > 0:
        parts.append(f"…+{number(left)}")
    return f"{head}{', '.join(parts)}{tail}"


def _part(child: Value, limit: int) -> str:
    if not _INDEX.fullmatch(child.name):
        return f"{clip(child.name, 40)}={right_side(child, limit)}"
    if child.opaque and [each.name for each in child.children] == ["first", "second"]:
        key, mapped = child.children
        return f"{right_side(key, limit // 2)}: {right_side(mapped, limit // 2)}"
    return right_side(child, limit)


def _type_name(value: Value) -> str:
    name = value.type
    if not name and (found := _TYPE_IN_TEXT.match(value.text)):
        name = found[1]
    name = re.sub(r"(?:[ *&]|\b(?:const|volatile)\b)+$", "", name or "object")
    name = _RUST_POINTER.sub("", name)
    if name.startswith("(") or "{" in name:
        return ""  # a closure, or another type without a name
    short = _QUALIFIED.match(name)
    return short[1] if short else name


def assigned(
    value: Value, limit: int, *, name: str | None = None, show_type: bool = False, mark: bool = True
) -> str:
    """Return `name = value`; for one that changed `name = value (was old)`."""
    left = clip(value.name if name is None else name, max(limit // 2, 60))
    if show_type and value.type:
        left = f"{left}: {clip(value.type, 60)}"
    room = limit - size(left) - 3
    if value.gone:
        return f"{left} is gone (was {clip(value.was or '<no text>', room - 12)})"
    if value.more_parts and not value.text:
        return f"{left}: {plural(value.more_parts, 'more change')}"
    if not (mark and value.changed):
        return f"{left} = {right_side(value, room)}"
    if value.was is None:
        return f"{left} = {right_side(value, room - 6)} (new)"
    if value.failed or value.was == value.text or (value.opaque and value.was.startswith("<")):
        return f"{left} = {right_side(value, room - 10)} (changed)"
    new, old = _new_and_old(value, value.was or "<no text>", room - 7)
    return f"{left} = {new or '<no text>'} (was {old})"


def _new_and_old(value: Value, was: str, room: int) -> tuple[str, str]:
    """Return both texts within *room* bytes together; what one does not need, the other has."""
    if value.opaque:
        old = clip(was, room // 3)
        return right_side(value, room - size(old)), old
    new, old = around_difference(value.text, was, room // 2)
    if size(value.text) <= room // 2:
        new = clip(value.text, room)
        old = clip(was, room - size(new))
    elif size(was) <= room // 2:
        old = clip(was, room)
        new = clip(value.text, room - size(old))
    return new, old


def changes(value: Value, path: str | None = None) -> list[tuple[str, Value]]:
    """Return what changed in *value*: itself, or those of its parts that did, by their paths."""
    path = value.name if path is None else path
    parts = [(part.name, part) for part in value.parts[:_FEW]]
    if more := value.more_parts + max(0, len(value.parts) - _FEW):
        parts.append((path, Value(path, "", changed=True, more_parts=more)))
    parts += [
        part
        for child in value.children
        for part in changes(child, child.expression or _joined(path, child.name))
    ]
    if value.changed and (not parts or _says_itself(value)):
        # An object's own words need not show what changed in it.
        return [(path, value), *parts] if value.text.startswith("<") else [(path, value)]
    return parts


def _says_itself(value: Value) -> bool:
    return (
        not value.opaque
        and value.was is not None
        and value.was != value.text
        and len(value.text) + len(value.was) <= _SHORT
    )


def _joined(path: str, name: str) -> str:
    if name.startswith(("[", ".", "->")):
        return path + name
    if name.isdecimal() or name.startswith(("'", '"', "(", "b'", 'b"')):
        return f"{path}[{name}]"
    return f"*{path}" if name.startswith("*") else f"{path}.{name}"


def tree(value: Value, indent: int, width: int, levels: int | None = None) -> list[Line]:
    """Return the children of *value*, indented, each with its own below it: so many levels."""
    pad = " " * indent
    lines: list[Line] = []
    below = None if levels is None else levels - 1
    for child in value.children if levels is None or levels > 0 else ():
        lines.append(Line(pad + assigned(child, width - indent, mark=False), Tone.VALUE))
        if not child.opaque or any(grandchild.children for grandchild in child.children):
            lines.extend(tree(child, indent + 2, width, below))
    return lines


# --- scopes -------------------------------------------------------------------------------------

#: kind → what one of its values is called, and the command that lists them
_WORDS = {
    ScopeKind.ARGUMENTS: ("argument", "args"),
    ScopeKind.LOCALS: ("local", "locals"),
    ScopeKind.GLOBALS: ("global", "globals"),
    ScopeKind.REGISTERS: ("register", "registers"),
}
#: kinds of which there can be so many that their commands page
_PAGED = (ScopeKind.LOCALS, ScopeKind.GLOBALS)


def _more(
    scope: Scope, positions: Sequence[int], shown: int, view: View, option: str
) -> str | None:
    """Return what is missing once *shown* of the values at *positions* are shown."""
    missing = len(positions) - shown + scope.more
    if not missing:
        return None
    word, command = _WORDS.get(scope.kind, ("value", None))
    hint = f"dbg {command} {view.more}" if command else view.more
    if scope.kind in _PAGED:
        start = positions[shown] if shown < len(positions) else len(scope.values)
        stop = len(scope.values) + scope.more
        hint = f"dbg {command}{option} --range {start + scope.start}:{stop + scope.start}"
    return f"… {number(missing)} more {word if missing == 1 else word + 's'} ({hint})"


def changed_values(scopes: Sequence[Scope], rank: int) -> list[Section]:
    """Return the section of what changed since the last stop here: marked, by path."""
    found = [part for scope in scopes for value in scope.values for part in changes(value)]
    found += [(value.name, value) for scope in scopes for value in scope.gone]
    if not found:
        return []

    def item(index: int, width: int) -> list[Line]:
        path, value = found[index]
        return [Line(f"* {assigned(value, width, name=path)}", Tone.CHANGED)]

    def more(shown: int) -> str | None:
        missing = len(found) - shown
        return f"… {number(missing)} more changed (dbg locals)" if missing else None

    return [Listing(rank, len(found), item, more)]


def unchanged_values(
    scopes: Sequence[Scope], rank: int, view: View, *, names_only: bool
) -> list[Section]:
    """Return the sections of what stayed as it was; with *names_only* one line of names."""
    sections: list[Section] = []
    for scope in scopes:
        positions = [i for i, value in enumerate(scope.values) if not changes(value)]
        if names_only:
            sections.extend(_names(scope, positions, rank))
            continue
        if positions or scope.more:
            sections.append(_listing(scope, positions, rank, view, mark=False))
        sections.extend(_definitions(scope, rank))
    return sections


def _definitions(scope: Scope, rank: int) -> list[Section]:
    if not scope.definitions:
        return []
    hint = f"dbg {_WORDS.get(scope.kind, ('', 'locals'))[1]} --all"
    words = f"… {plural(scope.definitions, 'definition')}: functions, classes, modules ({hint})"
    return [Fixed(rank, (Line(words, Tone.QUIET),))]


def _names(scope: Scope, positions: Sequence[int], rank: int) -> list[Section]:
    if not positions:
        return []
    names = ", ".join(one_line(scope.values[i].name) for i in positions)
    text = f"  unchanged: {names}"
    return [Elastic(rank, lambda limit: [Line(clip(text, min(limit, 120) - 1), Tone.QUIET)], 41)]


def _worth(value: Value, chars: int, width: int) -> int:
    """Return the bytes that *value* is worth: a few more than *chars* where that spares a gap."""
    narrow, wide = min(width, chars), min(width, chars + _SPARED)
    spares = elided(assigned(value, narrow, mark=False)) and not elided(
        assigned(value, wide, mark=False)
    )
    return wide if spares else narrow


def _listing(
    scope: Scope,
    positions: Sequence[int],
    rank: int,
    view: View,
    *,
    mark: bool,
    titled: bool = False,
    option: str = "",
) -> Listing:
    def item(index: int, width: int) -> list[Line]:
        value = scope.values[positions[index]]
        if not mark:
            width = _worth(value, view.value_chars, width)
        parts = changes(value) if mark else []
        star = "* " if parts else "  "
        tone = Tone.CHANGED if parts else Tone.VALUE
        # What its parts tell need not be told of the whole.
        inside = bool(parts) and all(part is not value for _, part in parts)
        lines = [Line(star + assigned(value, width, mark=mark and not inside), tone)]
        for path, part in parts:
            if part is not value:
                lines.append(Line(f"  * {assigned(part, width, name=path)}", Tone.CHANGED))
        return lines

    titled = titled or scope.kind in (ScopeKind.GLOBALS, ScopeKind.REGISTERS, ScopeKind.OTHER)
    head = (Line(f"{one_line(scope.name).lower()}:", Tone.HEAD),) if titled else ()

    def more(shown: int) -> str | None:
        return _more(scope, positions, shown, view, option)

    return Listing(rank, len(positions), item, more, head=head)


# --- answers ------------------------------------------------------------------------------------


def in_frame(frame: Frame, cwd: str | None, *, arguments: bool = False) -> str:
    """Return `app.py:22 in total`, or what is known of it; with *arguments* `… in total(n=3)`."""
    function = clip(frame.function, 60) if frame.function else ""
    if arguments and frame.arguments is not None:
        function += f"({clip(one_line(frame.arguments), 100)})"
    if frame.path is None and (frame.address or frame.module):
        where = " ".join(one_line(part) for part in (frame.address, frame.module) if part)
        where = clip(where, 80)
    else:
        where = place(frame.path, frame.line, cwd)
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
        words = _WORDS[kind][0] if kind in _WORDS else "value"
        sections.append(headline(f"no {words}s in {answer.frame.function or 'this frame'}"))
    for rank, scope in enumerate(filled, 1):
        everything = range(len(scope.values))
        option = " --all" if answer.all else ""
        listing = _listing(
            scope, everything, rank, view, mark=True, titled=len(filled) > 1, option=option
        )
        if len(filled) == 1:
            listing = Listing(rank, listing.count, listing.item, listing.more)
        sections.append(listing)
        sections.extend(_definitions(scope, rank))
    return [*sections, *next_step(answer.next), *via(answer.via)]


@renders(Evaluated)
def _evaluated(answer: Evaluated, view: View) -> list[Section]:
    value = answer.value
    name = clip(answer.expression, 60) if answer.expression else value.name
    sections: list[Section] = []
    if answer.range is not None and (value.children or value.has_children or not value.text):
        sections.extend(_page(answer, name))
    elif answer.range is not None:
        # A slice of what has no children: text, bytes.
        sections.append(_whole(answer, f"{name}[{answer.range[0]}:{answer.range[1]}]", cap=None))
    elif not value.text and not value.type and not value.children:
        sections.append(headline("done: it has no value"))
    elif _has_levels(value) and not (answer.brief and _fits(value)):
        sections.append(_whole(answer, name, cap=160))
        sections.append(_children(answer, rank=2))
    else:
        sections.append(_whole(answer, name, cap=None))
    if answer.frame is not None and answer.frame.index:
        words = f"in frame {answer.frame.index}: {in_frame(answer.frame, view.cwd)}"
        sections.append(Capped(wrapped_in(4, words, Tone.QUIET), 240))
    sections.extend(output_sections(answer.output, 3, view.limit // 3))
    return [*sections, *next_step(answer.next), *via(answer.via)]


def _has_levels(value: Value) -> bool:
    """Whether there is more below it than its own line is made of."""
    inner = any(child.children for child in value.children)
    return bool(value.children) and (not value.opaque or inner)


def _fits(value: Value) -> bool:
    """Whether one line shows all of it."""
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

    return Elastic(1, make, 170)


def _print_range(expression: str, start: int, stop: int) -> str:
    spelled = shlex.quote(one_line(expression)) if len(expression) <= 60 else "EXPR"
    return f"dbg print {spelled} --range {start}:{stop}"


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
