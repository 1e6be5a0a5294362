"""Texts of objects in a trace, composed from what the trace says that they contained."""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol

from freezeframe.model.trace import TracedValue

# Shapes of objects, as in `identities_agent.py`.
LIST, TUPLE, DICT, SET, FIELDS = range(5)
_BRACKETS = {LIST: ("[", "]"), TUPLE: ("(", ")"), DICT: ("{", "}"), SET: ("{", "}")}
#: the class whose text has no name before its brackets
_PLAIN = {LIST: "list", TUPLE: "tuple", DICT: "dict", SET: "set"}
#: characters of a text, and parts that are shown at each level
_LIMIT = 160
_MOST = (16, 6, 3, 0)


class Parts:
    """The parts of an object through a segment: what it contained first, and each change."""

    __slots__ = ("changes", "is_cut", "moments", "shape")

    def __init__(self, shape: int) -> None:
        self.shape = shape
        #: it had more parts than were recorded
        self.is_cut = False
        self.moments: list[int] = []
        #: name → index of the value; an index below 0 removes the part
        self.changes: list[dict[str, int]] = []

    def at(self, moment: int) -> dict[str, int] | None:
        """Return the parts at a moment; None if nothing was known of them."""
        count = bisect_right(self.moments, moment)
        if not count:
            return None
        found: dict[str, int] = {}
        for change in self.changes[:count]:
            for name, index in change.items():
                if index < 0:
                    found.pop(name, None)
                else:
                    found[name] = index
        return found


class Recorded(Protocol):
    """What a segment says of values and objects."""

    def found_value(self, index: int) -> TracedValue | tuple[str, int]: ...

    def parts_of(self, number: int) -> Parts | None: ...

    def moment_of(self, step: int) -> int | None: ...


class Contents:
    """What the objects of one segment contained."""

    def __init__(self, first_object: int, recorded: Recorded) -> None:
        self.first_object = first_object
        self._recorded = recorded
        self._objects: dict[int, Parts | None] = {}

    def keep(self, number: int, parts: Parts | None) -> None:
        """Remember the parts of an object."""
        self._objects[number] = parts

    def moment_of(self, step: int) -> int | None:
        """Return the moment at which a step began; None for one of another segment."""
        return self._recorded.moment_of(step)

    def _parts(self, number: int) -> Parts | None:
        if number not in self._objects:
            self.keep(number, self._recorded.parts_of(number))
        return self._objects[number]

    def text(self, kind: str, number: int, moment: int, depth: int = 0) -> str:
        """Return the text of an object at a moment."""
        held = self._parts(number)
        parts = held.at(moment) if held is not None else None
        if held is None or parts is None:
            return f"{kind}(…)" if kind not in _PLAIN.values() else _unknown(kind)
        most = _MOST[min(depth, len(_MOST) - 1)]
        shown = [
            self._part(held.shape, name, index, moment, depth)
            for name, index in list(self._ordered(held.shape, parts).items())[:most]
        ]
        if len(parts) > most and most and not held.is_cut:
            shown.append(f"… +{len(parts) - most} more")
        elif len(parts) > most or held.is_cut:
            shown.append("…")
        return _wrapped(held.shape, kind, shown, len(parts))

    @staticmethod
    def _ordered(shape: int, parts: dict[str, int]) -> dict[str, int]:
        if shape != FIELDS:
            return parts
        # Public fields say more, and may be all there is space for.
        return dict(sorted(parts.items(), key=lambda part: part[0].startswith("._")))

    def _part(self, shape: int, name: str, index: int, moment: int, depth: int) -> str:
        try:
            found = self._recorded.found_value(index)
        except (KeyError, IndexError):  # a damaged file
            found = TracedValue("…")
        if isinstance(found, TracedValue):
            text = found.text
        else:
            text = self.text(*found, moment, depth + 1)
        if shape == FIELDS:
            return f"{name[1:]}={text}"
        return f"{name[1:-1]}: {text}" if shape == DICT else text


def _unknown(kind: str) -> str:
    shape = next(shape for shape, name in _PLAIN.items() if name == kind)
    return "…".join(_BRACKETS[shape])


def _wrapped(shape: int, kind: str, shown: list[str], count: int) -> str:
    body = ", ".join(shown)
    if shape == FIELDS:
        return _elided(f"{kind}({body})")
    opening, closing = _BRACKETS.get(shape, ("(", ")"))
    if shape == TUPLE and count == 1:
        body += ","
    text = f"{opening}{body}{closing}" if count or shape != SET else ""
    if kind == _PLAIN.get(shape) and text:
        return _elided(text)
    return _elided(f"{kind}({text})")


def _elided(text: str) -> str:
    return text if len(text) <= _LIMIT else text[: _LIMIT - 1] + "…"


class ComposedValue(TracedValue):
    """An object as a value; its text is composed when it is read."""

    __slots__ = ("_contents", "_moment")
    _contents: Contents
    _moment: int

    def __init__(self, kind: str, number: int, contents: Contents, moment: int) -> None:
        put = object.__setattr__
        put(self, "type", kind)
        put(self, "object", number + contents.first_object)
        put(self, "_contents", contents)
        put(self, "_moment", moment)

    @property
    def text(self) -> str:
        number = (self.object or 0) - self._contents.first_object
        return self._contents.text(self.type, number, self._moment)

    def text_at(self, step: int) -> str | None:
        moment = self._contents.moment_of(step)
        if moment is None:
            return None
        number = (self.object or 0) - self._contents.first_object
        return self._contents.text(self.type, number, moment)
