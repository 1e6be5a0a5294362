"""What changed in a frame between two stops; runs inside the debuggee.

Follows the rules of `agent.py`; becomes the module `_freezeframe_changes`. The values of a frame's
variables are kept as trees (`value_trees_agent.py`), so that a change anywhere inside is reported
by its path; where several paths lead to the changed object, by the shortest. Objects are compared
by their fields: another one with equal fields is no change.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_trees: Any = sys.modules["_freezeframe_trees"]
_Leaf, _Tree = _trees.Leaf, _trees.Tree
_shown: Any = _trees.shown
#: changed parts reported for one variable
_PARTS = 12
#: changed parts looked at to find the shortest paths
_MOST_PARTS = 200
#: an object with more differences than this is another object, not a changed one
_ALIKE = 2
_KEPT_FRAMES = 16
_GENERATORS = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
#: flags of code that can be suspended: generators, coroutines, async generators
_SUSPENDS = 0x20 | 0x80 | 0x200
#: id of a frame → its last recorded state
_seen: dict[int, _Seen] = {}
#: thread → how often it stopped
_stops: dict[int, int] = {}


class _Seen:
    """A frame at its last two stops."""

    def __init__(self, tag: Any, code: Any) -> None:
        self.tag, self.code = tag, code
        self.stop = -1
        self.before: dict[str, Any] | None = None
        #: at the first request of the last stop, and at the last request
        self.first: dict[str, Any] | None = None
        self.now: dict[str, Any] | None = None
        #: the text that each variable was shown as
        self.texts_before: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        #: values that functions returned on the way to the last stop
        self.returned: dict[str, Any] = {}


def stopped() -> None:
    """This thread stops: the recorded state of its frames becomes the previous one."""
    thread = threading.get_ident()
    _stops[thread] = _stops.get(thread, 0) + 1


def look(frame: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Return what changed in a frame's variables since its last stop: facts by name.

    Under the empty name: variables that no longer exist. The same at every call in one stop.
    """
    seen = _seen.pop(id(frame), None)
    tag = _tag(frame)
    number = _stops.get(threading.get_ident(), 0)
    if seen is None or seen.code is not frame.f_code or not _same(seen, tag, frame, number):
        seen = _Seen(tag, frame.f_code)
    seen.tag = tag if tag is not None else seen.tag
    _seen[id(frame)] = seen
    while len(_seen) > _KEPT_FRAMES:
        del _seen[next(iter(_seen))]
    if seen.stop != number:
        seen.stop, seen.before = number, seen.now
        seen.texts_before, seen.texts = seen.texts, {}
        seen.returned = {}
        seen.first = None
    seen.now = _trees.keep(named)
    if seen.first is None:
        seen.first = seen.now
    if seen.before is None:
        return {name: {"changed": False} for name in named}
    changes = _changes(seen.before, seen.now, seen.texts_before)
    return _by_the_program(changes, seen.first, seen.now)


def _by_the_program(
    changes: dict[str, Any], first: dict[str, Any], now: dict[str, Any]
) -> dict[str, Any]:
    """Leave out changes made by the debugger while the program was stopped."""
    for name, node in now.items():
        if name not in first or not _Differences()._equal(first[name], node):
            changes[name] = {"changed": False}
    changes[""] = [each for each in changes[""] if each[0] not in first]
    return changes


def rebase(visible: Callable[[Any], dict[str, Any]]) -> None:
    """The program resumes after the debugger changed it: do not blame its next step for that.

    *visible* returns the variables of a frame that are shown.
    """
    for innermost in list(sys._current_frames().values()):
        frame: Any = innermost
        while frame is not None:
            seen = _seen.get(id(frame))
            if seen is not None and seen.code is frame.f_code and seen.now is not None:
                now = _trees.keep(visible(frame))
                for name, fact in _changes(seen.now, now, {}).items():
                    if name and fact["changed"]:
                        seen.texts.pop(name, None)
                seen.now = now
            frame = frame.f_back


def returned(frame: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that functions returned since the last stop of *frame*; call `look` first.

    pydevd keeps *values* as long as the frame lives: they are removed once reported.
    """
    seen = _seen.get(id(frame))
    if seen is None:
        return values
    seen.returned.update(values)
    values.clear()
    return seen.returned


def record_text(frame: Any, name: str, text: str) -> None:
    """Record the text that a variable of *frame* is shown as, for the next stop."""
    seen = _seen.get(id(frame))
    if seen is not None:
        seen.texts[name] = text


def _tag(frame: Any) -> Any:
    """Return an object unique to this frame, to distinguish a later frame at the same address.

    Up to 3.11 that is pydevd's object for the frame, behind its trace function; later pydevd sets
    none and `f_trace` is free. Such a function is never called: nothing traces there.
    """
    if sys.version_info < (3, 12) and frame.f_code.co_flags & _SUSPENDS:
        # pydevd has another object for it each time that it resumes.
        return _generator(frame)
    trace = frame.f_trace
    if type(trace).__name__ == "Local":  # of `trace_sharing_agent.py`
        trace = trace.debugger
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


def _same(seen: _Seen, tag: Any, frame: Any, number: int) -> bool:
    """Return whether *frame* is the one recorded in *seen*, not a later one at its address."""
    if seen.tag is not None and tag is not None:
        return bool(seen.tag is tag)
    if seen.stop == number:
        return True
    names: Any = sys.modules["_freezeframe_names"]
    return seen.tag is not tag and not names.begins(frame)


# --- comparing ----------------------------------------------------------------------------------


def _changes(
    before: dict[str, Any], now: dict[str, Any], texts_before: dict[str, str]
) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    differing: dict[str, _Differences] = {}
    for name, node in now.items():
        if name not in before:
            changes[name] = {"changed": True}
            continue
        old = before[name]
        found = _Differences()
        found.compare(old, node, name)
        if found.count > _ALIKE and type(old) is type(node) is _Tree and old.id != node.id:
            # The name refers to another object now; what the two have in common is chance.
            found = _Differences()
            found.add(name, None, None, None)
        changes[name] = {"changed": found.count > 0}
        if found.count:
            differing[name] = found
    nearest = _nearest(differing)
    for name, found in differing.items():
        fact = changes[name]
        fact["was"] = texts_before.get(name) or _shown(before[name])
        others = [nearest.get(position, name) for position in found.parts]
        if others and name not in others:
            # Another variable leads to every object that changed, by a shorter path.
            fact["same"] = others[0]
            continue
        own = [part for part, other in zip(found.parts.values(), others) if other == name]  # noqa: B905 - 3.8
        own.sort(key=lambda part: _depth(part[0]))
        fact["parts"] = [part for part in own[:_PARTS] if part[0] != name]
        fact["more"] = len(own) - len(own[:_PARTS]) + found.count - len(found.parts)
    changes[""] = [
        (name, texts_before.get(name) or _shown(old))
        for name, old in before.items()
        if name not in now
    ]
    return changes


def _nearest(differing: dict[str, _Differences]) -> dict[Any, str]:
    """Return the variable with the shortest path to each changed position."""
    found: dict[Any, tuple[int, str]] = {}
    for name, each in differing.items():
        for position, part in each.parts.items():
            depth = _depth(part[0])
            if position is not None and (position not in found or depth < found[position][0]):
                found[position] = (depth, name)
    return {position: name for position, (_, name) in found.items()}


def _depth(path: str | None) -> int:
    return sum(map((path or "").count, (".", "[", " has ")))


class _Differences:
    """What differs between two states of a variable: the first few by their paths, all counted."""

    def __init__(self) -> None:
        #: position (object and key) → path, text now, text then; a position has several paths
        self.parts: dict[Any, list[str | None]] = {}
        #: all of them, also those inside private fields of libraries
        self.count = 0
        self._same: set[tuple[int, int]] = set()

    def add(self, path: str, now: str | None, was: str | None, position: Any) -> None:
        self.count += 1
        if len(self.parts) < _MOST_PARTS:
            self.parts[position] = [path, now, was]

    def compare(
        self, old: Any, new: Any, path: str, position: Any = None, private: bool = False
    ) -> None:
        if old is new:
            return
        kind = type(old)
        if kind is _Tree and type(new) is _Tree and old.kind == new.kind:
            if (id(old), id(new)) not in self._same:
                # Also ends the recursion in a structure that contains itself.
                self._same.add((id(old), id(new)))
                before = dict(self.parts) if private else None
                self._compare_trees(old, new, path)
                if before is not None:
                    self.parts = before
        elif kind is not type(new) or kind is _Tree or _differ(old, new):
            self.add(path, _shown(new), _shown(old), position)

    def _compare_trees(self, old: Any, new: Any, path: str) -> None:
        path_to = new.path
        position = (id(old), id(new))
        if path_to is _trees.index:
            self._compare_sequences(old, new, path)
        else:
            absent = "False" if path_to is _trees.member else None
            private = new.private_items()
            # Those last: what they lead to may be reported by another path.
            for key, node in sorted(new.items.items(), key=lambda each: each[0] in private):
                below, at = path + path_to(key), (*position, key)
                if key in old.items:
                    self.compare(old.items[key], node, below, at, key in private)
                elif old.rest is None:
                    self.add(below, _shown(node), absent, at)
            if new.rest is None:
                for key, node in old.items.items():
                    if key not in new.items:
                        self.add(path + path_to(key), absent, _shown(node), (*position, key))
        if old.rest != new.rest:
            sizes = [tree.rest or len(tree.items) for tree in (new, old)]
            if sizes[0] != sizes[1]:
                self.add(f"len({path})", str(sizes[0]), str(sizes[1]), (*position, None))

    def _compare_sequences(self, old: Any, new: Any, path: str) -> None:
        """Report an added or removed element by its index, not all elements that moved because of
        it."""
        were, are = list(old.items.values()), list(new.items.values())
        position = (id(old), id(new))
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
        for at, (was, now) in enumerate(zip(were, are), first):  # noqa: B905 - 3.8
            self.compare(was, now, f"{path}[{at}]", (*position, at))
        for at in range(len(were), len(are)):
            if old.rest is None:
                self.add(f"{path}[{first + at}]", _shown(are[at]), None, (*position, first + at))
        for at in range(len(are), len(were)):
            if new.rest is None:
                self.add(f"{path}[{first + at}]", None, _shown(were[at]), (*position, first + at))

    def _equal(self, old: Any, new: Any) -> bool:
        found = _Differences()
        # The structures being compared around these may contain themselves.
        found._same = set(self._same)
        found.compare(old, new, "")
        return not found.count


def _differ(old: Any, new: Any) -> bool:
    """Whether two values of one type without structure differ; NaN does not differ from NaN."""
    if type(old) is _Leaf:
        return bool(old.key != new.key)
    return bool(old != new and not (old != old and new != new))
