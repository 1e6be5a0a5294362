"""Changes of the program's objects; the module `_freezeframe_heap`.

Runs inside the traced program and imports nothing of this package. An object is compared with what
it was when it was looked at last; no code of the program runs.
"""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

_log: Any = sys.modules["_freezeframe_log"]
_identities: Any = sys.modules["_freezeframe_identities"]
_values: Any = sys.modules["_freezeframe_values"]

#: new elements of a large container that are recorded
_NEW = 16
ATOMS, SMALL, LIST, DICT, SET, TUPLE, INSTANCE = (
    _identities.ATOMS, _identities.SMALL, _identities.LIST, _identities.DICT, _identities.SET,
    _identities.TUPLE, _identities.INSTANCE,
)  # fmt: skip
identity, kind_of = _identities.identity, _identities.kind_of


def look(value: Any, made: Any, step: int, by_step: int) -> None:
    """Record how the parts of an object changed since it was looked at."""
    shape = made.shape
    if shape == LIST:
        sight = list(map(id, value)) if len(value) <= SMALL else [len(value), id(value[-1])]
    elif shape == INSTANCE:
        how = kind_of(type(value))
        own = how.get_dict(value) if how.get_dict is not None else None
        if type(own) is dict and not how.slots:
            sight = list(map(id, own.values()))
        else:
            own = _fields(value, how, own)
            sight = list(map(id, own.values()))
        if sight != made.sight:
            _compare_instance(own, made, sight, step, by_step)
        return
    elif shape == DICT:
        if len(value) <= SMALL:
            sight = [*map(id, value), *map(id, value.values())]
        else:
            sight = [len(value), id(next(reversed(value)))]
    elif shape == SET:
        sight = list(map(id, value)) if len(value) <= SMALL else [len(value)]
    elif made.parts is None and shape == TUPLE and len(value) <= SMALL:
        sight = None
    else:
        return
    if sight != made.sight or sight is None:
        _compare(value, made, sight, step, by_step)


def _fields(value: Any, how: Any, own: Any) -> dict[str, Any]:
    found = dict(own) if type(own) is dict else {}
    for name, get in how.slots.items():
        try:
            found[name] = get(value)
        except Exception:
            continue
    return found


def _compare_instance(own: Any, made: Any, sight: Any, step: int, by_step: int) -> None:
    named = {"." + name: each for name, each in islice(own.items(), SMALL) if type(name) is str}
    _record(made, named, step, by_step, len(own) > SMALL)
    made.sight = sight


def _compare(value: Any, made: Any, sight: Any, step: int, by_step: int) -> None:
    count = len(value)
    is_partial = count > SMALL
    shape = made.shape
    named: dict[str, Any]
    if shape in (LIST, TUPLE):
        start = max(0, count - _NEW) if is_partial else 0
        named = {f"[{at}]": each for at, each in enumerate(value[start:], start)}
        if is_partial:
            named |= {f"[{at}]": each for at, each in enumerate(value[:2])}
    elif shape == DICT:
        keys = list(islice(reversed(value), _NEW))[::-1] if is_partial else list(value)
        named = {}
        for key in keys:
            if id(type(key)) in ATOMS:
                named[f"[{key!r}]"] = value.get(key) if is_partial else None
            elif not is_partial:
                named[f"[{_values.inner_text(key, 0)}]"] = None
        if not is_partial:
            values = list(value.values())
            named = dict(zip(named, values)) if len(named) == len(values) else {}  # noqa: B905
    else:
        named = {f"{{{_values.inner_text(each, 0)}}}": each for each in islice(value, SMALL)}
    _record(made, named, step, by_step, is_partial)
    made.sight = sight


def _record(made: Any, named: dict[str, Any], step: int, by_step: int, is_partial: bool) -> None:
    """Record the differences between *named* and the parts that are known."""
    old, extend, string = made.parts, _log.records.extend, _log.string
    if old is None:
        old, by_step = {}, 0
    parts = dict(old) if is_partial else {}
    is_flat = not is_partial
    number = made.number
    made.parts = parts  # a cycle must not come here again
    for name, each in named.items():
        if id(type(each)) in ATOMS:
            mark: Any = each
        else:
            mark = identity(each)
            is_flat = False
        before = old.get(name)
        if before is not None and before[0] is mark:
            parts[name] = before
            continue
        index = _values.value_of(each)
        parts[name] = (mark, index)
        was = -1 if before is None else before[1]
        extend((_log.WRITE, step, string(name), index, was, number, -1, by_step))
    if not is_partial:
        for name, before in old.items():
            if name not in parts:
                extend((_log.WRITE, step, string(name), -1, before[1], number, -1, by_step))
    made.is_flat = is_flat
    made.text = -1
    _values.changes[0] += 1


def look_part(owner: Any, name: str, value: Any, step: int, by_step: int) -> None:
    """Record a change of one part of an object that has too many to look at all of them."""
    if owner.parts is None:
        owner.parts = {}
    mark = identity(value)
    before = owner.parts.get(name)
    if before is not None and before[0] is mark:
        return
    index = _values.value_of(value)
    owner.parts[name] = (mark, index)
    was = -1 if before is None else before[1]
    _log.records.extend(
        (_log.WRITE, step, _log.string(name), index, was, owner.number, -1, by_step)
    )
    _values.changes[0] += 1
