"""What changed between two looks at the same variables. Pure.

Only what really changed is marked: a value whose text holds no more than an address is judged
by its children, and a new object with the same contents is not a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from freezeframe.model.values import Value


def mark(now: Iterable[Value], before: Mapping[str, Value] | None) -> tuple[Value, ...]:
    """Return *now* with the values marked that differ from *before*.

    Without a *before* nothing is marked: at the first look everything is new.
    """
    if before is None:
        return tuple(now)
    return tuple(_marked(value, before.get(value.name)) for value in now)


def _marked(now: Value, before: Value | None) -> Value:
    if before is None:
        return replace(now, changed=True, was=None)
    if now.children and before.children and now.type == before.type:
        children = mark(now.children, {child.name: child for child in before.children})
        gone = len(before.children) > len(now.children)
        if any(child.changed for child in children):
            return replace(now, children=children, changed=True, was=before.text)
        if not gone and (now.opaque or now.text == before.text):
            return now
    if now.text != before.text or now.type != before.type:
        return replace(now, changed=True, was=before.text)
    return now


def by_name(values: Iterable[Value]) -> dict[str, Value]:
    return {value.name: value for value in values}
