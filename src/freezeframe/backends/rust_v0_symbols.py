"""Paths in symbols of Rust's v0 mangling scheme. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from freezeframe.model import late_regex

_Read = TypeVar("_Read")

_BASIC = {
    "a": "i8", "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "h": "u8",
    "i": "isize", "j": "usize", "l": "i32", "m": "u32", "n": "i128", "o": "u128", "p": "_",
    "s": "i16", "t": "u16", "u": "()", "v": "...", "x": "i64", "y": "u64", "z": "!",
}  # fmt: skip
_POINTERS = {"R": "&", "Q": "&mut ", "P": "*const ", "O": "*mut "}
_SPECIAL = {"C": "closure", "S": "shim"}
_NUMBER = late_regex.compile(r"[0-9a-zA-Z]*_")
_LENGTH = late_regex.compile(r"u?(0|[1-9]\d{0,4})_?")
_CONSTANT = late_regex.compile(r"n?([0-9a-f]*)_")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: A symbol that nests deeper, or that repeats more, is not taken apart.
_DEEPEST = 60
_LONGEST = 4000


def components(symbol: str) -> list[str]:
    """Return the path of a function; empty if the symbol is not of the v0 scheme.

    `["<shop::Circle as shop::Shape>", "area"]`, `["shop", "Stack<u8>", "push"]`. The type
    parameters of the function itself are left out.
    """
    if not symbol.startswith("_R"):
        return []
    try:
        path = _Reader(symbol[2:]).path()
    except (ValueError, IndexError):
        return []
    return [*path[:-1], path[-1].partition("<")[0]] if len(path) > 1 else path


class _Reader:
    """Reads one symbol from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth, self._written = text, 0, 0, 0

    def path(self) -> list[str]:
        self._depth += 1
        self._written += 1
        if self._depth > _DEEPEST or self._written > _LONGEST:
            raise ValueError
        read = self._path(self._next())
        self._depth -= 1
        return read

    def _path(self, tag: str) -> list[str]:
        if tag == "C":
            self._disambiguator()
            return [self._identifier()]
        if tag in "MX":
            self._disambiguator()
            self.path()  # where the implementation stands
        if tag == "M":
            return self._owner()
        if tag in "XY":
            return [f"<{self._type()} as {'::'.join(self.path())}>"]
        if tag == "N":
            namespace = self._next()
            inner = self.path()
            number, name = self._disambiguator(), self._identifier()
            special = f"{{{_SPECIAL.get(namespace, namespace)}#{number}}}"
            return [*inner, special if namespace.isupper() else name]
        if tag == "I":
            *outer, last = self.path()
            return [*outer, f"{last}<{', '.join(self._until_end(self._argument))}>"]
        if tag == "B":
            return self._backreference(self.path)
        raise ValueError(tag)

    def _owner(self) -> list[str]:
        """Return the type of an inherent implementation: its path if it has one."""
        if self._text[self._at] in "CMXYNIB":
            return self._backreference(self._owner) if self._taken("B") else self.path()
        return [f"<{self._type()}>"]

    def _argument(self) -> str:
        if self._taken("L"):
            return "'_" if self._number() == 0 else "'a"
        return self._constant() if self._taken("K") else self._type()

    def _type(self) -> str:
        tag = self._text[self._at]
        if tag in "CMXYNI":
            return "::".join(self.path())
        self._at += 1
        if tag in _BASIC:
            return _BASIC[tag]
        if tag in _POINTERS:
            if tag in "RQ" and self._taken("L"):
                self._number()
            return _POINTERS[tag] + self._type()
        if tag == "A":
            return f"[{self._type()}; {self._constant()}]"
        if tag == "S":
            return f"[{self._type()}]"
        if tag == "T":
            parts = self._until_end(self._type)
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if tag == "F":
            return self._function()
        if tag == "D":
            return self._dynamic()
        if tag == "B":
            return self._backreference(self._type)
        raise ValueError(tag)

    def _function(self) -> str:
        self._binder()
        self._taken("U")
        if self._taken("K") and not self._taken("C"):
            self._identifier()
        given = ", ".join(self._until_end(self._type))
        returned = self._type()
        return f"fn({given})" + (f" -> {returned}" if returned != "()" else "")

    def _dynamic(self) -> str:
        self._binder()
        traits = []
        while not self._taken("E"):
            trait = "::".join(self.path())
            while self._taken("p"):
                self._identifier()
                self._type()
            traits.append(trait)
        if self._taken("L"):
            self._number()
        return f"dyn {' + '.join(traits)}"

    def _constant(self) -> str:
        if self._taken("B"):
            return self._backreference(self._constant)
        tag = self._next()
        if tag == "p":
            return "_"
        found = _CONSTANT.match(self._text, self._at)
        if tag not in _BASIC or found is None:
            raise ValueError(tag)
        self._at = found.end()
        number = int(found[1] or "0", 16)
        if tag == "b":
            return "true" if number else "false"
        return repr(chr(number)) if tag == "c" else f"{'-' * found[0].startswith('n')}{number}"

    def _until_end(self, read: Callable[[], _Read]) -> list[_Read]:
        found = []
        while not self._taken("E"):
            found.append(read())
        return found

    def _backreference(self, read: Callable[[], _Read]) -> _Read:
        """Read what stands earlier in the symbol; the letter `B` has been read."""
        start, at = self._at, self._number()
        if at >= start:
            raise ValueError(at)
        after, self._at = self._at, at
        found = read()
        self._at = after
        return found

    def _binder(self) -> None:
        if self._taken("G"):
            self._number()

    def _disambiguator(self) -> int:
        return self._number() + 1 if self._taken("s") else 0

    def _number(self) -> int:
        found = _NUMBER.match(self._text, self._at)
        if found is None:
            raise ValueError
        self._at = found.end()
        number = 0
        for digit in found[0][:-1]:
            number = number * len(_DIGITS) + _DIGITS.index(digit)
        return number + (found[0] != "_")

    def _identifier(self) -> str:
        found = _LENGTH.match(self._text, self._at)
        if found is None:
            raise ValueError
        self._at = found.end() + int(found[1])
        if self._at > len(self._text):
            raise ValueError
        return self._text[found.end() : self._at]

    def _taken(self, letter: str) -> bool:
        """Whether the letter stood here; it is read then."""
        is_here = self._text.startswith(letter, self._at)
        self._at += is_here
        return is_here

    def _next(self) -> str:
        self._at += 1
        return self._text[self._at - 1]
