"""What an object is and contains, read without running its code; the module `_freezeframe_objects`.

Runs inside the debuggee, written for Python 3.8, and imports nothing of this package. A class is
read through the descriptors of `type`, an instance through the descriptors that its `class`
statements made: no property, no `__getattribute__`, no `__class__`, no hook of a metaclass, no
`__eq__` or `__hash__`. Classes and functions are compared by identity only.
"""

from __future__ import annotations

import itertools
import sys
import types
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_mro = type.__dict__["__mro__"].__get__
_dict = type.__dict__["__dict__"].__get__
_name = type.__dict__["__name__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__
_module_dict = vars(types.ModuleType)["__dict__"].__get__
_args = BaseException.__dict__["args"].__get__
_basicsize = type.__dict__["__basicsize__"].__get__
_dictoffset = type.__dict__["__dictoffset__"].__get__
_weakrefoffset = type.__dict__["__weakrefoffset__"].__get__
#: size of one slot in bytes
_POINTER = tuple.__itemsize__
_MEMBER, _GETSET = types.MemberDescriptorType, types.GetSetDescriptorType
#: CPython's docstring of the `__dict__` that a `class` statement makes
_MADE_BY_CLASS = "dictionary for instance variables"
#: classes in C with such a `__dict__`; a proxy's would belong to another object
_WITH_DICT = frozenset(
    id(kind)
    for kind in (BaseException, types.ModuleType, types.SimpleNamespace, types.FunctionType)
)
DICTS = (dict, types.MappingProxyType)
#: values of these types are compared by their text
PLAIN_KEYS = frozenset(map(id, (str, int, bool, bytes, float, type(None))))


# --- classes ------------------------------------------------------------------------------------


def bases(kind: type) -> tuple[type, ...]:
    found: tuple[type, ...] = _mro(kind)
    return found


def name_of(kind: type) -> str:
    found: str = _name(kind)
    return found


def qualified(kind: type) -> str:
    found: str = _qualname(kind)
    return found


def module_of(kind: type) -> str:
    try:
        found = _module(kind)
    except AttributeError:
        return ""
    return found if type(found) is str else ""


def own_names(kind: type) -> Any:
    """Return what a class itself defines, by name."""
    return _dict(kind)


def find(kind: type, name: str) -> Any:
    """Return what *kind* or a base defines under *name*, unbound; None for nothing."""
    for base in _mro(kind):
        own = _dict(base)
        if name in own:
            return own[name]
    return None


def is_exactly(kind: type, module: str, *names: str) -> bool:
    """Return whether *kind* is the class of that name in a module that is loaded already."""
    if module_of(kind) != module or name_of(kind) not in names:
        return False
    home = sys.modules.get(module)
    if not issubclass(type(home), types.ModuleType):
        return False
    return _module_dict(home).get(name_of(kind)) is kind


def named(value: Any) -> str:
    """Return the name of a function, class, method or module; empty if there is none."""
    kind = type(value)
    if issubclass(kind, type):
        return name_of(value)
    if issubclass(kind, types.ModuleType):
        found = _module_dict(value).get("__name__")
        return found if type(found) is str else ""
    if kind is types.MethodType:
        return named(value.__func__)
    own = find(kind, "__name__") if id(kind) in _NAMED else None
    return own.__get__(value) if own is not None else ""


#: types whose instances have a name that C reads
_NAMED = frozenset(
    map(
        id,
        (
            types.FunctionType,
            types.BuiltinFunctionType,
            types.GeneratorType,
            types.CoroutineType,
            types.AsyncGeneratorType,
        ),
    )
)


# --- fields -------------------------------------------------------------------------------------


def dict_getter(kind: type) -> Callable[[Any], Any] | None:
    """Return the function that reads the `__dict__` of instances; None if they have none."""
    for base in _mro(kind):
        found = _dict(base).get("__dict__")
        if type(found) is not _GETSET and type(found) is not _MEMBER:
            continue
        if id(base) in _WITH_DICT or str(found.__doc__).startswith(_MADE_BY_CLASS):
            get: Callable[[Any], Any] = found.__get__
            return get
    return None


def own_dict(value: Any) -> dict[str, Any] | None:
    """Return the dictionary of an instance's attributes; None if it has none."""
    get = dict_getter(type(value))
    if get is None:
        return None
    try:
        own = get(value)
    except Exception:
        return None
    return own if type(own) is dict else None


def slot_getters(kind: type) -> dict[str, Callable[[Any], Any]]:
    """Return the functions that read the slots of instances, outermost base first."""
    return {
        name: member.__get__
        for base in reversed(_mro(kind))
        for name, member in _dict(base).items()
        if type(member) is _MEMBER and type(name) is str and not name.startswith("__")
    }


def slots(value: Any) -> dict[str, Any]:
    """Return the slots of an instance, those of the outermost base first."""
    found: dict[str, Any] = {}
    for name, get in slot_getters(type(value)).items():
        try:
            found[name] = get(value)
        except Exception:
            continue
    return found


def has_fields(value: Any) -> bool:
    return own_dict(value) is not None or any(
        "__slots__" in _dict(base) for base in _mro(type(value))
    )


def fields(value: Any) -> list[tuple[str, Any]]:
    """Return the instance's own fields, in the order they were set; no property runs."""
    found = slots(value)
    for name, each in (own_dict(value) or {}).items():
        if issubclass(type(name), str):
            found[str.__str__(name)] = each
    if "__pydevd_tag__" in found or "additional_info" in found:
        _leave_out_pydevd(found)
    if issubclass(type(value), BaseException):
        found = {"args": _args(value), **found}
    return list(found.items())


def _leave_out_pydevd(found: dict[str, Any]) -> None:
    """Remove from the fields of an exception, or of a thread, what pydevd stores there."""
    found.pop("__pydevd_tag__", None)
    if module_of(type(found.get("additional_info"))).startswith("_pydevd_bundle"):
        for name in ("additional_info", "__pydevd_id__", "stop_reason"):
            found.pop(name, None)


def is_opaque(kind: type) -> bool:
    """Return whether instances contain more than fields: data that a class in C hides."""
    names = [each for base in _mro(kind) for each in _dict(base).values()]
    seen = sum(type(each) is _MEMBER for each in names)
    seen += (_weakrefoffset(kind) > 0) + (_dictoffset(kind) > 0)
    return bool(_basicsize(kind) > object.__basicsize__ + seen * _POINTER)


def exception_args(error: BaseException) -> tuple[Any, ...]:
    found: tuple[Any, ...] = _args(error)
    return found


def exception_fields(error: BaseException) -> dict[str, Any]:
    """Return the fields that the program has set in an exception, without pydevd's."""
    own = own_dict(error) or {}
    return {
        name: each for name, each in own.items() if type(name) is str and name != "__pydevd_tag__"
    }


def tuple_fields(kind: type) -> tuple[str, ...] | None:
    """Return the names of a named tuple's elements, or of a structure's in C."""
    if not issubclass(kind, tuple) or kind is tuple:
        return None
    found = find(kind, "_fields")
    if type(found) is tuple and all(type(each) is str for each in found):
        return found
    if "n_sequence_fields" in _dict(kind):
        members = [name for name, each in _dict(kind).items() if type(each) is _MEMBER]
        return tuple(members[: _dict(kind)["n_sequence_fields"]])
    return None


def shown_fields(value: Any) -> list[tuple[str, Any]]:
    """Return the fields that a reader sees: without those that a generated repr omits."""
    kind = type(value)
    names = tuple_fields(kind)
    if names is not None:
        return list(zip(names, tuple.__iter__(value)))  # noqa: B905 - 3.8
    own = fields(value)
    hidden = hidden_fields(kind)
    return [(name, each) for name, each in own if name not in hidden] if hidden else own


def hidden_fields(kind: type) -> frozenset[str]:
    """Return the fields that a data class, or an attrs class, excludes from its repr."""
    written = find(kind, "__repr__")
    if type(written) is not types.FunctionType:
        return frozenset()
    declared = find(kind, "__dataclass_fields__")
    if type(declared) is dict:
        inner = written.__dict__.get("__wrapped__")
        code = inner.__code__ if type(inner) is types.FunctionType else None
        if code is None or code.co_filename != "<string>":
            return frozenset()
        return frozenset(
            name
            for name, each in declared.items()
            if is_exactly(type(each), "dataclasses", "Field") and not each.repr
        )
    if written.__code__.co_filename.startswith("<attrs generated"):
        listed = find(kind, "__attrs_attrs__")
        if issubclass(type(listed), tuple):
            return frozenset(
                each.name
                for each in tuple.__iter__(listed)
                if is_exactly(type(each), "attr._make", "Attribute") and each.repr is False
            )
    return frozenset()


def is_generated(kind: type, written: Any) -> bool:
    """Return whether a `__repr__` was generated by a data class, attrs or a named tuple."""
    if type(written) is not types.FunctionType:
        return False
    inner = written.__dict__.get("__wrapped__")
    if type(find(kind, "__dataclass_fields__")) is dict and type(inner) is types.FunctionType:
        return bool(inner.__code__.co_filename == "<string>")
    if written.__code__.co_filename.startswith("<attrs generated"):
        return True
    return tuple_fields(kind) is not None and written.__module__ == "collections"


# --- containers ---------------------------------------------------------------------------------


def elements(value: Any) -> Iterator[Any]:
    """Iterate a builtin container, or a subclass, without the methods of its class."""
    kind = type(value)
    for base in (list, tuple, deque, set, frozenset):
        if issubclass(kind, base):
            found: Iterator[Any] = base.__iter__(value)
            return found
    return iter(value)


def behind(value: Any) -> Any:
    """Return the mapping that a mappingproxy shows."""
    was_there = "gc" in sys.modules
    import gc

    if not was_there:
        sys.modules.pop("gc", None)
    found = [each for each in gc.get_referents(value) if each is not None]
    return found[0] if found else {}


def items_of(value: Any) -> Iterable[tuple[Any, Any]]:
    if type(value) is types.MappingProxyType:
        value = behind(value)
    kind = type(value)
    if not issubclass(kind, dict):
        return ()
    if issubclass(kind, OrderedDict) and all(id(type(k)) in PLAIN_KEYS for k in dict.keys(value)):
        # It keeps its own order, which is read by looking each key up: that may run a __hash__.
        return OrderedDict.items(value)
    return dict.items(value)


_SIZED = (str, bytes, bytearray, list, tuple, dict, set, frozenset, deque, range)


def count(value: Any) -> int | None:
    """Return how many elements or characters there are; None if only the value knows."""
    kind = type(value)
    if kind is types.MappingProxyType:
        return count(behind(value))
    for base in _SIZED:
        if issubclass(kind, base):
            return base.__len__(value)
    return None


def length(value: Any) -> int:
    """Return the size of a builtin container, or of a view of one."""
    known = count(value)
    return len(value) if known is None else known


def closure_of(function: Any) -> list[tuple[str, Any, str]]:
    """Return name, value and path of a function's closure variables, and of its defaults."""
    found = []
    cells = function.__closure__ or ()
    for at, (name, cell) in enumerate(zip(function.__code__.co_freevars, cells)):  # noqa: B905
        try:
            found.append((name, cell.cell_contents, f".__closure__[{at}].cell_contents"))
        except ValueError:
            continue
    given = function.__defaults__ or ()
    code = function.__code__
    names = code.co_varnames[: code.co_argcount][-len(given) :] if given else ()
    for at, (name, each) in enumerate(zip(names, given)):  # noqa: B905 - 3.8
        found.append((f"{name}=", each, f".__defaults__[{at}]"))
    return found


def page_of(items: Iterable[Any], start: int, end: int) -> Iterator[Any]:
    return itertools.islice(items, start, end)
