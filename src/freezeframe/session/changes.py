"""What changed between two looks at the same variables. Pure.

Only what really changed is marked: a value whose text holds no more than an address is judged
by its children, and a new object with the same contents is not a change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from freezeframe.model.values import Value

from .parts import changed_parts


def mark(
    now: Iterable[Value], before: Mapping[str, Value] | None, joint: str = "."
) -> tuple[Value, ...]:
    """Return *now* with the values marked that differ from *before*.

    Without a *before* nothing is marked: at the first look everything is new. *joint* stands
    between a value and a field of it.
    """
    if before is None:
        return tuple(now)
    found = []
    for value in now:
        then = before.get(key(value)) or before.get(value.name)
        if then is not None and _is_outer(value, then):
            found.append(value)  # seen again behind one of its name that was in an inner block
        elif then is not None and _is_inner(value, then):
            found.append(_marked(value, None, value.name, joint))
        else:
            found.append(_marked(value, then, value.name, joint))
    return tuple(found)


def key(value: Value) -> str:
    """Return what tells a variable from others of its name."""
    return value.name if value.declared is None else f"{value.name}\n{value.declared}"


def remembered(now: Iterable[Value], before: Mapping[str, Value] | None) -> dict[str, Value]:
    """Return what later looks are compared with: *now*, and what is hidden by one of its name."""
    there = by_name(now)
    hidden = {
        at: value
        for at, value in (before or {}).items()
        if value.declared is not None and value.name in there and at == key(value)
    }
    return {**hidden, **there, **{key(value): value for value in there.values()}}


def _is_outer(now: Value, then: Value) -> bool:
    """Whether it is the variable of a block around that of another one of its name."""
    if then.declared is None:
        return False
    return now.declared is None or now.declared < then.declared


def _is_inner(now: Value, then: Value) -> bool:
    if now.declared is None:
        return False
    return then.declared is None or now.declared > then.declared


def gone(now: Iterable[Value], before: Mapping[str, Value] | None) -> tuple[Value, ...]:
    """Return what was there *before* and is not now."""
    names = {value.name for value in now}
    return tuple(
        Value(name, "", changed=True, was=value.text, gone=True)
        for name, value in (before or {}).items()
        if name == value.name and name not in names
    )


def _marked(now: Value, before: Value | None, path: str, joint: str) -> Value:
    if before is None:
        return replace(now, changed=True, was=None)
    if now.children and before.children and now.type == before.type:
        then = by_name(before.children)
        children = tuple(
            _marked(child, then.get(child.name), child.expression or child.name, joint)
            for child in now.children
        )
        lost = gone(now.children, then)
        if _is_union(now) and any(child.changed for child in children):
            # One write changes what every member is read as: which was written, nobody knows.
            return replace(now, changed=True, was=_members(before) or before.text)
        if lost or any(child.changed for child in children):
            return replace(now, children=children, changed=True, was=before.text)
        if now.opaque or now.text == before.text:
            return now
    if now.type != before.type:
        return replace(now, changed=True, was=before.text)
    if now.text != before.text:
        inside: tuple[Value, ...] = ()
        if now.has_children:
            inside = changed_parts(path, before.text, now.text, joint)
        return replace(now, changed=True, was=before.text, parts=inside)
    return now


def _is_union(value: Value) -> bool:
    """Whether members lie upon each other, by the type's own word or by their addresses."""
    if re.match(r"(const |volatile )*union\b", value.type or ""):
        return True
    places = [child.address for child in value.children]
    return len(places) > 1 and None not in places and len(set(places)) == 1


def _members(value: Value) -> str:
    return ", ".join(f"{child.name}={child.text}" for child in value.children)


def by_name(values: Iterable[Value]) -> dict[str, Value]:
    return {value.name: value for value in values}
