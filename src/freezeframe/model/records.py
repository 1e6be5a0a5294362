"""`dataclass`, for those who have many of them.

The standard one compiles six methods of every class when its module is imported: with two hundred
classes that was the larger part of what the first command waited for. Comparing, hashing and
showing need no code of their own for each class, so they are the same few functions here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import field as field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False) -> Callable[[type], type]:
        """Make a class what `dataclasses.dataclass` would make of it."""

        def made(cls: type) -> type:
            cls = dataclasses.dataclass(cls, frozen=frozen, slots=slots, eq=False, repr=False)
            fields = dataclasses.fields(cls)
            compared = _values(*(each.name for each in fields if each.compare))
            methods = {
                "__repr__": _representation([each.name for each in fields if each.repr]),
                "__eq__": _equality(compared),
                "__hash__": _hashing(compared) if frozen else None,
            }
            for name, method in methods.items():
                if name not in vars(cls):
                    setattr(cls, name, method)
            return cls

        return made


def _values(*names: str) -> Callable[[Any], object]:
    """Return what gives the values of these attributes, to be compared as a whole."""
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
