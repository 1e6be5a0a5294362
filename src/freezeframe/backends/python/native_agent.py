"""Contents of values implemented in C: buffers, ctypes, tables; the module `_freezeframe_native`.

Runs inside the debuggee, under the rules of `object_fields_agent.py`. No code of the program runs,
no address is followed that the program may have made up, and nothing is cached in the value.
"""

from __future__ import annotations

import _weakref
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_objects: Any = sys.modules["_freezeframe_objects"]
#: elements of an array that are read for its text; bytes that are compared
_ELEMENTS, _COMPARED = 200, 1 << 22
#: rows that are compared of a series, or of a column of objects
_COMPARED_ROWS = 1_000
#: codes of the simple ctypes types that hold a number; others are addresses of texts
_NUMBERS = tuple("?bBhHiIlLqQfdg")
_PATHS = ("PosixPath", "PurePosixPath", "PureWindowsPath", "WindowsPath")


def shape(kind: type) -> Callable[[Any, Any, int], str] | None:
    """Return the shape of such a value, as in `value_structure_agent.py`; None for every other."""
    exact = _EXACT.get(id(kind))
    if exact is not None:
        return exact
    if _is_ctypes(kind):
        return _ctypes_text
    module = _objects.module_of(kind)
    if module == "_queue" and _objects.is_exactly(kind, "_queue", "SimpleQueue"):
        return _queue
    if module in ("pathlib", "pathlib._local") and _objects.is_exactly(kind, module, *_PATHS):
        return _path
    if is_masked(kind):
        return _masked
    return None


def replaces_repr(kind: type) -> bool:
    """Return whether the shape shows more than the value's repr, or avoids its side effects."""
    return id(kind) in _EXACT or shape(kind) is _path


def parts(value: Any) -> list[tuple[Any, Any]] | None:
    """Return the columns of a table, or the fields or elements of a ctypes object, by name."""
    kind = type(value)
    if is_table(kind):
        return _columns(value) if _objects.name_of(kind) == "DataFrame" else _rows(value)
    return _ctypes_parts(value, kind) if _is_ctypes(kind) else None


def mark(value: Any) -> Any:
    """Return what distinguishes two states of an array or a buffer; None if its text does."""
    kind = type(value)
    try:
        if kind is memoryview:
            return hash(value.tobytes()) if value.nbytes <= _COMPARED else None
        numpy: Any = sys.modules.get("numpy")
        if numpy is None or not (kind is numpy.ndarray or is_masked(kind)):
            return None
        plain = _plain(value)
        if plain.dtype.hasobject or plain.nbytes > _COMPARED:
            return None
        mask = _mask(value) if kind is not numpy.ndarray else None
        return hash((plain.tobytes(), mask.tobytes() if mask is not None else None))
    except Exception:
        return None


# --- buffers, aliases, references ---------------------------------------------------------------


def _memory(value: Any, inner: Any, limit: int) -> str:
    try:
        if value.ndim == 1 and value.itemsize == 1:
            contents = value[: max(16, limit)].tobytes()
            more = len(value) - len(contents)
            rest = f"… +{more:,} bytes" if more > 0 else ""
            return f"memoryview({contents!r}{rest})"
        if value.ndim == 1:
            some = value[:_ELEMENTS].tolist()
            texts = _some(map(repr, some), len(value), limit)
            return f"memoryview([{texts}], format={value.format!r})"
        return f"memoryview(shape={value.shape}, format={value.format!r})"
    except ValueError:
        return "memoryview(released)"
    except NotImplementedError:
        return f"memoryview(shape={value.shape}, format={value.format!r})"


def _some(texts: Any, total: int, limit: int) -> str:
    shown: list[str] = []
    budget = limit
    for text in texts:
        budget -= len(text) + 2
        if shown and budget < 0:
            break
        shown.append(text)
    if total > len(shown):
        shown.append(f"… +{total - len(shown):,} more")
    return ", ".join(shown)


def _alias(value: Any, inner: Any, limit: int) -> str:
    fields = types.GenericAlias.__dict__
    given = tuple.__iter__(fields["__args__"].__get__(value))
    texts = ", ".join(_type_text(each, inner, limit) for each in given)
    return f"{_type_text(fields['__origin__'].__get__(value), inner, limit)}[{texts or '()'}]"


def _union(value: Any, inner: Any, limit: int) -> str:
    given = tuple.__iter__(type(value).__dict__["__args__"].__get__(value))
    return " | ".join(_type_text(each, inner, limit) for each in given)


def _type_text(value: Any, inner: Any, limit: int) -> str:
    if value is type(None):
        return "None"
    if value is ...:
        return "..."
    if not issubclass(type(value), type):
        return "…" if inner is None else str(inner(value, limit))
    module = _objects.module_of(value)
    name: str = _objects.qualified(value)
    return name if module in ("builtins", "") else f"{module}.{name}"


def _weak_proxy(value: Any, inner: Any, limit: int) -> str:
    # The text of C: "<weakproxy at 0x… to NAME at 0x…>", or "…; to 'NAME' at 0x…>".
    text: str = _objects.find(type(value), "__repr__").__get__(value)()
    found = text.partition("to ")[2].rstrip(">").replace("'", "")
    return "<weakproxy; dead>" if found.startswith("NoneType") else f"<weakproxy to {found}>"


def _queue(value: Any, inner: Any, limit: int) -> str:
    size = type(value).qsize(value)
    return f"SimpleQueue({size:,} item{'' if size == 1 else 's'})"


def _path(value: Any, inner: Any, limit: int) -> str:
    # The path caches its text in the object: use a copy, which has no cache.
    copy = object.__new__(type(value))
    for name, each in _objects.slots(value).items():
        object.__setattr__(copy, name, each)
    return repr(copy)


_EXACT: dict[int, Callable[[Any, Any, int], str]] = {
    id(memoryview): _memory,
    id(_weakref.ProxyType): _weak_proxy,
    id(_weakref.CallableProxyType): _weak_proxy,
}
if hasattr(types, "GenericAlias"):
    _EXACT[id(types.GenericAlias)] = _alias
if hasattr(types, "UnionType"):
    _EXACT[id(types.UnionType)] = _union


# --- ctypes -------------------------------------------------------------------------------------


def _is_ctypes(kind: type) -> bool:
    module: Any = sys.modules.get("_ctypes")
    return module is not None and issubclass(
        kind, (module.Array, module.Structure, module.Union, module._Pointer)
    )


def is_array(kind: type) -> bool:
    module: Any = sys.modules.get("_ctypes")
    return module is not None and issubclass(kind, module.Array)


def _ctypes_text(value: Any, inner: Any, limit: int) -> str:
    module: Any = sys.modules["_ctypes"]
    kind = type(value)
    name = _objects.name_of(kind)
    if issubclass(kind, module._Pointer):
        return f"{name}({_address(value)})"
    text = _characters(value, kind, limit)
    if text is not None:
        return f"{name}({text})"
    if inner is None:
        return f"{name}(…)"
    contents = _ctypes_parts(value, kind)
    if issubclass(kind, module.Array):
        texts = (inner(each, limit // 2) for _, each in contents)
        return f"{name}({_some(texts, _objects.find(kind, '_length_'), limit)})"
    texts = (f"{key}={inner(each, limit // 2)}" for key, each in contents)
    return f"{name}({_some(texts, len(contents), limit)})"


def _address(value: Any) -> str:
    number = int.from_bytes(memoryview(value).cast("B").tobytes(), sys.byteorder)
    return f"{number:#x}" if number else "NULL"


def _characters(value: Any, kind: type, limit: int) -> str | None:
    """Return the contents of an array of characters up to its zero; None for other values."""
    module: Any = sys.modules["_ctypes"]
    element = _objects.find(kind, "_type_") if issubclass(kind, module.Array) else None
    if not issubclass(type(element), type) or _objects.find(element, "_type_") != "c":
        return None
    contents = module.Array.__getitem__(value, slice(0, max(16, limit)))
    return repr(
        contents.split(b"\0", 1)[0] if not contents.rstrip(b"\0").count(b"\0") else contents
    )


def _ctypes_parts(value: Any, kind: type) -> list[tuple[Any, Any]]:
    module: Any = sys.modules["_ctypes"]
    if issubclass(kind, module._Pointer):
        return []
    if issubclass(kind, module.Array):
        if not _is_readable(_objects.find(kind, "_type_")):
            return []
        size = min(_objects.find(kind, "_length_"), _ELEMENTS)
        return [(at, module.Array.__getitem__(value, at)) for at in range(size)]
    found: list[tuple[Any, Any]] = []
    for base in reversed(_objects.bases(kind)):
        # As given when the class was created: a sequence of names and types.
        listed = _objects.own_names(base).get("_fields_")
        if type(listed) not in (list, tuple):
            continue
        for entry in listed or ():
            field: Any = _objects.find(kind, entry[0]) if type(entry) is tuple else ""
            if _objects.name_of(type(field)) == "CField" and _is_readable(entry[1]):
                found.append((entry[0], field.__get__(value)))
    return found


def _is_readable(kind: Any) -> bool:
    """Return whether reading a value of this type follows no address."""
    module: Any = sys.modules["_ctypes"]
    if not issubclass(type(kind), type):
        return False
    if issubclass(kind, module._SimpleCData):
        return _objects.find(kind, "_type_") in (*_NUMBERS, "P", "c")
    if issubclass(kind, module.Array):
        return _is_readable(_objects.find(kind, "_type_"))
    return issubclass(kind, (module.Structure, module.Union, module._Pointer))


# --- numpy, pandas and polars -------------------------------------------------------------------


def is_masked(kind: type) -> bool:
    module = _objects.module_of(kind)
    return module in ("numpy.ma", "numpy.ma.core") and bool(
        _objects.is_exactly(kind, module, "MaskedArray")
    )


def is_table(kind: type) -> bool:
    if _objects.name_of(kind) not in ("DataFrame", "Series"):
        return False
    return str(_objects.module_of(kind)).partition(".")[0] in ("pandas", "polars")


def has_positions(kind: type) -> bool:
    """Return whether an element of a column is written `column[0]`, by its position."""
    return str(_objects.module_of(kind)).startswith("polars.")


def _plain(value: Any) -> Any:
    numpy: Any = sys.modules["numpy"]
    return numpy.ndarray.view(value, numpy.ndarray)


def _mask(value: Any) -> Any:
    found = (_objects.own_dict(value) or {}).get("_mask")
    return found if type(found) is sys.modules["numpy"].ndarray else None


def _masked(value: Any, inner: Any, limit: int) -> str:
    plain, mask = _plain(value), _mask(value)
    if inner is None or plain.dtype.hasobject:
        return f"masked_array(shape={plain.shape}, dtype={plain.dtype})"
    some = plain.flat[:_ELEMENTS].tolist()
    hidden = mask.flat[:_ELEMENTS].tolist() if mask is not None else [False] * len(some)
    texts = ["--" if hides is True else repr(each) for each, hides in zip(some, hidden)]  # noqa: B905
    size = "" if plain.ndim == 1 else f", shape={plain.shape}"
    return f"masked_array([{_some(texts, plain.size, limit)}]{size})"


def _columns(value: Any) -> list[tuple[Any, Any]] | None:
    """Return name and values of each column; None if the table is stored in another way."""
    numpy: Any = sys.modules.get("numpy")
    try:
        if has_positions(type(value)):
            columns = _objects.own_dict(value)["_df"].get_columns()
            return [(each.name(), _first(each)) for each in columns]
        manager = _objects.own_dict(value)["_mgr"]
        names = _array(manager.axes[0], numpy)
        found: dict[int, Any] = {}
        for block in manager.blocks:
            contents = block.values
            positions = block.mgr_locs.as_array.tolist()
            if type(contents) is numpy.ndarray and contents.ndim == 2:
                found.update(zip(positions, contents))  # noqa: B905 - 3.8
            else:
                found[positions[0]] = _array(contents, numpy)
    except Exception:
        return None
    if names is None:
        return None
    return [(name, _kept(found.get(at))) for at, name in enumerate(names.tolist())]


def _rows(value: Any) -> list[tuple[Any, Any]] | None:
    """Return the first values of a series, by position."""
    try:
        if has_positions(type(value)):
            return list(enumerate(_first(_objects.own_dict(value)["_s"])))
        (block,) = _objects.own_dict(value)["_mgr"].blocks
        contents = _array(block.values, sys.modules.get("numpy"))
        return None if contents is None else list(enumerate(contents[:_COMPARED_ROWS].tolist()))
    except Exception:
        return None


def _first(column: Any) -> list[Any]:
    """Return the first values of a column of polars, in its own representation."""
    found: list[Any] = column.slice(0, _COMPARED_ROWS).to_list()
    return found


def _kept(column: Any) -> Any:
    """Return a column that can be compared: one of objects as the list of its first objects."""
    if column is None or not column.dtype.hasobject:
        return column
    return column[:_COMPARED_ROWS].tolist()


def _array(value: Any, numpy: Any) -> Any:
    """Return the numpy array behind an index or a column of pandas; None for others."""
    for _ in range(4):
        if type(value) is numpy.ndarray:
            return value
        fields = _objects.own_dict(value)
        if fields is not None and "_data" in fields:
            value = fields["_data"]
        else:
            value = getattr(value, "_ndarray", None)
    return None
