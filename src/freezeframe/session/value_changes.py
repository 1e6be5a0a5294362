"""Mark what changed between two views of the same variables. Pure.

Only real changes are marked: a value whose text is only an address is compared by its children,
and a new object with the same contents is not a change. A variable that is not initialized yet is
never marked; its first value is new.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from freezeframe.model import late_regex
from freezeframe.model.values import ENTRY, PERHAPS_UNSET, UNSET, Value, child_path

from .value_text_diff import diff_value_text

_UNSET = (UNSET, PERHAPS_UNSET)


def mark(
    now: Iterable[Value], before: Mapping[str, Value] | None, joint: str = "."
) -> tuple[Value, ...]:
    """Return *now* with the values marked that differ from *before*.

    Without *before* nothing is marked: in the first view everything is new. *joint* separates a
    value from its field.
    """
    if before is None:
        return tuple(now)
    found = []
    for value in now:
        then = before.get(key(value)) or before.get(value.name)
        if then is not None and _is_outer(value, then):
            found.append(
                value
            )  # visible again: an inner variable of the same name went out of scope
        elif then is not None and _is_inner(value, then):
            found.append(_marked(value, None, value.name, joint))
        else:
            found.append(_marked(value, then, value.name, joint))
    return tuple(found)


def key(value: Value) -> str:
    """Return a key that distinguishes variables of the same name."""
    return value.name if value.declared is None else f"{value.name}\n{value.declared}"


def snapshot(now: Iterable[Value], before: Mapping[str, Value] | None) -> dict[str, Value]:
    """Return the values to compare with later: *now*, and variables shadowed by the same name."""
    there = by_name(now)
    hidden = {
        at: value
        for at, value in (before or {}).items()
        if value.declared is not None and value.name in there and at == key(value)
    }
    return {**hidden, **there, **{key(value): value for value in there.values()}}


def _is_outer(now: Value, then: Value) -> bool:
    """Whether *now* belongs to a block around that of *then*, which has the same name."""
    if then.declared is None:
        return False
    return now.declared is None or now.declared < then.declared


def _is_inner(now: Value, then: Value) -> bool:
    if now.declared is None:
        return False
    return then.declared is None or now.declared > then.declared


def gone(now: Iterable[Value], before: Mapping[str, Value] | None) -> tuple[Value, ...]:
    """Return the variables of *before* that are not in *now*."""
    names = {value.name for value in now}
    return tuple(
        Value(name, "", changed=True, was=full_text(value), gone=True)
        for name, value in (before or {}).items()
        if name == value.name and name not in names and value.text not in _UNSET
    )


def _marked(now: Value, before: Value | None, path: str, joint: str) -> Value:
    if now.text in _UNSET:
        return now
    if before is None or before.text in _UNSET:
        return replace(now, changed=True, was=None)
    keyed = _by_key(now, before, path, joint)
    if keyed is not None:
        return keyed
    if now.children and before.children and now.type == before.type:
        then = by_name(before.children)
        children = tuple(
            _marked(
                child, then.get(child.name), child.expression or child_path(path, child.name), joint
            )
            for child in now.children
        )
        lost = gone(now.children, then)
        if _is_union(now) and any(child.changed for child in children):
            # One write changes every member: which one was written is unknown.
            return replace(now, changed=True, was=_members(before) or before.text)
        grown = now.count != before.count and None not in (now.count, before.count)
        if lost or grown or any(child.changed for child in children):
            return replace(now, children=children, changed=True, was=before.text)
        if now.opaque or now.text == before.text:
            return now
    if now.type != before.type:
        return replace(now, changed=True, was=before.text)
    if now.text != before.text:
        inside: tuple[Value, ...] = ()
        if now.has_children:
            inside = diff_value_text(path, before.text, now.text, joint)
        return replace(now, changed=True, was=before.text, parts=inside)
    return now


def _by_key(now: Value, before: Value, path: str, joint: str) -> Value | None:
    """Return a map or a set with changes marked; None for other values.

    Entries are matched by key, not by position: a new entry moves others.
    """
    if now.type != before.type or not now.children or not before.children:
        return None
    current, then = _entries(now), _entries(before)
    if current is None or then is None:
        return _as_set(now, before)
    parts = []
    # In a partly fetched map, entries may only have moved into or out of the fetched part.
    whole = _is_whole(now) and _is_whole(before)
    for key, value in current.items():
        entry = replace(value, name=f"{path}[{key}]", expression=None)
        if key in then:
            parts.append(_marked(entry, then[key], entry.name, joint))
        elif whole:
            parts.append(replace(entry, changed=True, was=None))
    if whole:
        parts += [
            Value(f"{path}[{key}]", "", changed=True, was=value.text or _members(value), gone=True)
            for key, value in then.items()
            if key not in current
        ]
    changed = tuple(part for part in parts if part.changed)
    if not changed and now.count == before.count:
        return now
    return replace(now, changed=True, was=before.text, parts=changed)


def _entries(value: Value) -> dict[str, Value] | None:
    """Return the values of a map by the texts of its keys; None if it is not a map."""
    found = {}
    for child in value.children:
        if child.name.startswith(ENTRY):
            found[child.name.removeprefix(ENTRY)] = child
            continue
        if [each.name for each in child.children] != ["first", "second"]:
            return None
        key, mapped = child.children
        if key.opaque or not key.text:
            return None
        found[key.text] = mapped
    return found if len(found) == len(value.children) else None


_SET = late_regex.compile(r"(?:\b|_)(?:multi)?set<|\b(?:Hash|BTree)Set<")


def _as_set(now: Value, before: Value) -> Value | None:
    if _SET.search((now.type or "").split("<")[0] + "<") is None:
        return None
    if any(child.opaque or not child.text for child in (*now.children, *before.children)):
        return None
    current, then = (sorted(child.text for child in each.children) for each in (now, before))
    if current == then and now.count == before.count:
        return now
    elements = ", ".join(child.text for child in before.children)
    more = "" if _is_whole(before) else ", …"
    return replace(now, changed=True, was=f"{{{elements}{more}}}")


def _is_whole(value: Value) -> bool:
    return value.count is None or value.count <= len(value.children)


def _is_union(value: Value) -> bool:
    """Whether members share one address, by the type's name or by their addresses."""
    if re.match(r"(const |volatile )*union\b", value.type or ""):
        return True
    addresses = [child.address for child in value.children]
    return len(addresses) > 1 and None not in addresses and len(set(addresses)) == 1


def _members(value: Value) -> str:
    return ", ".join(f"{child.name}={child.text}" for child in value.children)


def full_text(value: Value) -> str:
    """Return a value's text; of a value whose text does not show its children, with them."""
    if not value.opaque or not value.children:
        return value.text
    children = ", ".join(f"{child.name}={full_text(child)}" for child in value.children)
    pointer = f"{value.text} " if value.text.startswith("0x") else ""
    return f"{pointer}{value.type or ''}({children})"


def by_name(values: Iterable[Value]) -> dict[str, Value]:
    return {value.name: value for value in values}
