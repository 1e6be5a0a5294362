"""What changed between two looks at the same variables. Pure.

Only what really changed is marked: a value whose text holds no more than an address is judged
by its children, and a new object with the same contents is not a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from freezeframe.model.values import Value

#: Reads the elements of a container from its text; none where they cannot be told.
Parts = Callable[[str], Sequence[tuple[str, str]]]

#: A container of which more elements than this changed is told as a whole.
_FEW = 3


def mark(
    now: Iterable[Value],
    before: Mapping[str, Value] | None,
    parts: Parts = lambda text: (),
) -> tuple[Value, ...]:
    """Return *now* with the values marked that differ from *before*.

    Without a *before* nothing is marked: at the first look everything is new. A container that
    only has its text gets those elements as children that *parts* shows to have changed.
    """
    if before is None:
        return tuple(now)
    return tuple(_marked(value, before.get(value.name), parts) for value in now)


def _marked(now: Value, before: Value | None, parts: Parts) -> Value:
    if before is None:
        return replace(now, changed=True, was=None)
    if now.children and before.children and now.type == before.type:
        children = mark(now.children, by_name(before.children), parts)
        gone = len(before.children) > len(now.children)
        if any(child.changed for child in children):
            return replace(now, children=children, changed=True, was=before.text)
        if not gone and (now.opaque or now.text == before.text):
            return now
    if now.text != before.text or now.type != before.type:
        changed = _changed_parts(now, before, parts) if now.type == before.type else ()
        return replace(now, children=changed or now.children, changed=True, was=before.text)
    return now


def _changed_parts(now: Value, before: Value, parts: Parts) -> tuple[Value, ...]:
    """Return the elements that changed, when they are few, others stayed, and none is gone."""
    if now.opaque or now.children:
        return ()
    old = {name: Value(name, text) for name, text in parts(before.text)}
    new = [Value(name, text) for name, text in parts(now.text)]
    if not old or not old.keys() <= {value.name for value in new}:
        return ()
    changed = tuple(value for value in mark(new, old, parts) if value.changed)
    return changed if len(changed) <= _FEW and len(changed) < len(new) else ()


def by_name(values: Iterable[Value]) -> dict[str, Value]:
    return {value.name: value for value in values}
