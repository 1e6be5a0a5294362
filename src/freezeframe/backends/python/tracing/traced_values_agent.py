"""Texts of values in a trace; the module `_freezeframe_values`.

Runs inside the traced program and imports nothing of this package. No code of the program runs.
Texts have the form that `value_text_agent` gives them; those of plain values are made here, only
two levels deep, because a trace needs many of them.
"""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

_objects: Any = sys.modules["_freezeframe_objects"]
_text: Any = sys.modules["_freezeframe_text"]
_shapes: Any = sys.modules["_freezeframe_shapes"]
_log: Any = sys.modules["_freezeframe_log"]
_identities: Any = sys.modules["_freezeframe_identities"]

#: characters of a value's text
_LIMIT = 160
#: characters of a string whose text is cached
_SHORT = 200
ATOMS, LIST, DICT, INSTANCE = (
    _identities.ATOMS, _identities.LIST, _identities.DICT, _identities.INSTANCE,
)  # fmt: skip
known_of, kind_of = _identities.known_of, _identities.kind_of
#: how often parts of objects have changed
changes = [0]


def value_of(value: Any, made: Any = None) -> Any:
    """Return the index of a value in the trace's table; its text is made where it is new."""
    kind = type(value)
    if kind is int:
        found = _log.ints.get(value)
        return found if found is not None else _new_int(value)
    if kind is str:
        if len(value) <= _SHORT:
            found = _log.strs.get(value)
            if found is None:
                found = _log.strs[value] = _log.value(_elided(repr(value)), "str", -1)
            return found
        return _log.value(_elided(repr(value[:_LIMIT])[:-1] + "…"), "str", -1)
    if value is None:
        return _log.none()
    if kind is bool:
        return _log.value("True" if value else "False", "bool", -1)
    if kind is float:
        return _log.value(repr(value), "float", -1)
    if made is None:
        made = known_of(value)
    if made is None:
        return _log.value(_show(value), kind_of(kind).name, -1)
    if made.text < 0 or made.changed != changes[0]:
        made.text = _log.value(_show(value), kind_of(kind).name, made.number)
        made.changed = changes[0]
    return made.text


def value_read(value: Any, made: Any) -> Any:
    """Return the index of a value that a line reads: a text that exists is used again while
    nothing in the value can have changed.
    """
    if made is None:
        return value_of(value)
    if made.text >= 0 and (made.is_flat or made.changed == changes[0]):
        return made.text
    if made.shape in (LIST, DICT, INSTANCE) and not made.is_flat:
        text = quick(value, 1)
        if text is not None:
            return int(_log.value(_elided(text), kind_of(type(value)).name, made.number))
    return value_of(value, made)


def _new_int(value: int) -> Any:
    text = repr(value) if value.bit_length() < 400 else _show(value)
    found = _log.value(text, "int", -1)
    if len(_log.ints) < 100_000:
        _log.ints[value] = found
    return found


def _elided(text: str) -> str:
    return text if len(text) <= _LIMIT else text[: _LIMIT - 1] + "…"


def _show(value: Any) -> str:
    try:
        text = quick(value, 0)
        return _elided(_text.show(value, _LIMIT) if text is None else text)
    except Exception:
        return f"<{_objects.name_of(type(value))}>"


def quick(value: Any, depth: int) -> str | None:
    """Return the text of a value whose class needs nothing special, in the form that
    `value_text_agent` gives it, but only two levels deep; None for others.
    """
    kind = type(value)
    if id(kind) in ATOMS:
        if (kind is str or kind is bytes) and len(value) > 60:
            return repr(value[:60])[:-1] + "…" + repr(value)[:1]
        return None if kind is int and value.bit_length() > 400 else repr(value)
    if kind is list:
        return f"[{_quick_elements(value, depth)}]"
    if kind is tuple:
        return f"({_quick_elements(value, depth)}{',' if len(value) == 1 else ''})"
    if kind is dict:
        return f"{{{_quick_items(value, depth)}}}"
    how = kind_of(kind)
    if how.is_quick is None:
        how.is_quick = _is_shown_by_fields(kind, value, how)
    if not how.is_quick:
        return None
    own = how.get_dict(value)
    if type(own) is not dict:
        return None
    return f"{how.name}({_quick_fields(own, depth)})"


_MOST = (12, 6, 0)


def inner_text(value: Any, depth: int) -> str:
    found = quick(value, depth + 1)
    return _text.show(value, 60) if found is None else found


def _more(count: int, shown: int) -> str:
    if count <= shown:
        return ""
    return f", … +{count - shown} more" if shown else "…"


def _quick_elements(value: Any, depth: int) -> str:
    most = _MOST[depth]
    text = ", ".join([inner_text(each, depth) for each in value[:most]])
    return text + _more(len(value), most)


def _quick_items(value: Any, depth: int) -> str:
    most = _MOST[depth]
    pairs = [
        f"{inner_text(key, 1)}: {inner_text(each, depth)}"
        for key, each in islice(value.items(), most)
    ]
    return ", ".join(pairs) + _more(len(value), most)


def _quick_fields(own: Any, depth: int) -> str:
    most = _MOST[depth]
    if not most:
        return "…" if own else ""
    names = [name for name in own if type(name) is str]
    if any(name[:1] == "_" for name in names):
        names.sort(key=_is_private)
    pairs = [f"{name}={inner_text(own[name], depth)}" for name in names[:most]]
    return ", ".join(pairs) + _more(len(names), most)


def _is_private(name: str) -> bool:
    return name[:1] == "_"


def _is_shown_by_fields(kind: type, value: Any, how: Any) -> bool:
    """Return whether the text of such instances is the class with all of its fields."""
    if how.get_dict is None or how.slots or issubclass(kind, (BaseException, type)):
        return False
    if _objects.hidden_fields(kind):
        return False
    written = _objects.find(kind, "__repr__")
    return _text.shape_of(kind, written, value) is _shapes.fields_text and bool(
        _text.show(value, _LIMIT).startswith(how.name + "(")
    )
