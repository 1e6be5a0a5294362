"""Values as Xdebug sends them, formatted in one line of PHP syntax each."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from freezeframe.backends.backend import RawValue

from .dbgp import child, children, text_of

#: characters of a value's line; omitted parts are counted
_LINE = 240
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}
_PRIVATE = re.compile(r"\*.*\*")
_IDENTIFIER = re.compile(r"[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*\Z")


def value_of(prop: Element, expression: str | None = None, name: str | None = None) -> RawValue:
    """Return a property as a value; *expression* evaluates to it if it has no name."""
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
    """Return the children of a property; *expression* evaluates to an unnamed one."""
    found = []
    listed = prop.get("type") == "array"
    for each in members(prop):
        key = _named(each, "name")
        name = f"[{_key(key)}]" if listed else shown_name(each)
        child_expression = None
        if expression is not None and not _named(each, "fullname"):
            child_expression = _part(expression, key, each, listed=listed)
        found.append(value_of(each, child_expression, name))
    return found


def type_of(prop: Element) -> str | None:
    kind = prop.get("type")
    return prop.get("classname") if kind == "object" else kind


def text(prop: Element, room: int = _LINE) -> str:
    """Return a value in PHP syntax, as far as it was sent and there is room."""
    kind = prop.get("type")
    if kind == "string":
        return _string(prop)
    if kind == "array":
        return _array(prop, room)
    if kind == "object":
        return _object(prop, room)
    if kind == "null":
        return "null"
    content = _content(prop).decode("utf-8", "replace")
    if kind == "bool":
        return "true" if content == "1" else "false"
    if kind == "float" and re.fullmatch(r"-?\d+", content):
        return f"{content}.0"
    return content or kind or ""


def quoted(raw: bytes) -> str:
    """Return bytes as a PHP string in double quotes."""
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
    # The limit may have split a character: drop its bytes.
    return f'{quoted(raw.decode("utf-8", "ignore").encode())[:-1]}…" ({size} bytes)'


def _array(prop: Element, room: int) -> str:
    count = int(prop.get("numchildren") or 0)
    present = members(prop)
    if prop.get("recursive") == "1":
        return "*recursion*"
    if not present:
        return "[]" if count == 0 else f"array({count})"
    keys = [_named(each, "name") for each in present]
    listed = keys == [str(number) for number in range(len(keys))]
    parts = (
        ("" if listed else f"{_key(key)} => ", each)
        for key, each in zip(keys, present, strict=True)
    )
    return f"[{_joined(list(parts), count, room)}]"


def _object(prop: Element, room: int) -> str:
    name = prop.get("classname") or "object"
    present = members(prop)
    facets = (prop.get("facet") or "").split()
    if "enum" in facets:
        case = next((each for each in present if _named(each, "name") == "name"), None)
        # Xdebug sends no case at the limit of its depth.
        content = _content(case).decode("utf-8", "replace") if case is not None else "…"
        return f"{name}::{content}"
    if "closure" in facets:
        return f"{name}{_parameters(present)}"
    if prop.get("recursive") == "1":
        return "*recursion*"
    count = int(prop.get("numchildren") or 0)
    if not present:
        return f"{name} {{}}" if count == 0 else f"{name} {{…}}"
    instance = [each for each in present if "static" not in (each.get("facet") or "").split()]
    parts = [(f"{shown_name(each)}: ", each) for each in instance]
    return f"{name} {{{_joined(parts, count - (len(present) - len(instance)), room)}}}"


def _parameters(present: list[Element]) -> str:
    """Return a closure's parameters in parentheses; nothing if Xdebug does not send them.

    Xdebug sends none at the stop of an exception, and none for a closure without parameters.
    """
    named = next((each for each in present if _named(each, "name") == "parameter"), None)
    if named is None:
        return ""
    names = ", ".join(_named(each, "name") for each in members(named))
    return f"({names or '…'})"


def _joined(parts: list[tuple[str, Element]], count: int, room: int) -> str:
    shown: list[str] = []
    length = 0
    for prefix, each in parts:
        piece = prefix + text(each, max(room // 2, 20))
        if shown and length + len(piece) > room:
            break
        shown.append(piece)
        length += len(piece) + 2
    left = count - len(shown)
    return ", ".join(shown) + (f", … +{left}" if left > 0 else "")


def _key(name: str) -> str:
    if re.fullmatch(r"-?(0|[1-9]\d*)", name):
        return name
    return quoted(name.encode("utf-8", "surrogateescape"))


def _part(expression: str, key: str, prop: Element, *, listed: bool) -> str | None:
    """Return an expression for a child of an unnamed value; None for a non-public one."""
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
    """Return an expression that evaluates to a copy; None if there is none, or parts are
    missing.
    """
    kind = prop.get("type")
    if kind == "null":
        return "null"
    if kind == "string":
        raw = _content(prop)
        if int(prop.get("size") or 0) > len(raw):
            return None
        return "'" + _single(raw) + "'"
    if kind in ("int", "bool", "float"):
        content = text(prop)
        return {"INF": "\\INF", "-INF": "-\\INF", "NAN": "\\NAN"}.get(content, content)
    if kind != "array" or int(prop.get("numchildren") or 0) != len(members(prop)):
        return None
    parts = []
    for each in members(prop):
        value = literal(each)
        if value is None:
            return None
        parts.append(f"{_literal(_named(each, 'name'))} => {value}")
    return f"[{', '.join(parts)}]"


def _single(raw: bytes) -> str:
    characters = raw.decode("utf-8", "surrogateescape")
    return characters.replace("\\", "\\\\").replace("'", "\\'")


def _named(prop: Element, name: str) -> str:
    """Return a name, which is an encoded child element if it has unusual bytes."""
    plain = prop.get(name)
    if plain is not None:
        return plain
    encoded = child(prop, name)
    return "" if encoded is None else text_of(encoded).decode("utf-8", "surrogateescape")


def name_of(prop: Element) -> str:
    return _named(prop, "name")


def _content(prop: Element) -> bytes:
    content = child(prop, "value")
    return text_of(prop if content is None else content)
