"""What a value says of itself and holds; runs inside the debuggee, as `_freezeframe_text`.

Written in the words of Python 3.8, with nothing of this package. Texts are bounded whatever the
value is. The only code of the program's own that runs is a `__repr__` written in
Python; no property, no iterator, no method of a container is touched.
"""

from __future__ import annotations

import enum
import itertools
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: characters of one element's text at the least
_ELEMENT = 60
_MAX_DEPTH = 8
#: an integer of more bits is shown in hex, which takes no quadratic time
_MAX_BITS = 4_000
#: types whose __repr__ had to be interrupted: it is not called again
_hanging: list[type] = []
_DICTS = (dict, types.MappingProxyType)


# --- text ---------------------------------------------------------------------------------------


class Failed(Exception):
    """A __repr__ that gave no text; the message says why."""


def show(value: Any, limit: int) -> str:
    """Return what a reader sees of *value* in about *limit* characters; never raises."""
    try:
        return text_of(value, limit)
    except Failed as why:
        return f"<{type(value).__name__}: {why}>"


def text_of(value: Any, limit: int, depth: int = 0, above: tuple[int, ...] = ()) -> str:
    """Return what a reader sees of *value*. Raises Failed when its __repr__ gives no text."""
    kind = type(value)
    written: Any = kind.__repr__
    if written in _STRINGS:
        return _string(value, limit)
    if kind is int and value.bit_length() > _MAX_BITS:
        return elided(hex(value), limit)
    shape = _shape(kind, written)
    if shape is None:
        return elided(_own_repr(value, kind, written), limit)
    if id(value) in above or depth > _MAX_DEPTH:
        return shape(value, None, 0)
    above = (*above, id(value))

    def inner(child: Any, room: int) -> str:
        try:
            return text_of(child, max(_ELEMENT, room), depth + 1, above)
        except Failed as why:
            return f"<{type(child).__name__}: {why}>"

    return shape(value, inner, limit)


def _string(value: Any, limit: int) -> str:
    kind: Any = next(base for base in (str, bytes, bytearray) if issubclass(type(value), base))
    size = kind.__len__(value)
    if size <= limit:
        return elided(kind.__repr__(value), limit)
    # The ends are cut out before anything is escaped: the string may have any length.
    head, tail = limit * 2 // 3, limit // 3
    first = _escaped(kind.__getitem__(value, slice(0, head)))
    last = _escaped(kind.__getitem__(value, slice(size - tail, size)))
    shown = f"'{first}{gap(size - head - tail)}{last}'"
    return shown if kind is str else f"b{shown}" if kind is bytes else f"bytearray(b{shown})"


def _escaped(value: Any) -> str:
    # A double quote in it makes Python use single ones, whatever else it holds.
    return repr('"' + value)[2:-1] if isinstance(value, str) else repr(b'"' + bytes(value))[3:-1]


def gap(count: int) -> str:
    return f"…+{count:,} chars…"


def elided(text: str, limit: int) -> str:
    """Return *text*, its middle left out and counted when it is longer than *limit*."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return text[:head] + gap(len(text) - head - tail) + text[len(text) - tail :]


def _own_repr(value: Any, kind: type, written: Any) -> str:
    """Return what the value says of itself. Raises Failed when it says nothing."""
    if kind in _hanging:
        raise Failed("its __repr__ took too long before")
    try:
        text = written(value)
        if isinstance(text, str):
            return text
        raise Failed(f"__repr__ returned a {type(text).__name__}")
    except Failed:
        raise
    except BaseException as error:
        # The probe's own way to end a whole request is not the value's to survive.
        if type(error).__name__ == "UnstuckAtAll":
            raise
        if type(error).__name__ == "Unstuck":
            _hanging.append(kind)
            raise Failed("__repr__ took too long and was interrupted") from None
        raise Failed(f"__repr__ raised {_words(error)}") from None


def _words(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:200]
    except Exception:
        return type(error).__name__


def _shape(kind: type, written: Any) -> Callable[[Any, Any, int], str] | None:
    """Return how values of *kind* are put together from their parts; None for their own text."""
    plain = _SHAPES.get(written)
    if plain is not None:
        return plain
    if written is object.__repr__ or _is_generated(kind, written):
        if issubclass(kind, enum.Enum):
            return None
        return _fields_text
    return None


def _is_generated(kind: type, written: Any) -> bool:
    """A __repr__ that a dataclass or namedtuple wrote: it shows the fields, whole."""
    if getattr(kind, "__dataclass_fields__", None) is not None:
        code = getattr(getattr(written, "__wrapped__", None), "__code__", None)
        return code is not None and code.co_filename == "<string>"
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return getattr(written, "__module__", None) == "collections"
    return False


def _joined(
    value: Any, parts: Iterable[Any], total: int, one: Callable[[Any, int], str], limit: int
) -> str:
    words: list[str] = []
    room = limit
    for part in parts:
        text = one(part, max(room // 2, limit // 4))
        if words and len(text) + 2 > room:
            break
        room -= len(text) + 2
        words.append(text)
    if total > len(words):
        words.append(f"… +{total - len(words):,} more")
    return ", ".join(words)


def _sequence(left: str, right: str) -> Callable[[Any, Any, int], str]:
    def shape(value: Any, inner: Any, limit: int) -> str:
        if inner is None:
            return f"{left}…{right}"
        total = length(value)
        body = _joined(value, elements(value), total, inner, limit)
        comma = "," if left == "(" and total == 1 else ""
        return f"{left}{body}{comma}{right}"

    return shape


def _set(value: Any, inner: Any, limit: int) -> str:
    kind = type(value)
    left, right = ("{", "}") if kind is set else (f"{kind.__name__}({{", "})")
    if inner is None:
        return f"{left}…{right}"
    total = length(value)
    if not total:
        return f"{kind.__name__}()"
    return f"{left}{_joined(value, elements(value), total, inner, limit)}{right}"


def _mapping(value: Any, inner: Any, limit: int) -> str:
    kind = type(value)
    left, right = ("{", "}") if kind is dict else (f"{kind.__name__}({{", "})")
    if inner is None:
        return f"{left}…{right}"

    def one(item: tuple[Any, Any], room: int) -> str:
        return f"{inner(item[0], room)}: {inner(item[1], room)}"

    return f"{left}{_joined(value, items_of(value), length(value), one, limit)}{right}"


def _default(value: Any, inner: Any, limit: int) -> str:
    made_by = getattr(value.default_factory, "__name__", value.default_factory)
    if inner is None:
        return f"defaultdict({made_by}, {{…}})"

    def one(item: tuple[Any, Any], room: int) -> str:
        return f"{inner(item[0], room)}: {inner(item[1], room)}"

    body = _joined(value, dict.items(value), length(value), one, limit)
    return f"defaultdict({made_by}, {{{body}}})"


def _view(value: Any, inner: Any, limit: int) -> str:
    name = type(value).__name__
    if inner is None:
        return f"{name}([…])"
    return f"{name}([{_joined(value, iter(value), length(value), inner, limit)}])"


def _deque(value: Any, inner: Any, limit: int) -> str:
    if inner is None:
        return "deque([…])"
    bound = f", maxlen={value.maxlen}" if value.maxlen is not None else ""
    return f"deque([{_joined(value, deque.__iter__(value), length(value), inner, limit)}]{bound})"


def _fields_text(value: Any, inner: Any, limit: int) -> str:
    """Return `Account(id=1, owner='Bo')`: an object by its fields."""
    name = type(value).__name__
    fields = shown_fields(value)
    if not fields and not _has_fields(value):
        return object.__repr__(value)
    if inner is None:
        return f"{name}(…)"

    def one(field: tuple[str, Any], room: int) -> str:
        return f"{field[0]}={inner(field[1], room)}"

    return f"{name}({_joined(value, fields, len(fields), one, limit)})"


_SHAPES: dict[Any, Callable[[Any, Any, int], str]] = {
    list.__repr__: _sequence("[", "]"),
    tuple.__repr__: _sequence("(", ")"),
    set.__repr__: _set,
    frozenset.__repr__: _set,
    dict.__repr__: _mapping,
    OrderedDict.__repr__: _mapping,
    Counter.__repr__: _mapping,
    defaultdict.__repr__: _default,
    deque.__repr__: _deque,
    type({}.keys()).__repr__: _view,
    type({}.values()).__repr__: _view,
    type({}.items()).__repr__: _view,
}
_STRINGS = (str.__repr__, bytes.__repr__, bytearray.__repr__)


# --- what is inside -----------------------------------------------------------------------------


def elements(value: Any) -> Iterator[Any]:
    """Iterate a builtin container, or a kind of one, without its class's own methods."""
    kind = type(value)
    for base in (list, tuple, deque, set, frozenset):
        if issubclass(kind, base):
            found: Iterator[Any] = base.__iter__(value)
            return found
    return iter(value)


def items_of(value: Any) -> Iterable[tuple[Any, Any]]:
    found: Iterable[tuple[Any, Any]] = (
        dict.items(value) if issubclass(type(value), dict) else value.items()
    )
    return found


def _has_fields(value: Any) -> bool:
    kind = type(value)
    return "__dict__" in dir(kind) or any("__slots__" in base.__dict__ for base in kind.__mro__)


def fields(value: Any) -> list[tuple[str, Any]]:
    """Return the instance's own fields, in the order they were set; no property runs."""
    found: dict[str, Any] = {}
    for base in reversed(type(value).__mro__):
        for name, member in base.__dict__.items():
            if type(member) is types.MemberDescriptorType and not name.startswith("__"):
                try:
                    found[name] = member.__get__(value, type(value))
                except Exception:
                    continue
    try:
        own = object.__getattribute__(value, "__dict__")
    except Exception:
        own = None
    if type(own) is dict:
        found.update((str(name), each) for name, each in own.items())
    if isinstance(value, BaseException):
        found = {"args": value.args, **found}
    return list(found.items())


def shown_fields(value: Any) -> list[tuple[str, Any]]:
    kind = type(value)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return list(zip(kind._fields, tuple.__iter__(value), strict=False))
    own = fields(value)
    declared = getattr(kind, "__dataclass_fields__", None)
    if type(declared) is dict and _is_generated(kind, kind.__repr__):
        known = dict(own)
        return [(n, known[n]) for n, f in declared.items() if n in known and f.repr]
    return own


def children(value: Any, start: int, end: int) -> list[tuple[str, Any, str | None]] | None:
    """Return name, value and path of what *value* holds; None where only its class could tell."""
    kind = type(value)
    if issubclass(kind, _DICTS):
        return [
            (show(key, 200), each, f"[{path}]" if (path := _literal(key)) else None)
            for key, each in itertools.islice(items_of(value), start, end)
        ]
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        named = shown_fields(value)[start:end]
        return [(name, each, f".{name}") for name, each in named]
    if issubclass(kind, (list, tuple, range, deque)):
        chosen = value[start:end] if kind is range else None
        if chosen is None:
            chosen = itertools.islice(elements(value), start, end)
        return [(str(i), each, f"[{i}]") for i, each in enumerate(chosen, start)]
    if issubclass(kind, (set, frozenset)):
        some = itertools.islice(elements(value), start, end)
        return [(str(i), each, None) for i, each in enumerate(some, start)]
    own = shown_fields(value)
    written: Any = kind.__repr__
    if own or written is object.__repr__:
        return [(name, each, f".{name}") for name, each in own[start:end]]
    return None


def _literal(key: Any) -> str | None:
    return repr(key) if type(key) in (str, int, bool, bytes, float, type(None)) else None


_SIZED = (str, bytes, bytearray, list, tuple, dict, set, frozenset, deque, range)


def count(value: Any) -> int | None:
    """Return how many elements or characters there are; None where only the value knows."""
    kind = type(value)
    for base in _SIZED:
        if issubclass(kind, base):
            return base.__len__(value)
    return None


def length(value: Any) -> int:
    known = count(value)
    return len(value) if known is None else known
