"""Identities of the program's objects, and their parts; the module `_freezeframe_identities`.

Runs inside the traced program and imports nothing of this package. No code of the program runs:
exact builtin containers are read by their own methods, instances through the descriptors that
their `class` statements made. Objects are held weakly where that is possible; a builtin container
is held until nobody else holds it.
"""

from __future__ import annotations

import _weakref
import sys
import types
from itertools import islice
from typing import Any

_objects: Any = sys.modules["_freezeframe_objects"]

#: containers of more elements are compared by length, ends and the keys that a line mentions
SMALL = 40
#: builtin containers that are held at the same time
_MAX_HELD = 20_000
_ref, _getrefcount = _weakref.ref, sys.getrefcount
ATOMS = frozenset(map(id, (int, str, float, bool, type(None), bytes, complex, type(...))))
#: values of these types have no parts that a trace follows
_PARTLESS = ATOMS | frozenset(
    map(
        id,
        (
            types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType,
            types.CodeType, types.FrameType, types.TracebackType, types.GeneratorType,
            types.CoroutineType, types.AsyncGeneratorType, types.MethodWrapperType,
            types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType,
            types.MemberDescriptorType, types.CellType, type, range, slice, property, classmethod,
            staticmethod, memoryview, bytearray, type(iter([])), type(iter({})), type(iter(())),
        ),
    )
)  # fmt: skip
_PLAIN_KEYS = _objects.PLAIN_KEYS
MISSING: Any = object()

# Shapes of objects: how their parts are read.
LIST, DICT, SET, TUPLE, INSTANCE, OPAQUE = range(6)
_BUILTIN = {id(list): LIST, id(dict): DICT, id(set): SET, id(tuple): TUPLE}


class Known:
    """An object that the trace has a number for."""

    __slots__ = ("changed", "held", "is_flat", "number", "parts", "shape", "sight", "text")

    def __init__(self, number: int, shape: int) -> None:
        self.number = number
        self.shape = shape
        #: the object itself or a weak reference to it
        self.held: Any = None
        #: ids of the elements, to see a change fast; None: not looked at, or too many
        self.sight: list[int] | None = None
        #: name of a part → (identity, index of its value); None: not looked at yet.
        #: Atoms are their own identities, so that their ids are not used again.
        self.parts: dict[str, Any] | None = None
        #: all parts are atoms
        self.is_flat = False
        #: the index of its text, and the number of changes of the heap when it was made
        self.text = -1
        self.changed = -1


_known: dict[int, Known] = {}
#: builtin containers, which have no weak references, by id
_held: dict[int, Known] = {}
#: containers that may be held by nobody else any more
suspects: list[Known] = []
_numbers = iter(range(1, 1 << 62)).__next__


# --- types --------------------------------------------------------------------------------------


class Kind:
    """How instances of a class are read."""

    __slots__ = ("get_dict", "is_quick", "name", "ref", "slots")

    def __init__(self, kind: type) -> None:
        self.name: str = _objects.name_of(kind)
        self.get_dict: Any = _objects.dict_getter(kind)
        self.slots: dict[str, Any] = _objects.slot_getters(kind)
        #: whether `quick` makes the text of instances; None: not decided
        self.is_quick: bool | None = None
        key = id(kind)
        self.ref = _ref(kind, lambda _: _kinds.pop(key, None))


_kinds: dict[int, Kind] = {}


def kind_of(kind: type) -> Kind:
    found = _kinds.get(id(kind))
    if found is None:
        found = _kinds[id(kind)] = Kind(kind)
    return found


def attribute(value: Any, name: str) -> Any:
    """Return the value of an instance's field, MISSING if it has none."""
    kind = kind_of(type(value))
    if kind.get_dict is not None:
        try:
            own = kind.get_dict(value)
        except Exception:
            own = None
        if type(own) is dict:
            found = own.get(name, MISSING)
            if found is not MISSING:
                return found
    get = kind.slots.get(name)
    if get is not None:
        try:
            return get(value)
        except Exception:
            return MISSING
    return MISSING


def item(value: Any, key: Any) -> Any:
    """Return an element of an exact builtin container, MISSING if there is none."""
    kind = type(value)
    if kind is dict:
        if id(type(key)) in _PLAIN_KEYS and _has_plain_keys(value, key):
            return value.get(key, MISSING)
    elif (kind is list or kind is tuple) and type(key) is int and -len(value) <= key < len(value):
        return value[key]
    return MISSING


def _has_plain_keys(value: Any, key: Any) -> bool:
    # A string is compared by C with other strings only. A key of a class of the program with the
    # same hash would be compared by its own method.
    return len(value) <= SMALL * 4 and _PLAIN_KEYS.issuperset(map(id, map(type, value)))


# --- identities ---------------------------------------------------------------------------------


def known_of(value: Any) -> Known | None:
    """Return the record of an object that has parts; None for one that has none."""
    found = _known.get(id(value))
    if found is not None:
        return found
    kind = type(value)
    if id(kind) in _PARTLESS:
        return None
    return _register(value, kind)


def _register(value: Any, kind: type) -> Known | None:
    key = id(value)
    shape = _BUILTIN.get(id(kind))
    if shape is None:
        if issubclass(kind, type):
            return None
        how = kind_of(kind)
        shape = INSTANCE if how.get_dict is not None or how.slots else OPAQUE
    made = Known(_numbers(), shape)
    try:
        made.held = _ref(value, lambda _: _known.pop(key, None))
    except TypeError:
        if len(_held) >= _MAX_HELD:
            release_all()
        made.held = value
        _held[key] = made
    _known[key] = made
    return made


def suspect(made: Known) -> None:
    """Look at the next event whether a container is still held by the program."""
    if type(made.held) is not _ref:
        suspects.append(made)


def release() -> None:
    """Drop the suspected containers that only this module holds."""
    pending = suspects[:]
    del suspects[: len(pending)]
    for made in pending:
        # The attribute and the argument of the call hold it.
        if made.held is not None and _getrefcount(made.held) <= 2:
            _drop(made)


def _drop(made: Known) -> None:
    value, made.held = made.held, None
    key = id(value)
    _held.pop(key, None)
    _known.pop(key, None)
    for each in _inner(value):
        inner = _held.get(id(each))
        if inner is not None:
            suspects.append(inner)


def _inner(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return list(islice(value.values(), SMALL))
    return list(islice(value, SMALL)) if kind in (list, tuple) else ()


def release_all() -> None:
    """Drop all containers that only this module holds; the oldest half if all are in use."""
    suspects.extend(_held.values())
    while suspects:
        release()
    if len(_held) >= _MAX_HELD:
        for made in list(islice(_held.values(), _MAX_HELD // 2)):
            _drop(made)
        del suspects[:]


def forget() -> None:
    """Forget texts and parts: what is seen from now on is recorded in full."""
    _ids.clear()
    for made in list(_known.values()):
        made.sight = made.parts = None
        made.text = -1


# --- bindings -----------------------------------------------------------------------------------

#: ids of objects without parts, to be compared by identity
_ids: dict[int, int] = {}


def is_atom(value: Any) -> bool:
    return id(type(value)) in ATOMS


def identity(value: Any) -> Any:
    """Return what a binding to *value* is compared by."""
    if id(type(value)) in ATOMS:
        return value
    return known_of(value) or _ids.setdefault(id(value), id(value))
