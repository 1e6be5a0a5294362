"""Two sets of variables held against each other. Pure.

Addresses are not values: a pointer that differs from run to run says nothing, what it points to
does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from freezeframe.model.history import Difference
from freezeframe.session.parts import changed_parts

from . import plain
from .codec import RawValue, children_of, is_opaque

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{5,16}\b")
#: Parts of one value that are told one by one.
_PARTS = 6


def settled(raw: RawValue | None) -> str | None:
    """Return a value's text without what differs between two runs of the same program."""
    if raw is None:
        return None
    inner = children_of(raw) if len(raw) > 5 else None
    if inner and (is_opaque(raw) or _ADDRESS.fullmatch(str(raw[1]))):
        return "(" + ", ".join(f"{child[0]}={settled(child)}" for child in inner) + ")"
    text = str(raw[1])
    return _ADDRESS.sub("0x…", text) if "0x" in text else text


def differences(
    a: Mapping[str, RawValue], b: Mapping[str, RawValue]
) -> tuple[list[Difference], list[str]]:
    """Return what differs, by path, and the names of what is the same."""
    found: list[Difference] = []
    equal: list[str] = []
    for name in dict.fromkeys((*a, *b)):
        one, other = a.get(name), b.get(name)
        if settled(one) == settled(other):
            equal.append(name)
        elif one is None or other is None:
            found.append(Difference(name, _text(one), _text(other)))
        else:
            found.extend(_inside(name, one, other))
    return found, equal


def _text(raw: RawValue | None) -> str | None:
    if raw is None:
        return None
    if is_opaque(raw) and children_of(raw):
        return "(" + ", ".join(f"{c[0]}={_text(c)}" for c in children_of(raw)) + ")"
    return str(raw[1])


def _inside(path: str, a: RawValue, b: RawValue) -> list[Difference]:
    """Return the parts that differ, or the whole where there are no parts or too many."""
    whole = [Difference(path, _text(a), _text(b))]
    one, other = children_of(a), children_of(b)
    if one and other:
        first, second = {c[0]: c for c in one}, {c[0]: c for c in other}
        parts: list[Difference] = []
        for name in dict.fromkeys((*first, *second)):
            left, right = first.get(name), second.get(name)
            if settled(left) == settled(right):
                continue
            below = _joined(path, name)
            if left is None or right is None:
                parts.append(Difference(below, _text(left), _text(right)))
            else:
                parts.extend(_inside(below, left, right))
        return parts if 0 < len(parts) <= _PARTS else whole
    if len(str(a[1])) + len(str(b[1])) <= 60:
        return whole
    read = plain.read(a), plain.read(b)
    parts = list(_literal(path, *read))
    if [part.path for part in parts] == [path]:
        parts = [
            Difference(part.name, part.was, None if part.gone else part.text)
            for part in changed_parts(path, str(a[1]), str(b[1]))
            if _ADDRESS.sub("", part.was or "") != _ADDRESS.sub("", part.text)
        ]
    return parts if 0 < len(parts) <= _PARTS else whole


def _literal(path: str, a: Any, b: Any) -> Iterable[Difference]:
    """Yield where two literals differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys((*a, *b)):
            below = f"{path}.{key}" if isinstance(a, plain.Record) else f"{path}[{key!r}]"
            if key not in a or key not in b:
                yield Difference(
                    below,
                    repr(a[key]) if key in a else None,
                    repr(b[key]) if key in b else None,
                )
            elif a[key] != b[key]:
                yield from _literal(below, a[key], b[key])
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple) and type(a) is type(b):
        for index in range(max(len(a), len(b))):
            below = f"{path}[{index}]"
            if index >= len(a) or index >= len(b):
                yield Difference(
                    below,
                    repr(a[index]) if index < len(a) else None,
                    repr(b[index]) if index < len(b) else None,
                )
            elif a[index] != b[index]:
                yield from _literal(below, a[index], b[index])
    else:
        yield Difference(path, plain.text(a), plain.text(b))


def _joined(path: str, name: str) -> str:
    if name.startswith(("[", ".", "->")):
        return path + name
    if name.isdecimal() or name.startswith(("'", '"')):
        return f"{path}[{name}]"
    return f"*{path}" if name.startswith("*") else f"{path}.{name}"
