"""Values in a trace, and what objects contain; the module `_freezeframe_values`.

Runs inside the traced program and imports nothing of this package. The text of an object is
composed by the reader, from its parts: they are written when the object is seen first, and after
that only what changed. No code of the program runs.
"""

from __future__ import annotations

import sys
from itertools import compress, islice
from operator import ne
from typing import Any

_objects: Any = sys.modules["_freezeframe_objects"]
_text: Any = sys.modules["_freezeframe_text"]
_log: Any = sys.modules["_freezeframe_log"]
_identities: Any = sys.modules["_freezeframe_identities"]

#: characters of a value's text
_LIMIT = 160
#: characters of a string whose text is cached
_SHORT = 200
#: characters of a string that are recorded: where two texts begin to differ decides a chain
_LONG = 480
#: new elements of a large container that are recorded
_NEW = 16
#: how deep objects are looked at when they are seen first, and how many at once
_DEPTH, _AT_ONCE = 2, 60
ATOMS, SMALL = _identities.ATOMS, _identities.SMALL
LIST, TUPLE, DICT, SET, FIELDS, OPAQUE, FIXED, NAMESPACE = range(8)
known_of, kind_of, fields_of = _identities.known_of, _identities.kind_of, _identities.fields_of
get_known, MISSING = _identities.get_known, _identities.MISSING
_extend, _WRITE, _SNAP = _log.records.extend, _log.WRITE, _log.SNAP
_get_int, _get_str, _get_float = _log.ints.get, _log.strs.get, _log.floats.get


class Looking:
    """How deep, and how many, objects that are seen first are looked at now."""

    __slots__ = ("by_step", "count", "depth", "now", "untraced")

    def __init__(self) -> None:
        self.depth = 0
        self.count = 0
        #: 1: the line that is settled makes them, by a display
        self.by_step = 0
        #: the moment since which no code has run that may change objects, but for the
        #: assignments of lines that are recorded
        self.now = 0
        #: how often lines have run code that may not be traced
        self.untraced = 0


First = Looking()  # an object: setting variables of a class is slow


def value_of(value: Any, step: int) -> Any:
    """Return the index of a value in the trace's table.

    An object that is seen first is recorded with what it contains, as seen in *step*.
    """
    kind = type(value)
    if kind is int:
        found = _get_int(value)
        return found if found is not None else _new_int(value)
    if kind is str:
        found = _get_str(value)
        return found if found is not None else _new_str(value)
    if value is None:
        return _log.none()
    if kind is float:
        found = _get_float(value) if value else None
        return found if found is not None else _new_float(value)
    if kind is bool:
        return _log.value("True" if value else "False", "bool", -1)
    made = get_known(id(value))
    if made is None:
        made = known_of(value)
        if made is None:
            return _log.value(show(value), _objects.name_of(kind), -1)
    if made.value < 0:
        return _new_object(value, made, step)
    if made.seen < First.now and First.depth < _DEPTH:
        _look_again(value, made, step)
    return made.value


def _look_again(value: Any, made: Any, step: int) -> None:
    """Look at an object that is recorded again: code that is not traced may have changed it, and
    its text is composed from what is known of it.
    """
    if First.depth == 0:
        First.count = 0
    if First.count >= _AT_ONCE:
        return
    made.seen = First.now
    First.depth += 1
    First.count += 1
    try:
        look(value, made, step, 0)
        if made.shape != FIELDS:
            look_inside(value, made, step, 0)
    finally:
        First.depth -= 1


def look_inside(value: Any, made: Any, step: int, by_step: int) -> None:
    """Look at the elements of a container."""
    elements = _elements(value, made)
    if ATOMS.issuperset(map(id, map(type, elements))):
        return
    now = First.now
    for each in elements:
        found = get_known(id(each))
        if found is not None and found.seen < now:
            found.seen = now
            look(each, found, step, by_step)


def _elements(value: Any, made: Any) -> Any:
    """Return the first elements of a container, or the fields of an object."""
    if made.shape == FIELDS:
        return list(islice(fields_of(value, made.kind).values(), SMALL))
    if made.shape == DICT:
        return list(islice(dict.values(value), SMALL))
    return list(islice(made.kind.base.__iter__(value), SMALL))


def _new_int(value: int) -> Any:
    found = _log.value(repr(value) if value.bit_length() < 400 else show(value), "int", -1)
    if len(_log.ints) < 200_000:
        _log.ints[value] = found
    return found


def _new_float(value: float) -> Any:
    found = _log.value(repr(value), "float", -1)
    # Both zeros are the same key.
    if value and len(_log.floats) < 200_000:
        _log.floats[value] = found
    return found


def _new_str(value: str) -> Any:
    if len(value) > _SHORT:
        text = repr(value) if len(value) <= _LONG else repr(value[:_LONG])[:-1] + "…"
        return _log.value(text, "str", -1)
    found = _log.value(repr(value), "str", -1)
    if len(_log.strs) < 200_000:
        _log.strs[value] = found
    return found


def _new_object(value: Any, made: Any, step: int) -> Any:
    shape = made.shape
    if shape in (OPAQUE, FIXED):
        kind = made.kind
        if kind.is_plain and (not kind.is_zoned or value.tzinfo is None):
            text = elided(repr(value))
        else:
            text = show(value)
        index = _log.value(text, kind.name, made.number)
        if shape == FIXED:
            made.value = index
            if not kind.is_weak:
                _identities.held_values[index] = made
        return index
    made.value = index = _log.composed(made.kind.name, made.number)
    if not made.kind.is_weak:
        _identities.held_values[index] = made
    if made.sight is None and shape != NAMESPACE:
        if First.depth == 0:
            First.count = 0
        if First.depth < _DEPTH and First.count < _AT_ONCE:
            First.depth += 1
            First.count += 1
            try:
                made.seen = First.now
                look(value, made, step, First.by_step)
            finally:
                First.depth -= 1
    return index


def elided(text: str) -> str:
    return text if len(text) <= _LIMIT else text[: _LIMIT - 1] + "…"


def show(value: Any) -> str:
    """Return the text of a value that is not composed by the reader."""
    try:
        return elided(_text.show(value, _LIMIT))
    except Exception:
        return f"<{_objects.name_of(type(value))}>"


# --- what objects contain -----------------------------------------------------------------------


def look(value: Any, made: Any, step: int, by_step: int) -> None:
    """Record how the parts of an object changed since it was looked at, by *step* or not."""
    shape = made.shape
    if shape == FIELDS:
        held = made.get_dict(value) if made.get_dict is not None else None
        if type(held) is not dict:
            held = fields_of(value, made.kind)
        sight = list(map(id, held.values()))
        if sight != made.sight:
            _compare(made, list(held), list(held.values()), sight, step, by_step)
    elif shape == LIST:
        base = list if type(value) is list else made.kind.base
        if base.__len__(value) > SMALL:
            _look_at_large(value, made, base.__len__(value), step, by_step)
            return
        sight = list(map(id, base.__iter__(value)))
        if sight != made.sight:
            _compare(made, None, list(base.__iter__(value)), sight, step, by_step)
    elif shape == DICT:
        count = dict.__len__(value)
        if count > SMALL:
            _look_at_large(value, made, count, step, by_step)
            return
        sight = list(map(id, dict.values(value)))
        if sight != made.sight or made.keys is None or count != len(made.keys):
            _compare(made, _keys_of(value, made), list(dict.values(value)), sight, step, by_step)
    elif shape == TUPLE:
        if made.sight is None:
            held = list(islice(tuple.__iter__(value), SMALL))
            is_cut = tuple.__len__(value) > SMALL
            _snapshot(made, None, held, list(map(id, held)), step, by_step, is_cut)
    elif shape == SET:
        base = made.kind.base
        held = list(islice(base.__iter__(value), SMALL))
        sight = list(map(id, held))
        if sight != made.sight:
            _compare_set(made, held, sight, base.__len__(value) > SMALL, step, by_step)


def look_at_field(value: Any, made: Any, key: str, step: int) -> None:
    """Record the change of the one field that a line has assigned."""
    sight, keys = made.sight, made.keys
    held = made.get_dict(value) if made.get_dict is not None and made.shape == FIELDS else None
    if sight is None or type(held) is not dict or not 0 <= len(held) - len(sight) <= 1:
        look(value, made, step, 1)
        return
    new = held.get(key, MISSING)
    if new is MISSING or (key in keys) != (len(held) == len(sight)):
        look(value, made, step, 1)
        return
    kept = new if id(type(new)) in ATOMS else None
    if len(held) == len(sight):
        at = keys.index(key)
        if sight[at] == id(new):
            return
        sight[at], made.keep[at] = id(new), kept
        was, made.values[at] = made.values[at], value_of(new, step)
    else:
        was, at = -1, len(sight)
        made.values.append(value_of(new, step))
        sight.append(id(new))
        made.keep.append(kept)
        keys.append(key)
    write(made, _field(made, key), made.values[at], was, step, 1)


def _keys_of(value: Any, made: Any) -> Any:
    """Return the names of the elements of a dictionary."""
    keys = list(dict.keys(value))
    before = made.atoms
    made.atoms = keys if ATOMS.issuperset(map(id, map(type, keys))) else None
    if before is not None and made.atoms is not None and made.keys is not None:
        # Atoms are compared by C; 1 and True are the same key.
        if keys == before:
            return made.keys
        if keys[: len(before)] == before:
            return made.keys + [_key(each) for each in keys[len(before) :]]
    return [_key(each) for each in keys]


def _key(key: Any) -> str:
    """Return a key of a dictionary as the language writes it."""
    if type(key) is str:
        found = _keys.get(key)
        if found is None:
            found = f"[{elided(repr(key))}]"
            if len(_keys) < 100_000:
                _keys[key] = found
        return found
    if id(type(key)) in ATOMS:
        return f"[{elided(repr(key))}]"
    known = _identities.known_or_weak(key)
    if known is None:
        return f"[{show(key)}]"
    if known.as_key is None:
        known.as_key = f"[{show(key)}]"
    return str(known.as_key)


_keys: dict[str, str] = {}


def _snapshot(
    made: Any, keys: Any, held: Any, sight: Any, step: int, by_step: int, is_cut: bool
) -> None:
    """Record what an object contains that is seen first."""
    made.sight, made.keys = sight, keys
    made.keep = [each if id(type(each)) in ATOMS else None for each in held]
    made.values = found = [value_of(each, step) for each in held]
    if keys is None:
        _extend((_SNAP, step, by_step, made.number, made.shape, len(found), is_cut, 0, *found))
        return
    names = [_log.string(each) for each in keys]
    _extend(
        (_SNAP, step, by_step, made.number, made.shape, len(found), is_cut, len(names),
         *found, *names)
    )  # fmt: skip


def _compare(made: Any, keys: Any, held: Any, sight: Any, step: int, by_step: int) -> None:
    """Record the differences between the parts of an object and those that are known."""
    before, known = made.sight, made.keys
    if before is None:
        _snapshot(made, keys, held, sight, step, by_step, False)
        return
    shared = len(before)
    if keys is not None and keys[:shared] != known:
        _compare_by_key(made, keys, held, sight, step, by_step)
        return
    values, keep = made.values, made.keep
    made.sight, made.keys = sight, keys
    count = len(sight)
    for at in compress(range(count), map(ne, before, sight)):
        each = held[at]
        keep[at] = each if id(type(each)) in ATOMS else None
        was, values[at] = values[at], value_of(each, step)
        name = _element(at) if keys is None else _field(made, keys[at])
        write(made, name, values[at], was, step, by_step)
    for at in range(shared, count):
        each = held[at]
        keep.append(each if id(type(each)) in ATOMS else None)
        index = value_of(each, step)
        values.append(index)
        name = _element(at) if keys is None else _field(made, keys[at])
        write(made, name, index, -1, step, by_step)
    if count < shared:
        for at in range(count, shared):
            write(made, _element(at), -1, values[at], step, by_step)
        del values[count:], keep[count:]


def _field(made: Any, key: str) -> int:
    """Return the index of the name of a part, which is a field or has a key."""
    if made.shape != FIELDS:
        return int(_log.string(key))
    found = _fields.get(key)
    if found is None:
        found = _fields[key] = _log.name("." + key)
    return found


def _element(at: int) -> int:
    """Return the index of the name of an element of a small list."""
    return _elements_named[at]


_fields: dict[str, int] = {}
_elements_named: list[int] = [_log.name(f"[{at}]") for at in range(SMALL)]


def _compare_by_key(made: Any, keys: Any, held: Any, sight: Any, step: int, by_step: int) -> None:
    known = dict(zip(made.keys, zip(made.sight, made.values)))  # noqa: B905
    found = []
    for key, each in zip(keys, held):  # noqa: B905
        was = known.pop(key, None)
        if was is not None and was[0] == id(each):
            found.append(was[1])
            continue
        index = value_of(each, step)
        found.append(index)
        write(made, _field(made, key), index, -1 if was is None else was[1], step, by_step)
    for key, was in known.items():
        write(made, _field(made, key), -1, was[1], step, by_step)
    made.keys, made.values, made.sight = keys, found, sight
    made.keep = [each if id(type(each)) in ATOMS else None for each in held]


def _compare_set(made: Any, held: Any, sight: Any, is_cut: bool, step: int, by_step: int) -> None:
    if made.sight is None:
        _snapshot(made, None, held, sight, step, by_step, is_cut)
        return
    old, found = made.values, [value_of(each, step) for each in held]
    made.sight, made.values = sight, found
    made.keep = [each for each in held if id(type(each)) in ATOMS]
    for index in found:
        if index not in old:
            write(made, _MEMBER, index, -1, step, by_step)
    if not is_cut:
        for index in old:
            if index not in found:
                write(made, _MEMBER, -1, index, step, by_step)


_MEMBER: int = _log.name("{}")


def write(made: Any, name: int, new: int, old: int, step: int, by_step: int) -> None:
    _extend((_WRITE, step, name, new, old, made.number, -1, by_step))


# --- large containers ---------------------------------------------------------------------------


def _look_at_large(value: Any, made: Any, count: int, step: int, by_step: int) -> None:
    """Record new elements at the end of a large container; the others only where a line
    mentions them (`look_at_part`).
    """
    sight = made.sight
    if sight is None or len(sight) != 1:
        # It was not looked at yet, or small until now.
        if sight is None:
            keys = None
            head: Any = islice(made.kind.base.__iter__(value), SMALL)
            if made.shape == DICT:
                pairs = list(islice(dict.items(value), SMALL))
                keys, head = [_key(key) for key, _ in pairs], [each for _, each in pairs]
            held = list(head)
            _snapshot(made, keys, held, list(map(id, held)), step, by_step, True)
            before = count
        else:
            before = len(sight)
        made.parts = {} if made.parts is None else made.parts
        made.sight, made.keys, made.values, made.keep = [count], None, None, None
        if before >= count:
            return
    else:
        before = sight[0]
        sight[0] = count
    if count > before:
        _record_new(value, made, max(before, count - _NEW), count, step, by_step)
    elif count < before and made.shape == LIST:
        for at in range(count, min(before, count + _NEW)):
            was = made.parts.pop(f"[{at}]", -1)
            write(made, _log.string(f"[{at}]"), -1, was, step, by_step)


def _record_new(value: Any, made: Any, start: int, count: int, step: int, by_step: int) -> None:
    if made.shape == LIST:
        if made.kind.base is list:
            for at in range(start, count):
                look_at_part(made, f"[{at}]", list.__getitem__(value, at), step, by_step)
        return
    if type(value) is dict:
        for key in reversed(list(islice(reversed(value), count - start))):
            if id(type(key)) in _objects.PLAIN_KEYS:
                found = _identities.item(value, key, made)
                if found is not _identities.MISSING:
                    look_at_part(made, _key(key), found, step, by_step)


def look_at_part(owner: Any, name: str, value: Any, step: int, by_step: int) -> None:
    """Record a change of one part of a large container."""
    if owner.parts is None:
        owner.parts = {}
    was = owner.parts.get(name, -1)
    index = value_of(value, step)
    if was != index:
        owner.parts[name] = index
        write(owner, _log.string(name), index, was, step, by_step)


def look_at_item(owner: Any, container: Any, key: Any, value: Any, step: int, by_step: int) -> None:
    """Record a change of the element that a line mentions, of a large container."""
    if type(key) is int and key < 0 and owner.shape == LIST:
        key += owner.kind.base.__len__(container)
    if id(type(key)) not in _objects.PLAIN_KEYS:
        return
    if value is MISSING:
        look_at_missing(owner, _key(key), step, by_step)
    else:
        look_at_part(owner, _key(key), value, step, by_step)


def look_at_missing(owner: Any, name: str, step: int, by_step: int) -> None:
    """Record that a part of a large container or a namespace is not there any more."""
    was = owner.parts.pop(name, -1) if owner.parts is not None else -1
    if was >= 0:
        write(owner, _log.string(name), -1, was, step, by_step)
