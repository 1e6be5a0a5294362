"""Recorded values as numbers, strings and structures that can be compared. Pure.

A debugger gives text; what the text means is read here, the same way for every language: `19`,
`0x13`, `97 'a'`, `"pen"`, `0x5581 "pen"`, `[1, 2]`, `{'a': 1}`. What cannot be read stays text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from freezeframe.model.values import Value

from .codec import RawValue, children_of, is_cut
from .codec import value as to_value

_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d[\d_]*)n?")
_FLOAT = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|nan|Infinity|NaN)")
#: `97 'a'`: a character with its number; `0x5581 "pen"`: a pointer with what it points to
_CHARACTER = re.compile(r"([-+]?\d+) '.*'", re.DOTALL)
_POINTED = re.compile(r"0x[0-9a-fA-F]+ (\".*\")", re.DOTALL)
_WORDS: dict[str, bool | None] = {"True": True, "true": True, "False": False, "false": False}
_WORDS |= dict.fromkeys(("None", "null", "nil", "undefined", "nullptr", "<nil>"))
#: what may be a container or an object with its parts in its text
_COMPOSED = re.compile(r"[\[{(]|[bB]?['\"]|[\w.]+\(")
#: Texts up to this length are read as literals.
_LONGEST = 20_000
#: A whole number of more digits than this stays text: to read it would take time.
_MOST_DIGITS = 400


class Missing(Exception):
    """Something that an expression needs was not recorded; the words say what."""


class Structure:
    """A value with parts, or text that means nothing more."""

    __slots__ = ("_raw",)

    def __init__(self, raw: RawValue) -> None:
        self._raw = raw

    @property
    def text(self) -> str:
        return str(self._raw[1])

    @property
    def value(self) -> Value:
        return to_value(self._raw)

    @property
    def parts(self) -> list[RawValue]:
        return children_of(self._raw)

    def part(self, *names: str) -> Any:
        for raw in self.parts:
            if raw[0] in names:
                return read(raw)
        raise Missing(names[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def read(raw: RawValue) -> Any:
    """Return what a recorded value means."""
    text = str(raw[1]).strip()
    if children_of(raw):
        return Structure(raw)
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) <= _MOST_DIGITS:
        return number_of(text)
    if _FLOAT.fullmatch(text):
        return float(text.replace("Infinity", "inf").replace("NaN", "nan"))
    if not text or is_cut(raw):
        return Structure(raw)
    if found := _CHARACTER.fullmatch(text):
        return int(found[1])
    if found := _POINTED.fullmatch(text):
        return string_of(found[1])
    if text[0] in "\"'" and text[-1] == text[0] and len(text) > 1:
        return string_of(text)
    if len(text) <= _LONGEST and _COMPOSED.match(text):
        try:
            return _meaning(ast.parse(text, mode="eval").body)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
    return Structure(raw)


class Record(dict[str, Any]):
    """An object told by its fields: `Cart(rows=[], total=3)`."""

    def __init__(self, kind: str, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.kind = kind

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(f'{k}={v!r}' for k, v in self.items())})"


class Word(str):
    """A name that stands for a value: a member of an enumeration, a variant."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _meaning(node: ast.expr) -> Any:
    """Return what a parsed text means. Raises ValueError for what is no plain value."""
    match node:
        case ast.Constant(value):
            return value
        case ast.List(elts):
            return [_meaning(each) for each in elts]
        case ast.Tuple(elts):
            return tuple(_meaning(each) for each in elts)
        case ast.Set(elts):
            return {_meaning(each) for each in elts}
        case ast.Dict(keys, values) if all(key is not None for key in keys):
            named = [_meaning(key) for key in keys if key is not None]
            return dict(zip(named, map(_meaning, values), strict=True))
        case ast.UnaryOp(ast.USub(), operand):
            return -number(_meaning(operand))
        case ast.Name(id):
            return _WORDS.get(id, Word(id)) if id in _WORDS else Word(id)
        case ast.Attribute():
            return Word(ast.unparse(node))
        case ast.Call(ast.Name() | ast.Attribute() as func, args, keywords) if all(
            each.arg for each in keywords
        ):
            fields = {str(index): _meaning(each) for index, each in enumerate(args)}
            fields |= {each.arg: _meaning(each.value) for each in keywords if each.arg}
            return Record(ast.unparse(func), fields)
    raise ValueError(ast.dump(node)[:60])


def number_of(text: str) -> int | float:
    """Return the number that *text* spells."""
    text = text.rstrip("n").replace("_", "")
    sign, digits = (text[0], text[1:]) if text[:1] in "+-" else ("", text)
    if digits[:2].lower() in ("0x", "0b"):
        value: int | float = int(digits, 0)
    elif digits.isdecimal():
        value = int(digits)
    else:
        value = float(digits)
    return -value if sign == "-" else value


def string_of(text: str) -> str:
    """Return the string that a quoted *text* spells, in whatever language."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError):
        return text[1:-1]
    return value if isinstance(value, str) else text[1:-1]


# --- what expressions do with them --------------------------------------------------------------


def text(value: Any) -> str:
    """Return a value as a reader would write it."""
    if isinstance(value, Structure):
        return value.text
    return value if isinstance(value, str) else repr(value)


def truth(value: Any) -> bool:
    return True if isinstance(value, Structure) else bool(value)


def number(value: Any) -> float | int:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, Structure) and _INTEGER.fullmatch(value.text):
        return number_of(value.text)  # a pointer
    raise Missing(f"a number in place of {text(value)[:40]}")


def same(a: Any, b: Any) -> bool:
    if isinstance(a, Structure) or isinstance(b, Structure):
        if isinstance(a, int) or isinstance(b, int):
            try:
                return number(a) == number(b)
            except Missing:
                return False
        return text(a) == text(b)
    if isinstance(a, bool) or isinstance(b, bool):
        # 1 is true in many languages, and never equal to "true".
        return isinstance(a, bool | int | float) and isinstance(b, bool | int | float) and a == b
    return bool(a == b)


def ordered(a: Any, b: Any, how: Callable[[Any, Any], bool]) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return how(a, b)
    return how(number(a), number(b))


def contains(needle: Any, hay: Any) -> bool:
    if isinstance(hay, Structure):
        return any(same(needle, read(raw)) for raw in hay.parts) or text(needle) in hay.text
    if isinstance(hay, str):
        return text(needle) in hay
    if isinstance(hay, list | tuple | set | dict | frozenset):
        return any(same(needle, each) for each in hay)
    raise Missing(f"something that holds others in place of {text(hay)[:40]}")


def length(value: Any) -> int:
    if isinstance(value, Structure):
        count = value._raw[3] if len(value._raw) > 3 else None
        if isinstance(count, int):
            return count
        if value.parts:
            return len(value.parts)
        raise Missing("a length")
    if isinstance(value, str | bytes | list | tuple | set | dict | frozenset):
        return len(value)
    raise Missing(f"a length of {text(value)[:40]}")


def member(value: Any, name: str) -> Any:
    """Return a field: `order.total`, `p->x`."""
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list | tuple) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    if isinstance(value, Structure):
        if name == "*" and len(value.parts) == 1:
            return read(value.parts[0])
        try:
            return value.part(name, f".{name}", f"'{name}'", f'"{name}"', f"[{name}]")
        except Missing:
            # A pointer to a structure: its only part is the structure.
            if len(value.parts) == 1 and children_of(value.parts[0]):
                return member(Structure(value.parts[0]), name)
    raise Missing(f".{name}")


def item(value: Any, index: Any) -> Any:
    """Return an element: `rows[0]`, `prices["pen"]`."""
    if isinstance(value, Structure):
        if isinstance(index, int) and index < 0 and value.parts:
            return read(value.parts[index])
        key = text(index)
        return value.part(f"[{key}]", key, f"'{key}'", f'"{key}"', f'["{key}"]', f"['{key}']")
    try:
        return value[index]
    except (KeyError, IndexError, TypeError):
        raise Missing(f"[{text(index)}]") from None


def plus(a: Any, b: Any) -> Any:
    if isinstance(a, str) and isinstance(b, str):
        return a + b
    return number(a) + number(b)


def minus(a: Any, b: Any) -> Any:
    return number(a) - number(b)


def times(a: Any, b: Any) -> Any:
    return number(a) * number(b)


def divided(a: Any, b: Any) -> Any:
    return number(a) / _divisor(b)


def floored(a: Any, b: Any) -> Any:
    return number(a) // _divisor(b)


def remainder(a: Any, b: Any) -> Any:
    return number(a) % _divisor(b)


def _divisor(value: Any) -> float | int:
    found = number(value)
    if not found:
        raise Missing("a divisor that is not 0")
    return found
