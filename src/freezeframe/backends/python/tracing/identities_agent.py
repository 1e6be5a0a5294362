"""Identities of the program's objects, and how their parts are read; `_freezeframe_identities`.

Runs inside the traced program and imports nothing of this package. No code of the program runs:
containers are read by the methods of the builtin class, instances through the descriptors that
their `class` statements made. Objects are held weakly where that is possible; a builtin container
is held until nobody else holds it.
"""

from __future__ import annotations

import _weakref
import enum
import sys
import types
from collections import deque
from itertools import islice
from typing import Any

_objects: Any = sys.modules["_freezeframe_objects"]
_text: Any = sys.modules["_freezeframe_text"]
_shapes: Any = sys.modules["_freezeframe_shapes"]

#: containers of more elements are compared by length, ends and the keys that a line mentions
SMALL = 40
#: builtin containers that are held at the same time
_MAX_HELD = 20_000
_ref, _getrefcount = _weakref.ref, sys.getrefcount
ATOMS = frozenset(map(id, (int, str, float, bool, type(None), bytes, complex, type(...))))


class Missing:
    """The value of what has none."""

    __slots__ = ()


#: values of these types have no parts that a trace follows
PARTLESS = ATOMS | frozenset(
    map(
        id,
        (
            types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType,
            types.CodeType, types.FrameType, types.TracebackType, types.GeneratorType,
            types.CoroutineType, types.AsyncGeneratorType, types.MethodWrapperType,
            types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType,
            types.MemberDescriptorType, types.CellType, type, range, slice, property, classmethod,
            staticmethod, memoryview, type(iter([])), type(iter({})), type(iter(())), Missing,
        ),
    )
)  # fmt: skip
_PLAIN_KEYS = _objects.PLAIN_KEYS
_ALWAYS = 1 << 62
MISSING: Any = Missing()

# Shapes of objects: how their parts are read, and their texts are composed; `trace_file.py` has
# the same. The text of an opaque object is made here; FIXED is an opaque one that never changes.
LIST, TUPLE, DICT, SET, FIELDS, OPAQUE, FIXED, NAMESPACE = range(8)
_BASES = ((dict, DICT), (list, LIST), (tuple, TUPLE), (set, SET), (frozenset, SET), (deque, LIST))


class Known:
    """An object that the trace has a number for."""

    # Variables of the class: most objects never need one of their own.
    #: the object itself or a weak reference to it
    held: Any = None
    #: ids of the elements, to see a change fast; None: not looked at yet
    sight: list[int] | None = None
    #: atoms among the elements: while they are held, their ids are not used again
    keep: Any = None
    #: names of the parts in the order of *sight* (of dictionaries and fields)
    keys: Any = None
    #: the keys of a dictionary, if all are atoms
    atoms: Any = None
    #: its text as a key of a dictionary, which stays the same while it is one
    as_key: str | None = None
    #: indices of the values of the parts, in the order of *sight*
    values: Any = None
    #: parts of a namespace or a large container: name → index of the value
    parts: dict[str, int] | None = None
    #: the index of the object as a value; -1: not written in this segment
    value = -1
    #: the event at which it was looked at last; of what is never looked at: later than all
    seen = -1
    #: how many keys of a dictionary are known to be of plain types; -1: not all of them are
    seen_keys = 0

    def __init__(self, number: int, kind: Kind) -> None:
        self.number = number
        self.kind = kind
        self.shape = kind.shape
        if kind.shape >= OPAQUE:
            self.seen = _ALWAYS
        #: reads the dictionary of its fields, if they are all there
        self.get_dict = kind.fields_dict


_known: dict[int, Known] = {}
get_known = _known.get
#: objects that have no weak references, by id
_held: dict[int, Known] = {}
#: objects that may be held by nobody else any more
suspects: list[Known] = []
#: index as a value → object that has no weak references
held_values: dict[int, Known] = {}
_numbers = iter(range(1, 1 << 62)).__next__


_kinds: dict[int, Kind] = {}


class _Reference(_ref):  # type: ignore[misc, valid-type]
    """A weak reference that knows the id of its object."""

    __slots__ = ("key",)


def _forget_reference(ref: Any, pop: Any = _known.pop) -> None:
    # Called at the end of the interpreter too, when the variables of modules are gone.
    pop(ref.key, None)


def _forget_kind(ref: Any, pop: Any = _kinds.pop) -> None:
    pop(ref.key, None)


# --- classes ------------------------------------------------------------------------------------


class Kind:
    """How instances of a class are read."""

    __slots__ = (
        "base",
        "fields_dict",
        "get_dict",
        "is_plain",
        "is_weak",
        "is_zoned",
        "name",
        "ref",
        "shape",
        "slots",
        "tuple_fields",
    )

    def __init__(self, kind: type, value: Any) -> None:
        self.name: str = _objects.name_of(kind)
        self.get_dict: Any = _objects.dict_getter(kind)
        self.slots: dict[str, Any] = _objects.slot_getters(kind)
        self.tuple_fields: Any = _objects.tuple_fields(kind)
        plain = not self.slots and self.tuple_fields is None
        self.fields_dict = self.get_dict if plain else None
        try:
            self.is_weak = _ref(value) is not None
        except TypeError:
            self.is_weak = False
        #: the builtin class whose methods read a container
        self.base: Any = None
        self.shape = self._shape(kind, value)
        #: its repr runs no code of the program; of a zoned one, if it has no time zone
        self.is_zoned = kind is sys.modules.get("datetime", _objects).__dict__.get("datetime")
        plain = self.shape == FIXED and self.name in _FIXED
        self.is_plain = plain and (self.is_zoned or self.name in ("date", "timedelta", "Match"))
        key = id(kind)
        self.ref = ref = _Reference(kind, _forget_kind)
        ref.key = key

    def _shape(self, kind: type, value: Any) -> int:
        if issubclass(type(kind), enum.EnumMeta) or issubclass(kind, BaseException):
            return FIXED
        if self.tuple_fields is not None:
            return FIELDS
        for base, shape in _BASES:
            if issubclass(kind, base):
                self.base = base
                return shape
        written = _objects.find(kind, "__repr__")
        if _text.shape_of(kind, written, value) is not _shapes.fields_text:
            return FIXED if _text.is_leaf(kind, value) and self.name in _FIXED else OPAQUE
        return FIELDS if self.get_dict is not None or self.slots else OPAQUE


#: classes whose instances never change
_FIXED = frozenset(
    (
        "date", "time", "datetime", "timedelta", "timezone", "Decimal", "Fraction", "IPv4Address",
        "IPv6Address", "PosixPath", "PurePosixPath", "WindowsPath", "Pattern", "Match", "UUID",
        "ZoneInfo", "Timestamp", "Timedelta",
    )
)  # fmt: skip


def kind_of(kind: type, value: Any) -> Kind:
    found = _kinds.get(id(kind))
    if found is None:
        found = _kinds[id(kind)] = Kind(kind, value)
    return found


def fields_of(value: Any, how: Kind) -> Any:
    """Return the fields of an instance by name."""
    if how.tuple_fields is not None:
        return dict(zip(how.tuple_fields, tuple.__iter__(value)))  # noqa: B905
    own = None
    if how.get_dict is not None:
        own = how.get_dict(value)
        if type(own) is dict and not how.slots:
            return own
    found = dict(own) if type(own) is dict else {}
    for name, get in how.slots.items():
        try:
            found[name] = get(value)
        except Exception:
            continue
    return found


def attribute(value: Any, name: str) -> Any:
    """Return the value of an instance's field, MISSING if it has none."""
    if id(type(value)) in PARTLESS or value is MISSING:
        return MISSING
    how = kind_of(type(value), value)
    if how.get_dict is not None:
        own = how.get_dict(value)
        if type(own) is dict:
            found = own.get(name, MISSING)
            if found is not MISSING or not how.slots:
                return found
    get = how.slots.get(name)
    if get is not None:
        try:
            return get(value)
        except Exception:
            return MISSING
    if how.tuple_fields is not None and name in how.tuple_fields:
        return tuple.__getitem__(value, how.tuple_fields.index(name))
    return MISSING


def item(value: Any, key: Any, made: Known | None) -> Any:
    """Return an element of a builtin container, MISSING if there is none."""
    if made is None:
        return MISSING
    base = made.kind.base
    if base is dict:
        if id(type(key)) in _PLAIN_KEYS and _has_plain_keys(value, made):
            return dict.get(value, key, MISSING)
    elif (base is list or base is tuple) and type(key) is int:
        count = base.__len__(value)
        return base.__getitem__(value, key) if -count <= key < count else MISSING
    return MISSING


def _has_plain_keys(value: Any, made: Known) -> bool:
    """Return whether a look-up runs no `__eq__` of the program: all keys are of plain types.

    Keys that were checked before are not checked again; new ones are at the end.
    """
    count, checked = dict.__len__(value), made.seen_keys
    if checked < 0:
        return False
    if count != checked:
        fresh = islice(reversed(value), max(2, count - checked)) if type(value) is dict else value
        made.seen_keys = count
        if not _PLAIN_KEYS.issuperset(map(id, map(type, fresh))):
            made.seen_keys = -1
            return False
    return True


# --- identities ---------------------------------------------------------------------------------


def known_of(value: Any) -> Known | None:
    """Return the record of an object that has an identity; None for one that has none."""
    found = _known.get(id(value))
    if found is not None:
        return found
    kind = type(value)
    if id(kind) in PARTLESS or value is MISSING or issubclass(kind, type):
        return None
    key = id(value)
    how = _kinds.get(id(kind)) or kind_of(kind, value)
    made = Known(_numbers(), how)
    if how.is_weak:
        made.held = ref = _Reference(value, _forget_reference)
        ref.key = key
    else:
        if len(_held) >= _MAX_HELD:
            release_all()
        made.held = value
        _held[key] = made
    _known[key] = made
    return made


def known_or_weak(value: Any) -> Known | None:
    """Return the record of an object if it has one, or if a new one does not keep it alive."""
    found = _known.get(id(value))
    if found is not None:
        return found
    kind = type(value)
    if id(kind) in PARTLESS or issubclass(kind, type):
        return None
    how = _kinds.get(id(kind)) or kind_of(kind, value)
    return known_of(value) if how.is_weak else None


def suspect_value(index: int) -> None:
    """Look at the next event whether the object with this index as a value is still held."""
    suspects.append(held_values[index])


def release() -> None:
    """Drop the suspected objects that only this module holds."""
    pending = suspects[:]
    del suspects[: len(pending)]
    for made in pending:
        # The attribute and the argument of the call hold it.
        if _getrefcount(made.held) <= 2:
            _drop(made)


def _drop(made: Known) -> None:
    value, made.held = made.held, None
    key = id(value)
    _held.pop(key, None)
    _known.pop(key, None)
    held_values.pop(made.value, None)
    # The containers in it may be held by nobody else now.
    values = made.values
    if values and not held_values.keys().isdisjoint(values):
        for index in values:
            if index in held_values:
                suspects.append(held_values[index])


def release_all() -> None:
    """Drop all objects that only this module holds; the oldest half if all are in use."""
    suspects.extend(_held.values())
    while suspects:
        release()
    if len(_held) >= _MAX_HELD:
        for made in list(islice(_held.values(), _MAX_HELD // 2)):
            _drop(made)
        del suspects[:]


def forget() -> None:
    """Forget what objects contain: what is seen from now on is recorded in full."""
    held_values.clear()
    for made in list(_known.values()):
        made.sight = made.keep = made.keys = made.atoms = made.values = None
        made.parts = {} if made.shape == NAMESPACE else None
        made.value = -1
