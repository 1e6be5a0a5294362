"""The values of variables as trees that outlive them; runs inside the debuggee.

Follows the rules of `agent.py`; becomes the module `_freezeframe_trees`. None of the program's
objects is kept alive but numbers and short strings, and none of its code runs.
"""

from __future__ import annotations

import enum
import itertools
import sys
import types
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_objects: Any = sys.modules["_freezeframe_objects"]
_native: Any = sys.modules["_freezeframe_native"]
_text: Any = sys.modules["_freezeframe_text"]
#: classes by their ids: a metaclass may define `__eq__` and `__hash__`
_ATOMS = frozenset(map(id, (int, float, bool, complex, type(None), type(...), range)))
#: structure kept of one variable, and of a frame; numbers cost an eighth of other values
_NODES, _ALL_NODES = 3_000, 12_000
_CHEAP = 8
_MAX_DEPTH = 8
_LONG_STRING = 200
_NAMED = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.GeneratorType,
    types.CoroutineType,
    types.ModuleType,
    type,
)


class Leaf:
    """A value without structure: compared by its key."""

    __slots__ = ("key", "text")

    def __init__(self, key: Any, text: str) -> None:
        self.key, self.text = key, text


class Tree:
    """A container or an object. `path` writes the path from it to one of its items."""

    __slots__ = ("id", "items", "kind", "library", "path", "rest")

    def __init__(self, value: Any, kind: str, path: Callable[[Any], str]) -> None:
        self.id, self.kind, self.path = id(value), kind, path
        #: an object whose class belongs to a library
        self.library = False
        self.items: dict[Any, Any] = {}
        #: represents the items that are not kept
        self.rest: Any = None

    def private_items(self) -> set[Any]:
        """Return the keys of the fields that a library keeps for itself."""
        return {key for key in self.items if key[:1] == "_"} if self.library else set()


def keep(named: dict[str, Any]) -> dict[str, Any]:
    # Ids are valid while this runs: the frame holds the objects.
    known: dict[int, Any] = {}
    whole = _ALL_NODES
    found = {}
    for name, value in named.items():
        given = min(_NODES, whole)
        budget = [given]
        found[name] = _keep(value, 0, known, budget)
        whole -= given - budget[0]
    return found


def _keep(value: Any, depth: int, known: dict[int, Any], budget: list[int]) -> Any:
    kind = type(value)
    if kind is int and value.bit_length() > _LONG_STRING * 8:
        return Leaf((kind, hash(value)), _text.show(value, _LONG_STRING))
    if id(kind) in _ATOMS or (kind is str and len(value) <= _LONG_STRING):
        return value
    if kind is str or kind is bytes:
        return Leaf((kind, len(value), hash(value)), _text.show(value, _LONG_STRING))
    if id(value) in known:
        return known[id(value)]
    name = _objects.name_of(kind)
    if issubclass(kind, _NAMED):
        # By its code, not by its address: a function that is created again in every iteration is
        # the same.
        full_name = _objects.qualified(value) if issubclass(kind, type) else _objects.named(value)
        identity = value.__code__ if kind is types.FunctionType else None
        identity = value if issubclass(kind, type) else identity
        return Leaf((name, full_name, id(identity)), f"<{name} {full_name}>")
    if issubclass(kind, enum.Enum):
        label = (_objects.own_dict(value) or {}).get("_name_")
        number = _text.show(value, _LONG_STRING)
        return Leaf((name, number), f"{name}.{label}" if type(label) is str else number)
    if depth > _MAX_DEPTH or budget[0] <= 0:
        return Leaf((name, _text.count(value)), f"{name}(…)")
    budget[0] -= 1
    tree = Tree(value, name, index)
    known[id(value)] = tree
    if issubclass(kind, dict):
        tree.path = _entry
        _fill(tree, _text.items_of(value), _text.length(value), depth, known, budget)
    elif issubclass(kind, (set, frozenset)):
        tree.path = member
        some = itertools.islice(_text.elements(value), budget[0] * _CHEAP)
        tree.items = {_member_key(each, known): True for each in some}
        budget[0] -= len(tree.items) // _CHEAP
        size = _text.length(value)
        tree.rest = size if size > len(tree.items) else None
    elif issubclass(kind, (list, tuple, deque)) and _objects.tuple_fields(kind) is None:
        numbered = enumerate(_text.elements(value))
        _fill(tree, numbered, _text.length(value), depth, known, budget)
    elif native_parts := _native.parts(value):
        tree.path = _path_of(kind, name)
        _fill(tree, native_parts, len(native_parts), depth, known, budget)
    elif not _text.is_leaf(kind, value) and (members := _text.shown_fields(value)):
        tree.path, tree.library = attribute, _is_of_library(kind)
        _fill(tree, members, len(members), depth, known, budget)
    else:
        known[id(value)] = leaf = _leaf(value, kind)
        return leaf
    return tree


def _fill(
    tree: Tree, items: Any, total: int, depth: int, known: dict[int, Any], budget: list[int]
) -> None:
    kept = tree.items
    cheap = 0
    for key, value in items:
        if budget[0] <= 0:
            tree.rest = total
            break
        if id(type(value)) in _ATOMS:
            cheap += 1
            if cheap >= _CHEAP:
                cheap = 0
                budget[0] -= 1
        # Half of what is left at most: one large field must not hide those after it.
        share = [(budget[0] + 1) // 2]
        left = budget[0] - share[0]
        kept[_member_key(key, known)] = _keep(value, depth + 1, known, share)
        budget[0] = left + share[0]


def _member_key(value: Any, known: dict[int, Any]) -> Any:
    """Return the key for a dict key or set member: itself, or the text of its structure."""
    if id(type(value)) in _ATOMS or type(value) is str:
        return value
    return _Key(_render(_keep(value, 0, known, [50]), 200))


class _Key(str):
    """The text of a key that is neither a number nor a string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _leaf(value: Any, kind: type) -> Leaf:
    """Keep a value without fields by its text: a date, a Decimal, a subclass of a number."""
    name = _objects.name_of(kind)
    text = _text.show(value, 1_000)
    # An address says nothing about the value.
    if " at 0x" in text:
        return Leaf((name, ""), f"<{name}>")
    return Leaf((name, text, _native.mark(value)), text[:_LONG_STRING])


def _path_of(kind: type, name: str) -> Callable[[Any], str]:
    """Return how paths to parts of a native object are written: columns, rows, elements, fields."""
    if _native.is_table(kind):
        if name == "DataFrame":
            return _entry
        return index if _native.has_positions(kind) else _row
    return index if _native.is_array(kind) else attribute


def _row(key: Any) -> str:
    return f".iloc[{key}]"


def index(key: Any) -> str:
    return f"[{key}]"


def _entry(key: Any) -> str:
    return f"[{key!r}]"


def attribute(key: Any) -> str:
    return f".{key}"


def member(key: Any) -> str:
    return f" has {key!r}"


def shown(node: Any) -> str:
    """Return the text of a recorded value."""
    return str(_text.elided(_render(node, 200), 300))


def _render(node: Any, budget: int) -> str:
    kind = type(node)
    if kind is Leaf:
        return str(node.text)
    if kind is not Tree:
        return repr(node)
    if node.kind == "set" and not node.items:
        return "set()"
    opening, right = _BRACKETS.get(node.kind, (f"{node.kind}(", ")"))
    parts: list[str] = []
    for key, each in node.items.items():
        if budget < 10:
            parts.append(f"… +{(node.rest or len(node.items)) - len(parts):,} more")
            break
        if node.path is member:
            part = repr(key)
        else:
            part = _render(each, budget // 2)
            if node.path is not index:
                part = f"{key!r}: {part}" if node.path is _entry else f"{key}={part}"
        budget -= len(part) + 2
        parts.append(part)
    comma = "," if opening == "(" and len(parts) == 1 else ""
    return opening + ", ".join(parts) + comma + right


_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "dict": ("{", "}"), "set": ("{", "}")}


def _is_of_library(kind: type) -> bool:
    """Return whether the class was defined by an installed package or the standard library."""
    module: str = _objects.module_of(kind)
    if module.partition(".")[0] in getattr(sys, "stdlib_module_names", ()):
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return type(file) is str and ("site-packages" in file or "dist-packages" in file)
