"""Which function a name matches; runs inside the program, with debugpy and with pdb.

Becomes the module `_freezeframe_names`. Works in every Python from 3.8 on and imports nothing of
this package. A name is looked up as the program would, without running any of its code: a
re-exported function, an assigned lambda, a `partial`, a decorated or inherited method, a class (its
`__init__`).
"""

from __future__ import annotations

import functools
import os
import sys
import types
from typing import Any

#: flag of a function's code, not set for a module or a class body
_CO_OPTIMIZED = 0x1
_MOST_LAYERS = 20
#: flags of code that can be suspended: generators, coroutines, async generators
_SUSPENDS = 0x20 | 0x80 | 0x200
_missing: Any = object()


def is_function(code: Any) -> bool:
    """Return whether *code* is that of a function, not of a module or a class body."""
    return bool(code.co_flags & _CO_OPTIMIZED)


def begins(frame: Any) -> bool:
    """Return whether *frame* is about to run its first instruction, and is not resumed."""
    if frame.f_lineno != frame.f_code.co_firstlineno:
        return False
    return bool(frame.f_lasti <= _first_resume(frame.f_code))


def is_coroutine(frame: Any) -> bool:
    """Return whether an event loop may have called *frame*: not a plain generator or function."""
    return bool(frame.f_code.co_flags & (_SUSPENDS & ~0x20))


def is_suspended(frame: Any) -> bool:
    """Return whether a generator or coroutine that yields will be resumed."""
    code = frame.f_code
    if not code.co_flags & _SUSPENDS or not 0 <= frame.f_lasti < len(code.co_code):
        return False
    import opcode

    name: str = opcode.opname[code.co_code[frame.f_lasti]]
    # Python 3.13 has advanced to where the frame will be resumed.
    return name == "YIELD_VALUE" or (name == "RESUME" and bool(frame.f_lasti > _first_resume(code)))


@functools.lru_cache(maxsize=512)
def _first_resume(code: Any) -> int:
    """Return the offset where a function begins to run, after the setup of its cells and
    generator."""
    import dis

    for each in dis.get_instructions(code):
        if each.opname == "RESUME":
            return each.offset
    return 0


def matches(name: str, code: Any, frame_globals: dict[str, Any]) -> bool:
    """Return whether *name* matches the function of *code*.

    Qualified as far as the user likes: `add`, `Account.add`, `shop.Account.add`, `make.inner`; or
    any name under which a module, a class or the main program refers to the function.
    """
    inner = getattr(code, "co_qualname", code.co_name)
    script = os.path.splitext(os.path.basename(code.co_filename))[0]
    for module in (frame_globals.get("__name__"), script):
        full = f".{module}.{inner}"
        if full.endswith(f".{name}") or full.replace(".<locals>", "").endswith(f".{name}"):
            return True
    last = name.rpartition(".")[2]
    return any(_code_of(found, last) is code for found in _named(name, frame_globals))


def _named(name: str, frame_globals: dict[str, Any]) -> list[Any]:
    """Return the values that *name* refers to: in the module that it begins with, in the main
    program, and among *frame_globals*."""
    parts = name.split(".")
    spaces: list[tuple[Any, list[str]]] = []
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is not None:
            spaces.append((_namespace(module), parts[cut:]))
    main = sys.modules.get("__main__")
    if main is not None:
        space = _namespace(main)
        script = os.path.splitext(os.path.basename(str(space.get("__file__", ""))))[0]
        if len(parts) > 1 and parts[0] == script:
            spaces.append((space, parts[1:]))
        spaces.append((space, parts))
    spaces.append((frame_globals, parts))
    return [found for space, path in spaces if (found := _walk(space, path)) is not _missing]


def _namespace(value: Any) -> dict[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return found if type(found) is dict else {}


def _walk(space: dict[str, Any], parts: list[str]) -> Any:
    value = space.get(parts[0], _missing)
    for part in parts[1:]:
        if value is _missing:
            break
        value = _attribute(value, part)
    return value


def _attribute(value: Any, name: str) -> Any:
    """Return an attribute as it is stored, so that no property and no `__getattr__` runs."""
    if not issubclass(type(value), type):
        found = _namespace(value).get(name, _missing)
        if found is not _missing or issubclass(type(value), types.ModuleType):
            return found
        value = type(value)
    for base in type.__getattribute__(value, "__mro__"):
        space = type.__getattribute__(base, "__dict__")
        if name in space:
            return space[name]
    return _missing


def _code_of(value: Any, name: str | None = None) -> Any:
    """Return the code of the function behind a value: below decorators, partials, descriptors.

    An object that a decorator made of a function called *name* represents that function, not the
    `__call__` of its class, which it shares with every other such object.
    """
    for _ in range(_MOST_LAYERS):
        kind = type(value)
        wrapped = _namespace(value).get("__wrapped__") if not issubclass(kind, type) else None
        if kind is types.FunctionType and wrapped is None:
            return value.__code__
        if wrapped is not None:
            value = wrapped
        elif kind in (types.MethodType, staticmethod, classmethod):
            value = value.__func__
        elif kind is property:
            value = value.fget
        elif kind in (functools.partial, functools.partialmethod, functools.cached_property):
            value = value.func
        elif (
            name is not None
            and not issubclass(kind, type)
            and (held_code := _held_function(value, name))
        ):
            return held_code
        else:
            maker = "__init__" if issubclass(kind, type) else "__call__"
            found = _attribute(value if issubclass(kind, type) else kind, maker)
            if type(found) is not types.FunctionType:
                return None
            value = found
    return None


def _held_function(value: Any, name: str) -> Any:
    """Return the code of the function called *name* that an object refers to in one of its
    fields."""
    fields = list(_namespace(value).values())
    for base in type.__getattribute__(type(value), "__mro__"):
        space = type.__getattribute__(base, "__dict__")
        for each in space.values():
            if type(each) is types.MemberDescriptorType:
                try:
                    fields.append(each.__get__(value))
                except AttributeError:
                    pass  # an empty slot
    for each in fields:
        if type(each) in (types.FunctionType, types.MethodType, functools.partial):
            code = _code_of(each)
            if code is not None and code.co_name == name:
                return code
    return None
