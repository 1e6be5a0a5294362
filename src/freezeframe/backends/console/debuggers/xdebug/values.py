"""PHP's values as Xdebug tells them, in one line each, spelled as PHP spells them."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from freezeframe.backends.backend import RawValue

from .dbgp import child, children, text_of

#: characters of a value's line; what is left out is counted
_LINE = 240
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}
_PRIVATE = re.compile(r"\*.*\*")
_IDENTIFIER = re.compile(r"[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*\Z")


def value_of(prop: Element, expression: str | None = None, name: str | None = None) -> RawValue:
    """Return a property as a value; *expression* is what it is, where that has no name."""
    full = _named(prop, "fullname") or expression
    inner = prop.get("children") == "1" and prop.get("numchildren") != "0"
    count = prop.get("numchildren")
    enum = "enum" in (prop.get("facet") or "").split()
    return RawValue(
        name if name is not None else shown_name(prop),
        text(prop),
        type_of(prop),
        1 if inner and full and not enum and prop.get("recursive") != "1" else 0,
        int(count) if count and count.isdigit() and prop.get("type") == "array" else None,
        full,
    )


def shown_name(prop: Element) -> str:
    """Return a property's name: `*Shop\\Base*secret` is `secret`, a static one `::$made`."""
    name = _PRIVATE.sub("", _named(prop, "name"), count=1)
    if "static" in (prop.get("facet") or "").split():
        return f"::${name.removeprefix('::').removeprefix('$')}"
    return name


def members(prop: Element) -> list[Element]:
    return children(prop, "property")


def inner_values(prop: Element, expression: str | None) -> list[RawValue]:
    """Return what a property holds; parts of an unnamed one are named by its *expression*."""
    found = []
    listed = prop.get("type") == "array"
    for each in members(prop):
        key = _named(each, "name")
        name = f"[{_key(key)}]" if listed else shown_name(each)
        within = None
        if expression is not None and not _named(each, "fullname"):
            within = _part(expression, key, each, listed=listed)
        found.append(value_of(each, within, name))
    return found


def type_of(prop: Element) -> str | None:
    kind = prop.get("type")
    return prop.get("classname") if kind == "object" else kind


def text(prop: Element, room: int = _LINE) -> str:
    """Return a value as PHP would write it, as far as it was told and there is room."""
    kind = prop.get("type")
    if kind == "string":
        return _string(prop)
    if kind == "array":
        return _array(prop, room)
    if kind == "object":
        return _object(prop, room)
    if kind == "null":
        return "null"
    held = _content(prop).decode("utf-8", "replace")
    if kind == "bool":
        return "true" if held == "1" else "false"
    if kind == "float" and re.fullmatch(r"-?\d+", held):
        return f"{held}.0"
    return held or kind or ""


def quoted(raw: bytes) -> str:
    """Return bytes as a string of PHP's, in double quotes."""
    try:
        characters = raw.decode("utf-8")
    except UnicodeDecodeError:
        characters = raw.decode("utf-8", "surrogateescape")
    return f'"{"".join(map(_escaped, characters))}"'


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02X}"
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\x{code:02X}" if code < 32 or code == 127 else character


def _string(prop: Element) -> str:
    raw = _content(prop)
    size = int(prop.get("size") or len(raw))
    if size <= len(raw):
        return quoted(raw)
    # Cut between two bytes of one character.
    return f'{quoted(raw.decode("utf-8", "ignore").encode())[:-1]}…" ({size} bytes)'


def _array(prop: Element, room: int) -> str:
    count = int(prop.get("numchildren") or 0)
    there = members(prop)
    if prop.get("recursive") == "1":
        return "*recursion*"
    if not there:
        return "[]" if count == 0 else f"array({count})"
    keys = [_named(each, "name") for each in there]
    listed = keys == [str(number) for number in range(len(keys))]
    parts = (
        ("" if listed else f"{_key(key)} => ", each) for key, each in zip(keys, there, strict=True)
    )
    return f"[{_joined(list(parts), count, room)}]"


def _object(prop: Element, room: int) -> str:
    name = prop.get("classname") or "object"
    there = members(prop)
    facets = (prop.get("facet") or "").split()
    if "enum" in facets:
        case = next((each for each in there if _named(each, "name") == "name"), None)
        held = _content(case).decode("utf-8", "replace") if case is not None else "?"
        return f"{name}::{held}"
    if "closure" in facets:
        return f"{name}({_parameters(there)})"
    if prop.get("recursive") == "1":
        return "*recursion*"
    count = int(prop.get("numchildren") or 0)
    if not there:
        return f"{name} {{}}" if count == 0 else f"{name} {{…}}"
    own = [each for each in there if "static" not in (each.get("facet") or "").split()]
    parts = [(f"{shown_name(each)}: ", each) for each in own]
    return f"{name} {{{_joined(parts, count - (len(there) - len(own)), room)}}}"


def _parameters(there: list[Element]) -> str:
    named = next((each for each in there if _named(each, "name") == "parameter"), None)
    return ", ".join(_named(each, "name") for each in members(named)) if named is not None else ""


def _joined(parts: list[tuple[str, Element]], count: int, room: int) -> str:
    said: list[str] = []
    length = 0
    for prefix, each in parts:
        piece = prefix + text(each, max(room // 2, 20))
        if said and length + len(piece) > room:
            break
        said.append(piece)
        length += len(piece) + 2
    left = count - len(said)
    return ", ".join(said) + (f", … +{left}" if left > 0 else "")


def _key(name: str) -> str:
    if re.fullmatch(r"-?(0|[1-9]\d*)", name):
        return name
    return quoted(name.encode("utf-8", "surrogateescape"))


def _part(expression: str, key: str, prop: Element, *, listed: bool) -> str | None:
    """Return an expression for a part of what has no name; None for what only a class sees."""
    simple = re.fullmatch(r"[$\w\[\]\"'>-]+", expression)
    whole = expression if simple else f"({expression})"
    if listed:
        return f"{whole}[{_literal(key)}]"
    facets = (prop.get("facet") or "").split()
    if "public" in facets and "static" not in facets and _IDENTIFIER.match(key):
        return f"{whole}->{key}"
    return None


def _literal(key: str) -> str:
    if re.fullmatch(r"-?(0|[1-9]\d*)", key):
        return key
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def literal(prop: Element) -> str | None:
    """Return an expression that makes the same value; None where there is none, or too much."""
    kind = prop.get("type")
    if kind == "null":
        return "null"
    if kind == "string":
        raw = _content(prop)
        if int(prop.get("size") or 0) > len(raw):
            return None
        return "'" + _single(raw) + "'"
    if kind in ("int", "bool", "float"):
        held = text(prop)
        return {"INF": "\\INF", "-INF": "-\\INF", "NAN": "\\NAN"}.get(held, held)
    if kind != "array" or int(prop.get("numchildren") or 0) != len(members(prop)):
        return None
    parts = []
    for each in members(prop):
        made = literal(each)
        if made is None:
            return None
        parts.append(f"{_literal(_named(each, 'name'))} => {made}")
    return f"[{', '.join(parts)}]"


def _single(raw: bytes) -> str:
    characters = raw.decode("utf-8", "surrogateescape")
    return characters.replace("\\", "\\\\").replace("'", "\\'")


def _named(prop: Element, name: str) -> str:
    """Return a name, which is encoded where it has odd bytes."""
    plain = prop.get(name)
    if plain is not None:
        return plain
    encoded = child(prop, name)
    return "" if encoded is None else text_of(encoded).decode("utf-8", "surrogateescape")


def name_of(prop: Element) -> str:
    return _named(prop, "name")


def _content(prop: Element) -> bytes:
    held = child(prop, "value")
    return text_of(prop if held is None else held)
