"""One value on one line: its text or fields, its changes by path, its children."""

from __future__ import annotations

import re

from freezeframe.model import late_regex
from freezeframe.model.values import ENTRY, Value, child_path
from freezeframe.render.formatting import (
    LEAST_LINE,
    around_difference,
    clip,
    elided,
    head_of,
    number,
    plural,
    size,
)
from freezeframe.render.styled_lines import Line, Tone

#: A changed container up to this many characters is shown whole, otherwise by its changed parts.
_SHORT = 60
#: Bytes that an elision must save: the text that counts what is missing is nearly as long.
_SPARED = 24
#: Maximum of changed parts of one value that are listed.
_FEW = 4
#: beginning of a container's text: `[`, `deque([`, `Map(2) {`; not the brackets of its elements
_OPENING = late_regex.compile(
    r"(?:\[[\w.$]+: null prototype\] |[\w.$*-]+(?:\(\d+\))? (?=[\[{]))?"
    r"(?:[\w.]+(?P<call>\())?(?P<open>[(\[{]?)"
)
#: brackets, quotes and separators; an escaped quote does not end a string
_BRACKETS = late_regex.compile(r"\\.|[(\[{}\])'\"]|, ")
_CLOSED_BY = str.maketrans("([{", ")]}")
_TYPE_IN_TEXT = late_regex.compile(r"<?(?:class )?([\w.$:]+)")


# --- one value ----------------------------------------------------------------------------------


_POINTER = late_regex.compile(r"0x[0-9a-f]+")
_INDEX = late_regex.compile(r"\d+|\[\d+\]")
_RUST_POINTER = late_regex.compile(r"^(?:&(?:mut )?|\*(?:mut|const) )+(?=\w)")
#: the last part of a type's name, without its parameters: `std::vec::Vec<u8>` is a Vec
_QUALIFIED = late_regex.compile(
    r"^(?:const |struct |class |union )?(?:[\w$]+(?:::|\.))*([\w$]+)(?:<.*>)?$"
)


def right_side(value: Value, limit: int) -> str:
    """Return the text after `name =`: never empty, at most *limit* bytes."""
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
    # An element that does not fit is elided itself.
    return whole + end if len(whole) > len(head) // 2 else clip(text, limit)


def _last_comma(text: str, start: int) -> int:
    """Return the index of the last `, ` between two elements; 0 if there is none."""
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
    if value.type is None and _is_entry(value):
        return _entry(value, limit)
    head, tail = f"{clip(_type_name(value), 40)}(", ")"
    if _POINTER.fullmatch(value.text):
        # Show a pointer's address and its target.
        head = f"{value.text} {head}"
        if len(value.children) == 1 and value.children[0].name.startswith(("*", "&")):
            return f"{value.text} -> {right_side(value.children[0], limit - size(value.text) - 4)}"
    total = value.count if value.count is not None else len(value.children)
    # Whole if it fits; otherwise each part gets a share of the width.
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
    if child.name.startswith(ENTRY):
        return f"{clip(child.name.removeprefix(ENTRY), 40)}: {right_side(child, limit)}"
    if not _INDEX.fullmatch(child.name):
        return f"{clip(child.name, 40)}={right_side(child, limit)}"
    return _entry(child, limit) if _is_entry(child) else right_side(child, limit)


def _is_entry(value: Value) -> bool:
    return value.opaque and [each.name for each in value.children] == ["first", "second"]


def _entry(value: Value, limit: int) -> str:
    key, mapped = value.children
    return f"{right_side(key, limit // 2)}: {right_side(mapped, limit // 2)}"


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
    """Return `name = value`; if it changed, `name = value (was old)`."""
    left = clip(value.name if name is None else name, max(limit // 2, 60))
    if show_type and value.type:
        left = f"{left}: {clip(value.type, 60)}"
    room = limit - size(left) - 3
    if value.gone:
        return f"{left} is gone (was {clip(value.was or '<no text>', room - 12)})"
    if value.more_parts and not value.text:
        where = " inside" if value.opaque else ""
        noun = "change" if value.opaque else "more change"
        return f"{left}: {plural(value.more_parts, noun)}{where}"
    if not (mark and value.changed):
        return f"{left} = {right_side(value, room)}"
    if value.same_change_as is not None:
        reason = f"(same change as {clip(value.same_change_as, 40)})"
        return f"{left} = {right_side(value, min(room - size(reason), 60))} {reason}"
    if value.was is None:
        return f"{left} = {right_side(value, room - 6)} (new)"
    if value.failed or value.was == value.text or (value.opaque and value.was.startswith("<")):
        return f"{left} = {right_side(value, room - 10)} (changed)"
    new, old = _new_and_old(value, value.was or "<no text>", room - 7)
    return f"{left} = {new or '<no text>'} (was {old})"


def _new_and_old(value: Value, was: str, room: int) -> tuple[str, str]:
    """Return both texts within *room* bytes together; a short one leaves more to the other."""
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
    """Return the changes in *value*: itself, or its changed parts, with their paths."""
    path = value.name if path is None else path
    parts = [found for part in value.parts[:_FEW] for found in changes(part)]
    if more := value.more_parts + max(0, len(value.parts) - _FEW):
        # Opaque: no part is listed.
        parts.append((path, Value(path, "", changed=True, more_parts=more, opaque=not parts)))
    parts += [
        part
        for child in value.children
        for part in changes(child, child.expression or child_path(path, child.name))
    ]
    if value.changed and (not parts or _is_short_change(value)):
        # The text of an object need not show what changed in it.
        return [(path, value), *parts] if value.text.startswith("<") else [(path, value)]
    return parts


def _is_short_change(value: Value) -> bool:
    return (
        not value.opaque
        and value.was is not None
        and value.was != value.text
        and len(value.text) + len(value.was) <= _SHORT
    )


def tree(value: Value, indent: int, width: int, levels: int | None = None) -> list[Line]:
    """Return the children of *value* as an indented tree of at most *levels* levels."""
    pad = " " * indent
    lines: list[Line] = []
    below = None if levels is None else levels - 1
    for child in value.children if levels is None or levels > 0 else ():
        lines.append(Line(pad + assigned(child, width - indent, mark=False), Tone.VALUE))
        if not child.opaque or any(grandchild.children for grandchild in child.children):
            lines.extend(tree(child, indent + 2, width, below))
    return lines


def worth(value: Value, chars: int, width: int) -> int:
    """Return the bytes to show of *value*: a few more than *chars* if that avoids an elision."""
    narrow, wide = min(width, chars), min(width, chars + _SPARED)
    spares = elided(assigned(value, narrow, mark=False)) and not elided(
        assigned(value, wide, mark=False)
    )
    return wide if spares else narrow
