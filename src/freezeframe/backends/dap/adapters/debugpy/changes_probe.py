"""What changed in a frame between two stops; runs inside the debuggee.

Under the rules of `main_probe.py`; it becomes the module `_freezeframe_changes`. What a frame's
variables hold is kept as structure, so that a change anywhere inside is told by its path. None of
the program's objects is kept alive but numbers and short strings, and none of its code runs.
An object is what its fields are: another one with equal fields is no change.
"""

from __future__ import annotations

import enum
import itertools
import sys
import threading
import types
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_objects: Any = sys.modules["_freezeframe_objects"]
_text: Any = sys.modules["_freezeframe_text"]
#: classes by their ids: a metaclass may have an `__eq__` and a `__hash__` of its own
_ATOMS = frozenset(map(id, (int, float, bool, complex, type(None), type(...), range)))
#: structure kept of one variable, and of a frame; numbers cost an eighth of other values
_NODES, _ALL_NODES = 3_000, 12_000
_CHEAP = 8
_MAX_DEPTH = 8
_LONG_STRING = 200
#: changed parts told of one variable
_PARTS = 12
#: another object with more differences than this is another thing, not a changed one
_ALIKE = 2
_KEPT_FRAMES = 16
_NAMED = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.GeneratorType,
    types.CoroutineType,
    types.ModuleType,
    type,
)
_GENERATORS = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
#: flags of code that is suspended and goes on: generators, coroutines, async generators
_SUSPENDS = 0x20 | 0x80 | 0x200
#: id of a frame → what was last seen of it
_seen: dict[int, _Seen] = {}
#: thread → how often it stopped
_stops: dict[int, int] = {}


class _Seen:
    """A frame at its last two stops."""

    def __init__(self, tag: Any, code: Any) -> None:
        self.tag, self.code = tag, code
        self.stop = -1
        self.before: dict[str, Any] | None = None
        #: at the first look of the last stop, and at the last look
        self.first: dict[str, Any] | None = None
        self.now: dict[str, Any] | None = None
        #: what each variable was shown as
        self.said_before: dict[str, str] = {}
        self.said: dict[str, str] = {}
        #: what functions returned with on the way to the last stop
        self.returned: dict[str, Any] = {}


class _Leaf:
    """A value without structure: compared by what it says of itself."""

    __slots__ = ("key", "text")

    def __init__(self, key: Any, text: str) -> None:
        self.key, self.text = key, text


class _Tree:
    """A container or an object. `path` spells the way from it to one of its items."""

    __slots__ = ("id", "items", "kind", "path", "rest")

    def __init__(self, id: int, kind: str, path: Callable[[Any], str]) -> None:
        self.id, self.kind, self.path = id, kind, path
        self.items: dict[Any, Any] = {}
        #: what stands for the items that are not kept
        self.rest: Any = None


def stopped() -> None:
    """This thread stops: what was seen of its frames is the past now."""
    thread = threading.get_ident()
    _stops[thread] = _stops.get(thread, 0) + 1


def look(frame: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Return what changed in a frame's variables since its last stop: facts by name.

    Under the empty name: those that are gone. The same at every look of one stop.
    """
    seen = _seen.pop(id(frame), None)
    tag = _tag(frame)
    if seen is None or seen.code is not frame.f_code or not _same(seen.tag, tag):
        seen = _Seen(tag, frame.f_code)
    seen.tag = tag if tag is not None else seen.tag
    _seen[id(frame)] = seen
    while len(_seen) > _KEPT_FRAMES:
        del _seen[next(iter(_seen))]
    number = _stops.get(threading.get_ident(), 0)
    if seen.stop != number:
        seen.stop, seen.before = number, seen.now
        seen.said_before, seen.said = seen.said, {}
        seen.returned = {}
        seen.first = None
    seen.now = _kept(named)
    if seen.first is None:
        seen.first = seen.now
    if seen.before is None:
        return {name: {"changed": False} for name in named}
    told = _told(seen.before, seen.now, seen.said_before)
    return _by_the_program(told, seen.first, seen.now)


def _by_the_program(
    told: dict[str, Any], first: dict[str, Any], now: dict[str, Any]
) -> dict[str, Any]:
    """Leave out what was changed from outside, while the program stood still."""
    for name, node in now.items():
        if name not in first or not _Differences()._equal(first[name], node):
            told[name] = {"changed": False}
    told[""] = [each for each in told[""] if each[0] not in first]
    return told


def rebase(visible: Callable[[Any], dict[str, Any]]) -> None:
    """The program goes on, and was changed from outside: that is not its next step's doing.

    *visible* returns the variables of a frame that are shown.
    """
    for innermost in list(sys._current_frames().values()):
        frame: Any = innermost
        while frame is not None:
            seen = _seen.get(id(frame))
            if seen is not None and seen.code is frame.f_code and seen.now is not None:
                seen.now = _kept(visible(frame))
            frame = frame.f_back


def returned(frame: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return what functions returned with since the last stop of *frame*; `look` comes first.

    pydevd keeps *values* as long as the frame lives: they are taken away, once told.
    """
    seen = _seen.get(id(frame))
    if seen is None:
        return values
    seen.returned.update(values)
    values.clear()
    return seen.returned


def say(frame: Any, name: str, text: str) -> None:
    """Note what a variable of *frame* is shown as: at the next stop, what it was."""
    seen = _seen.get(id(frame))
    if seen is not None:
        seen.said[name] = text


def _tag(frame: Any) -> Any:
    """Return an object that this frame alone has, so that a later call at its address is not it.

    Up to 3.11 that is pydevd's own object for the frame, behind its trace function; later pydevd
    sets none and the place is free. Such a function is never called: nothing traces there.
    """
    if sys.version_info < (3, 12) and frame.f_code.co_flags & _SUSPENDS:
        # pydevd has another object for it each time that it goes on.
        return _generator(frame)
    trace = frame.f_trace
    if trace is None:
        if sys.version_info >= (3, 12):
            trace = frame.f_trace = _Tag()
        return trace
    method = getattr(trace, "get_method_object", None)
    owner = getattr(method(), "__self__", None) if method is not None else trace
    return owner if type(owner).__name__ in ("PyDBFrame", "_Tag", "Once") else None


def _generator(frame: Any) -> Any:
    """Return a weak reference to the generator or coroutine of *frame*: one object for each."""
    import gc
    import weakref

    for each in gc.get_referrers(frame):
        if type(each) in _GENERATORS:
            return weakref.ref(each)
    return None


class _Tag:
    def __call__(self, *_: Any) -> None:
        return None


def _same(one: Any, other: Any) -> bool:
    return one is None or other is None or one is other


# --- keeping ------------------------------------------------------------------------------------


def _kept(named: dict[str, Any]) -> dict[str, Any]:
    # Ids are good as long as this runs: the frame holds what they were taken from.
    known: dict[int, Any] = {}
    whole = _ALL_NODES
    found = {}
    for name, value in named.items():
        given = min(_NODES, whole)
        room = [given]
        found[name] = _keep(value, 0, known, room)
        whole -= given - room[0]
    return found


def _keep(value: Any, depth: int, known: dict[int, Any], room: list[int]) -> Any:
    kind = type(value)
    if kind is int and value.bit_length() > _LONG_STRING * 8:
        return _Leaf((kind, hash(value)), _text.show(value, _LONG_STRING))
    if id(kind) in _ATOMS or (kind is str and len(value) <= _LONG_STRING):
        return value
    if kind is str or kind is bytes:
        return _Leaf((kind, len(value), hash(value)), _text.show(value, _LONG_STRING))
    if id(value) in known:
        return known[id(value)]
    name = _objects.name_of(kind)
    if issubclass(kind, _NAMED):
        # By its code, not by its address: a function that is made anew in every pass is the same.
        own = _objects.qualified(value) if issubclass(kind, type) else _objects.named(value)
        mark = value.__code__ if kind is types.FunctionType else None
        mark = value if issubclass(kind, type) else mark
        return _Leaf((name, own, id(mark)), f"<{name} {own}>")
    if issubclass(kind, enum.Enum):
        member = (_objects.own_dict(value) or {}).get("_name_")
        number = _text.show(value, _LONG_STRING)
        return _Leaf((name, number), f"{name}.{member}" if type(member) is str else number)
    if depth > _MAX_DEPTH or room[0] <= 0:
        return _Leaf((name, _text.count(value)), f"{name}(…)")
    room[0] -= 1
    tree = _Tree(id(value), name, _index)
    known[id(value)] = tree
    if issubclass(kind, dict):
        tree.path = _key
        _fill(tree, _text.items_of(value), _text.length(value), depth, known, room)
    elif issubclass(kind, (set, frozenset)):
        tree.path = _member
        some = itertools.islice(_text.elements(value), room[0] * _CHEAP)
        tree.items = {_member_key(each, known): True for each in some}
        room[0] -= len(tree.items) // _CHEAP
        size = _text.length(value)
        tree.rest = size if size > len(tree.items) else None
    elif issubclass(kind, (list, tuple, deque)) and _objects.tuple_fields(kind) is None:
        numbered = enumerate(_text.elements(value))
        _fill(tree, numbered, _text.length(value), depth, known, room)
    elif own := _text.shown_fields(value):
        tree.path = _attribute
        _fill(tree, own, len(own), depth, known, room)
    else:
        known[id(value)] = leaf = _leaf(value, kind)
        return leaf
    return tree


def _fill(
    tree: _Tree, items: Any, total: int, depth: int, known: dict[int, Any], room: list[int]
) -> None:
    kept = tree.items
    cheap = 0
    for key, value in items:
        if room[0] <= 0:
            tree.rest = total
            break
        if id(type(value)) in _ATOMS:
            cheap += 1
            if cheap >= _CHEAP:
                cheap = 0
                room[0] -= 1
        kept[_member_key(key, known)] = _keep(value, depth + 1, known, room)


def _member_key(value: Any, known: dict[int, Any]) -> Any:
    """Return what stands for a key or a member: itself, or the text of its structure."""
    if id(type(value)) in _ATOMS or type(value) is str:
        return value
    return _Key(_words(_keep(value, 0, known, [50]), 200))


class _Key(str):
    """The text of a key that is no number and no string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _leaf(value: Any, kind: type) -> _Leaf:
    """Keep a value without fields by its text: a date, a Decimal, a kind of a number."""
    name = _objects.name_of(kind)
    text = _text.show(value, 1_000)
    # An address says nothing about the value.
    if " at 0x" in text:
        return _Leaf((name, ""), f"<{name}>")
    return _Leaf((name, text), text[:_LONG_STRING])


def _index(key: Any) -> str:
    return f"[{key}]"


def _key(key: Any) -> str:
    return f"[{key!r}]"


def _attribute(key: Any) -> str:
    return f".{key}"


def _member(key: Any) -> str:
    return f" has {key!r}"


# --- telling ------------------------------------------------------------------------------------


def _told(
    before: dict[str, Any], now: dict[str, Any], said_before: dict[str, str]
) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, node in now.items():
        if name not in before:
            told[name] = {"changed": True}
            continue
        old = before[name]
        found = _Differences()
        found.compare(old, node, name)
        if found.count > _ALIKE and type(old) is type(node) is _Tree and old.id != node.id:
            # The name stands for something else now; what the two have in common is chance.
            found = _Differences()
            found.parts, found.count = [[name, None, None]], 1
        fact: dict[str, Any] = {"changed": found.count > 0}
        told[name] = fact
        if found.count:
            fact["was"] = said_before.get(name) or _said(old)
            fact["parts"] = [part for part in found.parts if part[0] != name]
            fact["more"] = found.count - len(found.parts)
    told[""] = [
        (name, said_before.get(name) or _said(old))
        for name, old in before.items()
        if name not in now
    ]
    return told


class _Differences:
    """What differs between two looks at a variable: the first few by their paths, all counted."""

    def __init__(self) -> None:
        self.parts: list[list[str | None]] = []
        self.count = 0
        self._same: set[tuple[int, int]] = set()

    def _add(self, path: str, now: str | None, was: str | None) -> None:
        self.count += 1
        if len(self.parts) < _PARTS:
            self.parts.append([path, now, was])

    def compare(self, old: Any, new: Any, path: str) -> None:
        if old is new:
            return
        kind = type(old)
        if kind is not type(new):
            self._add(path, _said(new), _said(old))
        elif kind is _Leaf:
            if old.key != new.key:
                self._add(path, _said(new), _said(old))
        elif kind is not _Tree:
            if old != new and not (old != old and new != new):
                self._add(path, _said(new), _said(old))
        elif old.kind != new.kind:
            self._add(path, _said(new), _said(old))
        elif (id(old), id(new)) not in self._same:
            # Also what ends a structure that contains itself.
            self._same.add((id(old), id(new)))
            self._trees(old, new, path)

    def _trees(self, old: _Tree, new: _Tree, path: str) -> None:
        spell = new.path
        if spell is _index:
            self._sequences(old, new, path)
        else:
            for key, node in new.items.items():
                if key in old.items:
                    self.compare(old.items[key], node, path + spell(key))
                elif old.rest is None:
                    was = "False" if spell is _member else None
                    self._add(path + spell(key), _said(node), was)
            if new.rest is None:
                for key, node in old.items.items():
                    if key not in new.items:
                        now = "False" if spell is _member else None
                        self._add(path + spell(key), now, _said(node))
        if old.rest != new.rest:
            sizes = [tree.rest or len(tree.items) for tree in (new, old)]
            if sizes[0] != sizes[1]:
                self._add(f"len({path})", str(sizes[0]), str(sizes[1]))

    def _sequences(self, old: _Tree, new: _Tree, path: str) -> None:
        """Tell an element that came or went by its place, not by all that moved because of it."""
        were, are = list(old.items.values()), list(new.items.values())
        first = 0
        if len(were) != len(are):
            least = min(len(were), len(are))
            while first < least and self._equal(were[first], are[first]):
                first += 1
            last = 0
            while last < least - first and self._equal(were[-1 - last], are[-1 - last]):
                last += 1
            were = were[first : len(were) - last]
            are = are[first : len(are) - last]
        for at, (was, now) in enumerate(zip(were, are)):  # noqa: B905 - 3.8
            self.compare(was, now, f"{path}[{first + at}]")
        for at in range(len(were), len(are)):
            if old.rest is None:
                self._add(f"{path}[{first + at}]", _said(are[at]), None)
        for at in range(len(are), len(were)):
            if new.rest is None:
                self._add(f"{path}[{first + at}]", None, _said(were[at]))

    def _equal(self, old: Any, new: Any) -> bool:
        found = _Differences()
        # What is being compared around these may contain itself.
        found._same = set(self._same)
        found.compare(old, new, "")
        return not found.count


def _said(node: Any) -> str:
    """Return the text of what was kept."""
    return str(_text.elided(_words(node, 200), 300))


def _words(node: Any, room: int) -> str:
    kind = type(node)
    if kind is _Leaf:
        return str(node.text)
    if kind is not _Tree:
        return repr(node)
    if node.kind == "set" and not node.items:
        return "set()"
    left, right = _BRACKETS.get(node.kind, (f"{node.kind}(", ")"))
    parts: list[str] = []
    for key, each in node.items.items():
        if room < 10:
            parts.append(f"… +{(node.rest or len(node.items)) - len(parts):,} more")
            break
        if node.path is _member:
            part = repr(key)
        else:
            part = _words(each, room // 2)
            if node.path is not _index:
                part = f"{key!r}: {part}" if node.path is _key else f"{key}={part}"
        room -= len(part) + 2
        parts.append(part)
    comma = "," if left == "(" and len(parts) == 1 else ""
    return left + ", ".join(parts) + comma + right


_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "dict": ("{", "}"), "set": ("{", "}")}
