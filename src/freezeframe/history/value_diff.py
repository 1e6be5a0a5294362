"""Compare two sets of recorded variables. Pure.

Addresses are ignored: pointers differ from run to run, so only what they point to is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from freezeframe.model.history import Difference
from freezeframe.session.value_text_diff import diff_value_text

from . import recorded_values
from .codec import RawValue, children_of, is_opaque

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{5,16}\b")
#: Differing parts of one value that are listed one by one.
_MAX_PARTS = 6


def normalized(raw: RawValue | None) -> str | None:
    """Return a value's text without addresses, which differ between runs."""
    if raw is None:
        return None
    inner = children_of(raw) if len(raw) > 5 else None
    if inner and (is_opaque(raw) or _ADDRESS.fullmatch(str(raw[1]))):
        return "(" + ", ".join(f"{child[0]}={normalized(child)}" for child in inner) + ")"
    text = str(raw[1])
    return _ADDRESS.sub("0x…", text) if "0x" in text else text


def differences(
    a: Mapping[str, RawValue], b: Mapping[str, RawValue]
) -> tuple[list[Difference], list[str]]:
    """Return what differs, by path, and the names of what is equal."""
    found: list[Difference] = []
    equal: list[str] = []
    for name in dict.fromkeys((*a, *b)):
        one, other = a.get(name), b.get(name)
        if normalized(one) == normalized(other):
            equal.append(name)
        elif one is None or other is None:
            found.append(Difference(name, _text(one), _text(other)))
        else:
            found.extend(_part_differences(name, one, other))
    return found, equal


def _text(raw: RawValue | None) -> str | None:
    if raw is None:
        return None
    if is_opaque(raw) and children_of(raw):
        return "(" + ", ".join(f"{c[0]}={_text(c)}" for c in children_of(raw)) + ")"
    return str(raw[1])


def _part_differences(path: str, a: RawValue, b: RawValue) -> list[Difference]:
    """Return the parts that differ, or the whole value if there are none or too many."""
    whole = [Difference(path, _text(a), _text(b))]
    one, other = children_of(a), children_of(b)
    if one and other:
        first, second = {c[0]: c for c in one}, {c[0]: c for c in other}
        parts: list[Difference] = []
        for name in dict.fromkeys((*first, *second)):
            left, right = first.get(name), second.get(name)
            if normalized(left) == normalized(right):
                continue
            below = _child_path(path, name)
            if left is None or right is None:
                parts.append(Difference(below, _text(left), _text(right)))
            else:
                parts.extend(_part_differences(below, left, right))
        return parts if 0 < len(parts) <= _MAX_PARTS else whole
    if len(str(a[1])) + len(str(b[1])) <= 60:
        return whole
    read = recorded_values.read(a), recorded_values.read(b)
    parts = list(_literal_differences(path, *read))
    if [part.path for part in parts] == [path]:
        parts = [
            Difference(part.name, part.was, None if part.gone else part.text)
            for part in diff_value_text(path, str(a[1]), str(b[1]))
            if _ADDRESS.sub("", part.was or "") != _ADDRESS.sub("", part.text)
        ]
    return parts if 0 < len(parts) <= _MAX_PARTS else whole


def _literal_differences(path: str, a: Any, b: Any) -> Iterable[Difference]:
    """Yield where two literals differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys((*a, *b)):
            below = f"{path}.{key}" if isinstance(a, recorded_values.Record) else f"{path}[{key!r}]"
            if key not in a or key not in b:
                yield Difference(
                    below,
                    repr(a[key]) if key in a else None,
                    repr(b[key]) if key in b else None,
                )
            elif a[key] != b[key]:
                yield from _literal_differences(below, a[key], b[key])
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
                yield from _literal_differences(below, a[index], b[index])
    else:
        yield Difference(path, recorded_values.text(a), recorded_values.text(b))


def _child_path(path: str, name: str) -> str:
    if name.startswith(("[", ".", "->")):
        return path + name
    if name.isdecimal() or name.startswith(("'", '"')):
        return f"{path}[{name}]"
    return f"*{path}" if name.startswith("*") else f"{path}.{name}"
