"""What a value looks like to a reader; runs inside the debuggee, as `_freezeframe_text`.

Written in the words of Python 3.8, with nothing of this package. Texts are bounded whatever the
value is. None of the program's code runs, unless the text was *asked* for: then a `__repr__` of
the program's own does. Without that an object is shown by its fields, and a kind of a builtin
container by the builtin's own methods.
"""

from __future__ import annotations

import _io
import enum
import sys
import types
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_objects: Any = sys.modules["_freezeframe_objects"]
_shapes: Any = sys.modules["_freezeframe_shapes"]
#: characters of what an exception says
_MESSAGE = 2_000
_MAX_DEPTH = 8
#: an integer of more bits is shown in hex, which takes no quadratic time
_MAX_BITS = 4_000
#: types whose __repr__ had to be interrupted: it is not called again
_hanging: list[type] = []

elements, items_of, fields = _objects.elements, _objects.items_of, _objects.fields
shown_fields, count, length = _objects.shown_fields, _objects.count, _objects.length
elided: Callable[[str, int], str] = _shapes.elided


# --- text ---------------------------------------------------------------------------------------


class Failed(Exception):
    """A __repr__ that gave no text; the message says why."""


def show(value: Any, limit: int, asked: bool = False) -> str:
    """Return what a reader sees of *value* in about *limit* characters; never raises."""
    try:
        return text_of(value, limit, asked)
    except Failed as why:
        return f"<{_objects.name_of(type(value))}: {why}>"


def text_of(
    value: Any, limit: int, asked: bool = False, depth: int = 0, above: tuple[int, ...] = ()
) -> str:
    """Return what a reader sees of *value*.

    Raises Failed when it was *asked* for and its __repr__ gives no text.
    """
    kind = type(value)
    if issubclass(kind, int) and int.bit_length(value) > _MAX_BITS:
        return elided(hex(int.__int__(value)), limit)
    written = _objects.find(kind, "__repr__")
    if asked and _is_own(kind, written):
        return elided(_own_repr(value, kind), limit)
    shape = _shape(kind, written, value)
    if id(value) in above or depth > _MAX_DEPTH:
        return str(shape(value, None, 0))
    above = (*above, id(value))

    def inner(child: Any, room: int) -> str:
        try:
            return text_of(child, max(_shapes.ELEMENT, room), asked, depth + 1, above)
        except Failed as why:
            return f"<{_objects.name_of(type(child))}: {why}>"

    return str(shape(value, inner, limit))


def _is_own(kind: type, written: Any) -> bool:
    """Return whether a class has a repr of its own, which says more than what it is made of."""
    if id(written) in _shapes.SHAPES or written is object.__dict__["__repr__"] or written is None:
        return False
    if id(kind) in _shapes.WITHOUT_OWN or issubclass(kind, (types.ModuleType, _io._IOBase)):
        return False
    return not _objects.is_generated(kind, written)


def _own_repr(value: Any, kind: type) -> str:
    """Return what the value says of itself. Raises Failed when it says nothing."""
    if any(each is kind for each in _hanging):
        raise Failed("its __repr__ took too long before")
    try:
        text = repr(value)
        if issubclass(type(text), str):
            return str.__str__(text)
    except BaseException as error:
        # The probe's own way to end a whole request is not the value's to survive.
        if type(error).__name__ == "UnstuckAtAll":
            raise
        if type(error).__name__ == "Unstuck":
            _hanging.append(kind)
            raise Failed("__repr__ took too long and was interrupted") from None
        if type(error) is TypeError and "__repr__ returned non-string" in str(error):
            made = str(error).rpartition("type ")[2].rstrip(")")
            raise Failed(f"__repr__ returned a {made}") from None
        raise Failed(f"__repr__ raised {_words(error)}") from None
    raise Failed("__repr__ returned no text")


def _words(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:200]
    except Exception:
        return type(error).__name__


# --- which shape --------------------------------------------------------------------------------


def _shape(kind: type, written: Any, value: Any) -> Any:
    """Return how values of *kind* are put together from their parts."""
    exact = _shapes.EXACT.get(id(kind))
    if exact is not None:
        return exact
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


def _is_safe(kind: type, value: Any) -> bool:
    """Return whether the repr is known to run nothing of the program's."""
    module = _objects.module_of(kind)
    names = _SAFE.get(module)
    if names is not None and _objects.is_exactly(kind, module, *names):
        return module != "datetime" or _is_safe_time(kind, value)
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
    zone = (
        getattr(value, "tzinfo", None) if _objects.name_of(kind) in ("datetime", "time") else None
    )
    whose = type(zone)
    return zone is None or (
        _objects.is_exactly(whose, "datetime", "timezone")
        or _objects.is_exactly(whose, "zoneinfo", "ZoneInfo")
    )


def _is_plain_array(kind: type, value: Any) -> bool:
    """An array or a number of numpy's, which holds no objects."""
    if _objects.is_exactly(kind, "numpy", "ndarray"):
        return not value.dtype.hasobject
    numpy: Any = sys.modules["numpy"]
    return _objects.name_of(kind) not in ("void", "object_") and any(
        base is getattr(numpy, "generic", None) for base in _objects.bases(kind)
    )


def _is_mock(kind: type) -> bool:
    """A mock, whose repr tells its name; every one of them has a class of its own."""
    base = next((b for b in _objects.bases(kind)[1:]), object)
    names = ("Mock", "MagicMock", "AsyncMock", "NonCallableMock", "NonCallableMagicMock")
    return bool(_objects.is_exactly(base, "unittest.mock", *names))


# --- what an exception says ---------------------------------------------------------------------


def message(error: Any) -> str:
    """Return what an exception says, without a `__str__` of the program's own."""
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


# --- what is inside -----------------------------------------------------------------------------


def children(value: Any, start: int, end: int) -> list[tuple[str, Any, str | None]] | None:
    """Return name, value and path of what *value* holds; None where only its class could tell."""
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
        held = some(elements(value), start, end)
        return [(str(i), each, f"[{i}]") for i, each in enumerate(held, start)]
    if issubclass(kind, (set, frozenset)):
        held = some(elements(value), start, end)
        return [(str(i), each, None) for i, each in enumerate(held, start)]
    if kind is types.FunctionType:
        return list(_objects.closure_of(value)[start:end])
    if issubclass(kind, (str, bytes, bytearray, int, float, complex, type, types.ModuleType)):
        return []
    own = [] if _is_safe(kind, value) else shown_fields(value)
    if own or _objects.find(kind, "__repr__") is object.__dict__["__repr__"]:
        return [(name, each, f".{name}") for name, each in own[start:end]]
    return None


def _literal(key: Any) -> str | None:
    return repr(key) if id(type(key)) in _objects.PLAIN_KEYS else None
