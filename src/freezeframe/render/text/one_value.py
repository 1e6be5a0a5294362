"""One value on one line: its text or its fields, what changed in it by path, its children."""

from __future__ import annotations

import re

from freezeframe.model.values import Value
from freezeframe.render.page import Line, Tone
from freezeframe.render.words import (
    LEAST_LINE,
    around_difference,
    clip,
    elided,
    head_of,
    number,
    plural,
    size,
)

#: A change of a container is shown whole up to this many characters, else by its changed parts.
_SHORT = 60
#: What a gap must save at least: one that says how much is missing is nearly as long itself.
_SPARED = 24
#: Changed parts of one value that are told one by one.
_FEW = 4
#: what a container's text begins with: `[`, `deque([`, `Map(2) {`; not what its first element does
_OPENING = re.compile(
    r"(?:\[[\w.$]+: null prototype\] |[\w.$*-]+(?:\(\d+\))? (?=[\[{]))?"
    r"(?:[\w.]+(?P<call>\())?(?P<open>[(\[{]?)"
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


def worth(value: Value, chars: int, width: int) -> int:
    """Return the bytes that *value* is worth: a few more than *chars* where that spares a gap."""
    narrow, wide = min(width, chars), min(width, chars + _SPARED)
    spares = elided(assigned(value, narrow, mark=False)) and not elided(
        assigned(value, wide, mark=False)
    )
    return wide if spares else narrow
