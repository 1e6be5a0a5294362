"""A `dataclass` decorator that is fast to import.

The standard one compiles six methods of every class when its module is imported: with two hundred
classes that was most of the time of the first command. Here equality, hash, repr and immutability
are functions shared by all classes. `__init__` is compiled for each class, for speed, when its
first object is created.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from dataclasses import field as field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *, frozen: bool = False, slots: bool = False, kw_only: bool = False
    ) -> Callable[[type], type]:
        """Return a decorator equivalent to `dataclasses.dataclass`."""

        def decorate(cls: type) -> type:
            if not cls.__doc__:
                cls.__doc__ = cls.__name__  # the standard one would compute the signature
            cls = dataclasses.dataclass(
                cls, init=False, eq=False, repr=False, slots=slots, kw_only=kw_only
            )
            fields = dataclasses.fields(cls)
            compared = _values(*(each.name for each in fields if each.compare))
            methods = {
                "__init__": _late_init(cls, frozen),
                "__repr__": _representation([each.name for each in fields if each.repr]),
                "__eq__": _equality(compared),
                "__hash__": _hashing(compared) if frozen else None,
            }
            if frozen:
                methods |= {"__setattr__": _refuse_change, "__delattr__": _refuse_change}
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
            for name, method in methods.items():
                if name not in vars(cls):
                    setattr(cls, name, method)
            return cls

        return decorate


def _late_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """Return an `__init__` that replaces itself with the compiled one on the first call."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        cls.__init__ = _compiled_init(cls, frozen)
        cls.__init__(self, *args, **kwargs)

    return __init__


def _compiled_init(cls: Any, frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    given: list[str] = []
    lines: list[str] = []
    fields = sorted(dataclasses.fields(cls), key=lambda each: each.kw_only is True)
    for each in fields:
        if each.kw_only and each.init and "*" not in given:
            given.append("*")
        name = value = each.name
        default = f"_default_{name}"
        if each.default_factory is not MISSING:
            names[default] = each.default_factory
            value = (
                f"{default}() if {name} is _MISSING else {name}" if each.init else f"{default}()"
            )
            given += [f"{name}=_MISSING"] * each.init
        elif each.default is not MISSING:
            names[default] = each.default
            value = name if each.init else default
            given += [f"{name}={default}"] * each.init
        elif each.init:
            given.append(name)
        else:
            continue
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "".join(f"\n    {line}" for line in lines or ["pass"])
    exec(f"def __init__({', '.join(['self', *given])}):{body}", names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _refuse_change(self: Any, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


def _values(*names: str) -> Callable[[Any], object]:
    """Return a function that returns the values of these attributes, for comparison."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _equality(values: Callable[[Any], object]) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _hashing(values: Callable[[Any], object]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


def _representation(names: list[str]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return __repr__
