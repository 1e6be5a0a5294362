"""Texts of values; runs inside the debuggee, as `_freezeframe_text`.

Written for Python 3.8, and imports nothing of this package. Texts are bounded for any value. No
code of the program runs, except with *may_run_code* a user-defined `__repr__`. Otherwise an object
is shown by its fields, and a subclass of a builtin container by the builtin's methods.
"""

from __future__ import annotations

import _io
import _thread
import enum
import sys
import types
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_objects: Any = sys.modules["_freezeframe_objects"]
_native: Any = sys.modules["_freezeframe_native"]
_shapes: Any = sys.modules["_freezeframe_shapes"]
#: characters of an exception's message
_MESSAGE = 2_000
_MAX_DEPTH = 8
#: an integer of more bits is shown in hex, which takes no quadratic time
_MAX_BITS = 4_000
#: types whose __repr__ had to be interrupted: it is not called again
_hanging: list[type] = []
#: threads that the debugger has sent a SIGINT, because they were blocked in C
interrupted: set[int] = set()

elements, items_of, fields = _objects.elements, _objects.items_of, _objects.fields
shown_fields, count, length = _objects.shown_fields, _objects.count, _objects.length
elided: Callable[[str, int], str] = _shapes.elided


# --- text ---------------------------------------------------------------------------------------


class Failed(Exception):
    """A __repr__ returned no text; the message says why."""


def show(value: Any, limit: int, may_run_code: bool = False) -> str:
    """Return the text of *value* in about *limit* characters; never raises."""
    try:
        return text_of(value, limit, may_run_code)
    except Failed as why:
        return f"<{_objects.name_of(type(value))}: {why}>"


def text_of(
    value: Any, limit: int, may_run_code: bool = False, depth: int = 0, above: tuple[int, ...] = ()
) -> str:
    """Return the text of *value*.

    Raises Failed if a user-defined __repr__ was called and returns none.
    """
    kind = type(value)
    if issubclass(kind, int) and int.bit_length(value) > _MAX_BITS:
        return elided(hex(int.__int__(value)), limit)
    written = _objects.find(kind, "__repr__")
    if may_run_code and _has_own_repr(kind, written):
        return elided(_own_repr(value, kind), limit)
    shape = shape_of(kind, written, value)
    if id(value) in above or depth > _MAX_DEPTH:
        return str(shape(value, None, 0))
    above = (*above, id(value))

    def inner(child: Any, budget: int) -> str:
        try:
            return text_of(child, max(_shapes.ELEMENT, budget), may_run_code, depth + 1, above)
        except Failed as why:
            return f"<{_objects.name_of(type(child))}: {why}>"

    return str(shape(value, inner, limit))


def _has_own_repr(kind: type, written: Any) -> bool:
    """Return whether a class has its own repr, which says more than its fields."""
    if id(written) in _shapes.SHAPES or written is object.__dict__["__repr__"] or written is None:
        return False
    if id(kind) in _shapes.WITHOUT_OWN or _native.replaces_repr(kind):
        return False
    if issubclass(kind, (types.ModuleType, _io._IOBase)):
        return False
    return not _objects.is_generated(kind, written)


def _own_repr(value: Any, kind: type) -> str:
    """Return the value's own repr. Raises Failed if there is none."""
    if any(each is kind for each in _hanging):
        raise Failed("its __repr__ took too long before")
    try:
        text = repr(value)
        if issubclass(type(text), str):
            return str.__str__(text)
    except BaseException as error:
        # The agent's way to end a whole request must not be caught here.
        if type(error).__name__ == "UnstuckAtAll":
            raise
        if type(error).__name__ == "Unstuck" or _is_signal_of_debugger(error):
            _hanging.append(kind)
            raise Failed("__repr__ took too long and was interrupted") from None
        if type(error) is TypeError and "__repr__ returned non-string" in str(error):
            made = str(error).rpartition("type ")[2].rstrip(")")
            raise Failed(f"__repr__ returned a {made}") from None
        raise Failed(f"__repr__ raised {_message_of(error)}") from None
    raise Failed("__repr__ returned no text")


def _is_signal_of_debugger(error: BaseException) -> bool:
    ident = _thread.get_ident()
    if type(error) is not KeyboardInterrupt or ident not in interrupted:
        return False
    interrupted.discard(ident)
    return True


def _message_of(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:200]
    except Exception:
        return type(error).__name__


# --- shapes -------------------------------------------------------------------------------------


def shape_of(kind: type, written: Any, value: Any) -> Any:
    """Return the shape of values of *kind*."""
    exact = _shapes.EXACT.get(id(kind))
    if exact is not None:
        return exact
    native = _native.shape(kind)
    if native is not None:
        return native
    if issubclass(type(kind), enum.EnumMeta):
        return _shapes.enumerated
    if _objects.tuple_fields(kind) is not None:
        return _shapes.fields_text
    plain = _shapes.SHAPES.get(id(written))
    if plain is not None and written is not _shapes.MAPPING_PROXY:
        return plain
    if _is_safe(kind, value):
        return _shapes.by_itself
    for base, shape in _shapes.BASES:
        if issubclass(kind, base):
            return shape
    return _shapes.fields_text


def is_leaf(kind: type, value: Any) -> bool:
    """Return whether the text of a value says all that a reader wants to know."""
    return _native.shape(kind) is not None or _is_safe(kind, value)


def _is_safe(kind: type, value: Any) -> bool:
    """Return whether the repr is known to run no code of the program."""
    module = _objects.module_of(kind)
    names = _SAFE.get(module)
    if names is not None and _objects.is_exactly(kind, module, *names):
        return module != "datetime" or _is_safe_time(kind, value)
    if module == "pandas" and _objects.is_exactly(kind, module, "Timestamp", "Timedelta"):
        return _is_safe_time(kind, value)
    if module == "numpy" and "numpy" in sys.modules:
        return _is_plain_array(kind, value)
    return module == "unittest.mock" and _is_mock(kind)


#: module → its classes whose repr is made of their own numbers and strings
_SAFE = {
    "array": ("array",),
    "datetime": ("date", "time", "datetime", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "ipaddress": (
        "IPv4Address", "IPv4Interface", "IPv4Network",
        "IPv6Address", "IPv6Interface", "IPv6Network",
    ),
    "pathlib": ("PosixPath", "PurePosixPath", "PureWindowsPath", "WindowsPath"),
    "pathlib._local": ("PosixPath", "PurePosixPath", "PureWindowsPath", "WindowsPath"),
    "re": ("Pattern", "Match"),
    "socket": ("socket",),
    "uuid": ("UUID",),
    "zoneinfo": ("ZoneInfo",),
}  # fmt: skip


def _is_safe_time(kind: type, value: Any) -> bool:
    zoned = _objects.name_of(kind) in ("datetime", "time", "Timestamp")
    zone = getattr(value, "tzinfo", None) if zoned else None
    zone_type = type(zone)
    return zone is None or (
        _objects.is_exactly(zone_type, "datetime", "timezone")
        or _objects.is_exactly(zone_type, "zoneinfo", "ZoneInfo")
    )


def _is_plain_array(kind: type, value: Any) -> bool:
    """Return whether it is a numpy array or number that contains no objects."""
    if _objects.is_exactly(kind, "numpy", "ndarray"):
        return not value.dtype.hasobject
    numpy: Any = sys.modules["numpy"]
    return _objects.name_of(kind) not in ("void", "object_") and any(
        base is getattr(numpy, "generic", None) for base in _objects.bases(kind)
    )


def _is_mock(kind: type) -> bool:
    """Return whether it is a mock, whose repr has its name; each mock has its own class."""
    base = next((b for b in _objects.bases(kind)[1:]), object)
    names = ("Mock", "MagicMock", "AsyncMock", "NonCallableMock", "NonCallableMagicMock")
    return bool(_objects.is_exactly(base, "unittest.mock", *names))


# --- messages of exceptions ---------------------------------------------------------------------


def message(error: Any) -> str:
    """Return the message of an exception, without running a user-defined `__str__`."""
    kind = type(error)
    if not issubclass(kind, BaseException):
        return show(error, _MESSAGE)
    given = _objects.exception_args(error)
    written = _objects.find(kind, "__str__")
    if type(written) is types.WrapperDescriptorType or _is_of_python(kind):
        if all(id(type(each)) in _objects.PLAIN_KEYS for each in given):
            return elided(str(error), _MESSAGE)
        if len(given) == 1:
            return show(given[0], _MESSAGE)
        return show(given, _MESSAGE)
    if len(given) == 1 and type(given[0]) is str and not _objects.exception_fields(error):
        return elided(given[0], _MESSAGE)
    return show(error, _MESSAGE)


def _is_of_python(kind: type) -> bool:
    module = _objects.module_of(kind)
    known = getattr(sys, "stdlib_module_names", ())
    home = module.partition(".")[0]
    return home in known and bool(_objects.is_exactly(kind, module, _objects.name_of(kind)))


# --- children -----------------------------------------------------------------------------------


def children(value: Any, start: int, end: int) -> list[tuple[str, Any, str | None]] | None:
    """Return name, value and path of the children of *value*; None if only its class knows them."""
    kind = type(value)
    some = _objects.page_of
    if issubclass(kind, _objects.DICTS):
        return [
            (show(key, 200), each, f"[{path}]" if (path := _literal(key)) else None)
            for key, each in some(items_of(value), start, end)
        ]
    names = _objects.tuple_fields(kind)
    if names is not None:
        return [(name, each, f".{name}") for name, each in shown_fields(value)[start:end]]
    if kind is range:
        return [(str(i), each, f"[{i}]") for i, each in enumerate(value[start:end], start)]
    if issubclass(kind, (list, tuple, deque)):
        items = some(elements(value), start, end)
        return [(str(i), each, f"[{i}]") for i, each in enumerate(items, start)]
    if issubclass(kind, (set, frozenset)):
        items = some(elements(value), start, end)
        return [(str(i), each, None) for i, each in enumerate(items, start)]
    if kind is types.FunctionType:
        return list(_objects.closure_of(value)[start:end])
    if issubclass(kind, (str, bytes, bytearray, int, float, complex, type, types.ModuleType)):
        return []
    items = _native.parts(value)
    if items and not _native.is_table(kind):
        return [
            (str(key), each, f"[{key}]" if type(key) is int else f".{key}")
            for key, each in items[start:end]
        ]
    attributes = [] if _is_safe(kind, value) else shown_fields(value)
    if attributes or _objects.find(kind, "__repr__") is object.__dict__["__repr__"]:
        return [(name, each, f".{name}") for name, each in attributes[start:end]]
    return None


def _literal(key: Any) -> str | None:
    return repr(key) if id(type(key)) in _objects.PLAIN_KEYS else None
