"""How values are composed of their parts; the module `_freezeframe_shapes`.

Runs inside the debuggee, under the rules of `value_text_agent.py`. A shape is a function of the
value, of the function that shows a part in so many characters (None: parts are not shown), and of
the number of characters available.
"""

from __future__ import annotations

import _io
import _thread
import _weakref
import functools
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_objects: Any = sys.modules["_freezeframe_objects"]
#: minimum number of characters of one element's text
ELEMENT = 60
_elements, _items_of = _objects.elements, _objects.items_of
_shown_fields, _length = _objects.shown_fields, _objects.length


def gap(count: int) -> str:
    return f"…+{count:,} chars…"


def elided(text: str, limit: int) -> str:
    """Return *text*; if it is longer than *limit*, with its middle replaced by a count."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return text[:head] + gap(len(text) - head - tail) + text[len(text) - tail :]


def by_itself(value: Any, inner: Any, limit: int) -> str:
    if inner is None:
        return f"{_objects.name_of(type(value))}(…)"
    try:
        return elided(repr(value), limit)
    except Exception:
        return object.__repr__(value)


def _string(value: Any, inner: Any, limit: int) -> str:
    kind: Any = next(base for base in (str, bytes, bytearray) if issubclass(type(value), base))
    size = kind.__len__(value)
    if size <= limit:
        text = elided(kind.__repr__(value), limit)
        # The repr of a bytearray has the name of its class.
        return text if kind is bytearray else _wrapped(value, kind, text)
    # Truncated before anything is escaped: the string may have any length.
    head, tail = limit * 2 // 3, limit // 3
    first = _escaped(kind.__getitem__(value, slice(0, head)))
    last = _escaped(kind.__getitem__(value, slice(size - tail, size)))
    shown = f"'{first}{gap(size - head - tail)}{last}'"
    shown = shown if kind is str else f"b{shown}" if kind is bytes else f"bytearray(b{shown})"
    return shown if kind is bytearray else _wrapped(value, kind, shown)


def _escaped(value: Any) -> str:
    # A double quote in it makes Python use single quotes, whatever else it contains.
    return repr('"' + value)[2:-1] if isinstance(value, str) else repr(b'"' + bytes(value))[3:-1]


def _wrapped(value: Any, base: Any, text: str) -> str:
    """Return the builtin's text, under the name of a class that has its own repr."""
    kind = type(value)
    if kind is base or _objects.find(kind, "__repr__") is _objects.find(base, "__repr__"):
        return text
    return f"{_objects.name_of(kind)}({text})"


def _number(base: Any) -> Callable[[Any, Any, int], str]:
    def shape(value: Any, inner: Any, limit: int) -> str:
        return elided(_wrapped(value, base, base.__repr__(value)), max(limit, ELEMENT))

    return shape


def _joined(parts: Iterable[Any], total: int, one: Callable[[Any, int], str], limit: int) -> str:
    texts: list[str] = []
    budget = limit
    for part in parts:
        text = one(part, max(budget // 2, limit // 4))
        if texts and len(text) + 2 > budget:
            break
        budget -= len(text) + 2
        texts.append(text)
    if total > len(texts):
        texts.append(f"… +{total - len(texts):,} more")
    return ", ".join(texts)


def _sequence(base: Any, opening: str, closing: str) -> Callable[[Any, Any, int], str]:
    def shape(value: Any, inner: Any, limit: int) -> str:
        if inner is None:
            return _wrapped(value, base, f"{opening}…{closing}")
        total = _length(value)
        body = _joined(_elements(value), total, inner, limit)
        comma = "," if opening == "(" and total == 1 else ""
        return _wrapped(value, base, f"{opening}{body}{comma}{closing}")

    return shape


def _set(value: Any, inner: Any, limit: int) -> str:
    kind = type(value)
    name = _objects.name_of(kind)
    opening, closing = ("{", "}") if kind is set else (f"{name}({{", "})")
    if inner is None:
        return f"{opening}…{closing}"
    total = _length(value)
    if not total:
        return f"{name}()"
    return f"{opening}{_joined(_elements(value), total, inner, limit)}{closing}"


def _mapping(value: Any, inner: Any, limit: int) -> str:
    kind = type(value)
    opening, closing = ("{", "}") if kind is dict else (f"{_objects.name_of(kind)}({{", "})")
    return f"{opening}{_pairs(value, inner, limit)}{closing}"


def _pairs(value: Any, inner: Any, limit: int) -> str:
    if inner is None:
        return "…"

    def one(item: tuple[Any, Any], budget: int) -> str:
        return f"{inner(item[0], budget)}: {inner(item[1], budget)}"

    return _joined(_items_of(value), _length(value), one, limit)


def _default(value: Any, inner: Any, limit: int) -> str:
    factory = defaultdict.__dict__["default_factory"].__get__(value)
    made_by = _objects.named(factory) or (factory and f"{_objects.name_of(type(factory))}(…)")
    name = _objects.name_of(type(value))
    return f"{name}({made_by}, {{{_pairs(value, inner, limit)}}})"


def _proxy(value: Any, inner: Any, limit: int) -> str:
    shown = _objects.behind(value)
    if not issubclass(type(shown), dict):
        return f"mappingproxy({'…' if inner is None else inner(shown, limit)})"
    return f"mappingproxy({{{_pairs(shown, inner, limit)}}})"


def _view(value: Any, inner: Any, limit: int) -> str:
    name = _objects.name_of(type(value))
    if inner is None:
        return f"{name}([…])"
    return f"{name}([{_joined(iter(value), _length(value), inner, limit)}])"


def _deque(value: Any, inner: Any, limit: int) -> str:
    name = _objects.name_of(type(value))
    if inner is None:
        return f"{name}([…])"
    most = deque.__dict__["maxlen"].__get__(value)
    bound = f", maxlen={most}" if most is not None else ""
    return f"{name}([{_joined(_elements(value), _length(value), inner, limit)}]{bound})"


def enumerated(value: Any, inner: Any, limit: int) -> str:
    attributes = _objects.own_dict(value) or {}
    name = _objects.name_of(type(value))
    member = attributes.get("_name_")
    shown = "…" if inner is None else inner(attributes.get("_value_"), limit)
    return f"<{name}.{member}: {shown}>" if type(member) is str else f"<{name}: {shown}>"


def _error(value: Any, inner: Any, limit: int) -> str:
    """Return `KeyError('x')`, with the fields that a user-defined class adds."""
    name = _objects.name_of(type(value))
    if inner is None:
        return f"{name}(…)"
    added = _objects.exception_fields(value)
    known = {id(each) for each in _objects.exception_args(value)}
    parts: list[tuple[str, Any]] = [("", each) for each in _objects.exception_args(value)]
    parts += [(f"{key}=", each) for key, each in added.items() if id(each) not in known]
    return f"{name}({_joined(parts, len(parts), lambda p, r: p[0] + inner(p[1], r), limit)})"


def _module(value: Any, inner: Any, limit: int) -> str:
    attributes = _objects.own_dict(value) or {}
    file = attributes.get("__file__")
    where = f" from {file!r}" if type(file) is str else ""
    return f"<module {_objects.named(value)!r}{where}>"


def _class(value: Any, inner: Any, limit: int) -> str:
    return type.__repr__(value)


def _method(value: Any, inner: Any, limit: int) -> str:
    function = value.__func__
    name = function.__qualname__ if type(function) is types.FunctionType else "?"
    owner = "…" if inner is None else inner(value.__self__, limit // 2)
    return f"<bound method {name} of {owner}>"


def _partial(value: Any, inner: Any, limit: int) -> str:
    if inner is None:
        return "functools.partial(…)"
    members = functools.partial.__dict__
    called, given, named = (members[n].__get__(value) for n in ("func", "args", "keywords"))
    parts = [("", called), *(("", each) for each in tuple.__iter__(given))]
    parts += [(f"{key}=", each) for key, each in dict.items(named)]
    shown = _joined(parts, len(parts), lambda p, r: p[0] + inner(p[1], r), limit)
    return f"functools.partial({shown})"


def _weak(value: Any, inner: Any, limit: int) -> str:
    found = _weakref.ref.__call__(value)
    if found is None:
        return "<weakref; dead>"
    return f"<weakref to {_objects.name_of(type(found))} at {id(found):#x}>"


def _memory_file(base: Any) -> Callable[[Any, Any, int], str]:
    def shape(value: Any, inner: Any, limit: int) -> str:
        name = _objects.name_of(type(value))
        try:
            held = base.getvalue(value)
            at = base.tell(value)
        except ValueError:
            return f"{name}(closed)"
        where = "" if at in (0, len(held)) else f", at={at}"
        return f"{name}({_string(held, None, limit)}{where})"

    return shape


def _file(value: Any, inner: Any, limit: int) -> str:
    """Return an open file as Python does; without the file object of another type that it wraps."""
    raw = value
    if type(raw) is _io.TextIOWrapper:
        raw = _io.TextIOWrapper.__dict__["buffer"].__get__(raw)
    for kind in (_io.BufferedReader, _io.BufferedWriter, _io.BufferedRandom):
        if type(raw) is kind:
            raw = kind.__dict__["raw"].__get__(raw)
    return repr(value) if type(raw) is _io.FileIO else object.__repr__(value)


def _secret(value: Any, inner: Any, limit: int) -> str:
    return f"{_objects.name_of(type(value))}('**********')"


def _table(value: Any, inner: Any, limit: int) -> str | None:
    """Return a table of pandas or polars by its size and columns; None if its structure is
    unknown."""
    try:
        attributes = _objects.own_dict(value)
        if "_s" in attributes:
            column = attributes["_s"]
            return f"Series({column.len():,} elements, name={column.name()!r})"
        if "_df" in attributes:
            return _size(attributes["_df"].height(), attributes["_df"].columns())
        manager = attributes["_mgr"]
        read = _objects.find(type(manager), "axes")
        axes = dict(_objects.fields(manager)).get("axes") or read.__get__(manager)
        if len(axes) == 1:
            return f"Series({len(axes[0]):,} elements, name={attributes.get('_name')!r})"
        return _size(len(axes[1]), axes[0])
    except Exception:
        return None


def _size(rows: int, columns: Any) -> str:
    names = ", ".join(str(each) for each in columns[:20])
    more = ", …" if len(columns) > 20 else ""
    return f"DataFrame({rows:,} rows × {len(columns):,} columns: {names}{more})"


def _in_c(value: Any, kind: type) -> list[tuple[str, Any]]:
    """Return the fields of a ctypes number, or of a task or future of asyncio."""
    module: Any = sys.modules.get("_ctypes")
    if module is not None and issubclass(kind, module._SimpleCData):
        # Others are addresses of texts, which may be invalid.
        plain = _objects.find(kind, "_type_") in tuple("?bBhHiIlLqQfdgP")
        held = module._SimpleCData.__dict__["value"]
        return [("value", held.__get__(value))] if plain else []
    module = sys.modules.get("_asyncio")
    future = getattr(module, "Future", None)
    if future is None or (kind is not future and kind is not module.Task):
        return []
    state = future.__dict__["_state"].__get__(value)
    found = [] if kind is future else [("name", module.Task.get_name(value))]
    found.append(("state", state))
    if state == "FINISHED":
        failed = future.__dict__["_exception"].__get__(value)
        result = future.__dict__["_result"].__get__(value)
        found.append(("result", result) if failed is None else ("exception", failed))
    return found


def fields_text(value: Any, inner: Any, limit: int) -> str:
    """Return `Account(id=1, owner='Bo')`: an object by its fields."""
    kind = type(value)
    name = _objects.name_of(kind)
    if name in ("SecretStr", "SecretBytes", "Secret") and "pydantic" in _objects.module_of(kind):
        return _secret(value, inner, limit)
    library = _objects.module_of(kind).partition(".")[0]
    if name in ("DataFrame", "Series") and library in ("pandas", "polars"):
        shown = _table(value, inner, limit)
        if shown is not None:
            return shown
    held = _in_c(value, kind) or _shown_fields(value)
    if not held and (not _objects.has_fields(value) or _objects.is_opaque(kind)):
        return object.__repr__(value)
    if inner is None:
        return f"{name}(…)"
    if kind is types.SimpleNamespace:
        name = "namespace"
    # Public fields say more, and may be all there is space for.
    held.sort(key=lambda field: field[0].startswith("_"))

    def one(field: tuple[str, Any], budget: int) -> str:
        return f"{field[0]}={inner(field[1], budget)}"

    return f"{name}({_joined(held, len(held), one, limit)})"


_LIST, _TUPLE = _sequence(list, "[", "]"), _sequence(tuple, "(", ")")
#: id of a class → its shape, which takes precedence
EXACT: dict[int, Callable[[Any, Any, int], str]] = {
    id(kind): by_itself
    for kind in (
        int, float, bool, complex, type(None), type(...), type(NotImplemented), range,
        types.FunctionType, types.BuiltinFunctionType, types.GeneratorType, types.CoroutineType,
        types.AsyncGeneratorType, types.CodeType, types.FrameType, types.TracebackType,
        types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType,
        types.MemberDescriptorType, types.CellType, type(_thread.allocate_lock()), _thread.RLock,
    )
}  # fmt: skip
EXACT.update(
    {
        id(types.MethodType): _method,
        id(types.MappingProxyType): _proxy,
        id(_io.FileIO): _file,
        id(_io.TextIOWrapper): _file,
        id(_io.BufferedReader): _file,
        id(_io.BufferedWriter): _file,
        id(_io.BufferedRandom): _file,
    }
)
#: classes in C whose repr shows less than ours, or runs code of the program
WITHOUT_OWN = frozenset(
    map(id, (types.MethodType, types.MappingProxyType, functools.partial, types.SimpleNamespace))
)
MAPPING_PROXY = types.MappingProxyType.__dict__["__repr__"]
_VIEWS: Any = (type({}.keys()), type({}.values()), type({}.items()))
#: a builtin class → its shape, also for subclasses with their own repr; subclasses first
_CONTAINERS: tuple[tuple[Any, Callable[[Any, Any, int], str]], ...] = (
    (str, _string),
    (bytes, _string),
    (bytearray, _string),
    (list, _LIST),
    (tuple, _TUPLE),
    (set, _set),
    (frozenset, _set),
    (defaultdict, _default),
    (dict, _mapping),
    (deque, _deque),
    (BaseException, _error),
)
#: a builtin class → the shape of its subclasses that have their own repr
BASES: tuple[tuple[Any, Callable[[Any, Any, int], str]], ...] = (
    *_CONTAINERS,
    (int, _number(int)),
    (float, _number(float)),
    (complex, _number(complex)),
    (type, _class),
    (types.ModuleType, _module),
    (functools.partial, _partial),
    (_weakref.ref, _weak),
    (_io.StringIO, _memory_file(_io.StringIO)),
    (_io.BytesIO, _memory_file(_io.BytesIO)),
)
#: id of a builtin's __repr__ → the shape of every class that has it
SHAPES: dict[int, Callable[[Any, Any, int], str]] = {
    id(_objects.find(kind, "__repr__")): shape
    for kind, shape in (
        *_CONTAINERS,
        (OrderedDict, _mapping),
        (Counter, _mapping),
        *((kind, _view) for kind in _VIEWS),
    )
}
