"""Parse recorded values into numbers, strings and structures that can be compared. Pure.

A debugger reports text. It is parsed in the equal way for every language: `19`, `0x13`, `97 'a'`,
`"pen"`, `0x5581 "pen"`, `[1, 2]`, `{'a': 1}`. Text that cannot be parsed stays text.
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
_CONSTANTS: dict[str, bool | None] = {"True": True, "true": True, "False": False, "false": False}
_CONSTANTS |= dict.fromkeys(("None", "null", "nil", "undefined", "nullptr", "<nil>"))
#: may be a container or an object with its parts in its text
_COMPOSED = re.compile(r"[\[{(]|[bB]?['\"]|[\w.]+\(")
#: Texts up to this length are parsed as literals.
_MAX_LITERAL = 20_000
#: An integer with more digits than this stays text: parsing it would be slow.
_MAX_DIGITS = 400


class NotRecorded(Exception):
    """A value that an expression needs was not recorded; the message names it."""


class OpaqueValue:
    """A value with children, or text that cannot be parsed."""

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
        raise NotRecorded(names[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueValue) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def read(raw: RawValue) -> Any:
    """Return a recorded value, parsed."""
    text = str(raw[1]).strip()
    if children_of(raw):
        return OpaqueValue(raw)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text) and len(text) <= _MAX_DIGITS:
        return number_of(text)
    if _FLOAT.fullmatch(text):
        return float(text.replace("Infinity", "inf").replace("NaN", "nan"))
    if not text or is_cut(raw):
        return OpaqueValue(raw)
    if found := _CHARACTER.fullmatch(text):
        return int(found[1])
    if found := _POINTED.fullmatch(text):
        return string_of(found[1])
    if text[0] in "\"'" and text[-1] == text[0] and len(text) > 1:
        return string_of(text)
    if len(text) <= _MAX_LITERAL and _COMPOSED.match(text):
        try:
            return _literal_value(ast.parse(text, mode="eval").body)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
    return OpaqueValue(raw)


class Record(dict[str, Any]):
    """An object written with its fields: `Cart(rows=[], total=3)`."""

    def __init__(self, kind: str, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.kind = kind

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(f'{k}={v!r}' for k, v in self.items())})"


class Symbol(str):
    """A name as a value: a member of an enumeration, a variant."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _literal_value(node: ast.expr) -> Any:
    """Return the value of a parsed text. Raises ValueError if it is not a plain value."""
    match node:
        case ast.Constant(value):
            return value
        case ast.List(elts):
            return [_literal_value(each) for each in elts]
        case ast.Tuple(elts):
            return tuple(_literal_value(each) for each in elts)
        case ast.Set(elts):
            return {_literal_value(each) for each in elts}
        case ast.Dict(keys, values) if all(key is not None for key in keys):
            named = [_literal_value(key) for key in keys if key is not None]
            return dict(zip(named, map(_literal_value, values), strict=True))
        case ast.UnaryOp(ast.USub(), operand):
            return -number(_literal_value(operand))
        case ast.Name(id):
            return _CONSTANTS.get(id, Symbol(id)) if id in _CONSTANTS else Symbol(id)
        case ast.Attribute():
            return Symbol(ast.unparse(node))
        case ast.Call(ast.Name() | ast.Attribute() as func, args, keywords) if all(
            each.arg for each in keywords
        ):
            fields = {str(index): _literal_value(each) for index, each in enumerate(args)}
            fields |= {each.arg: _literal_value(each.value) for each in keywords if each.arg}
            return Record(ast.unparse(func), fields)
    raise ValueError(ast.dump(node)[:60])


def number_of(text: str) -> int | float:
    """Return the number written in *text*."""
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
    """Return the content of a quoted string of any language."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError):
        return text[1:-1]
    return value if isinstance(value, str) else text[1:-1]


# --- operations of expressions ------------------------------------------------------------------


def text(value: Any) -> str:
    """Return a value as text."""
    if isinstance(value, OpaqueValue):
        return value.text
    return value if isinstance(value, str) else repr(value)


def is_true(value: Any) -> bool:
    return True if isinstance(value, OpaqueValue) else bool(value)


def number(value: Any) -> float | int:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, OpaqueValue) and _INTEGER.fullmatch(value.text):
        return number_of(value.text)  # a pointer
    raise NotRecorded(f"a number in place of {text(value)[:40]}")


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, OpaqueValue) or isinstance(b, OpaqueValue):
        if isinstance(a, int) or isinstance(b, int):
            try:
                return number(a) == number(b)
            except NotRecorded:
                return False
        return text(a) == text(b)
    if isinstance(a, bool) or isinstance(b, bool):
        # 1 is true in many languages, and never equal to "true".
        return isinstance(a, bool | int | float) and isinstance(b, bool | int | float) and a == b
    return bool(a == b)


def compare(a: Any, b: Any, operation: Callable[[Any, Any], bool]) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return operation(a, b)
    return operation(number(a), number(b))


def contains(needle: Any, container: Any) -> bool:
    if isinstance(container, OpaqueValue):
        return (
            any(equal(needle, read(raw)) for raw in container.parts)
            or text(needle) in container.text
        )
    if isinstance(container, str):
        return text(needle) in container
    if isinstance(container, list | tuple | set | dict | frozenset):
        return any(equal(needle, each) for each in container)
    raise NotRecorded(f"a container in place of {text(container)[:40]}")


def length(value: Any) -> int:
    if isinstance(value, OpaqueValue):
        count = value._raw[3] if len(value._raw) > 3 else None
        if isinstance(count, int):
            return count
        if value.parts:
            return len(value.parts)
        raise NotRecorded("a length")
    if isinstance(value, str | bytes | list | tuple | set | dict | frozenset):
        return len(value)
    raise NotRecorded(f"a length of {text(value)[:40]}")


def member(value: Any, name: str) -> Any:
    """Return a field: `order.total`, `p->x`."""
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list | tuple) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    if isinstance(value, OpaqueValue):
        if name == "*" and len(value.parts) == 1:
            return read(value.parts[0])
        try:
            return value.part(name, f".{name}", f"'{name}'", f'"{name}"', f"[{name}]")
        except NotRecorded:
            # The only part of a pointer to a structure is the structure.
            if len(value.parts) == 1 and children_of(value.parts[0]):
                return member(OpaqueValue(value.parts[0]), name)
    raise NotRecorded(f".{name}")


def item(value: Any, index: Any) -> Any:
    """Return an element: `rows[0]`, `prices["pen"]`."""
    if isinstance(value, OpaqueValue):
        if isinstance(index, int) and index < 0 and value.parts:
            return read(value.parts[index])
        key = text(index)
        return value.part(f"[{key}]", key, f"'{key}'", f'"{key}"', f'["{key}"]', f"['{key}']")
    try:
        return value[index]
    except (KeyError, IndexError, TypeError):
        raise NotRecorded(f"[{text(index)}]") from None


def add(a: Any, b: Any) -> Any:
    if isinstance(a, str) and isinstance(b, str):
        return a + b
    return number(a) + number(b)


def subtract(a: Any, b: Any) -> Any:
    return number(a) - number(b)


def multiply(a: Any, b: Any) -> Any:
    return number(a) * number(b)


def divide(a: Any, b: Any) -> Any:
    return number(a) / _divisor(b)


def floor_divide(a: Any, b: Any) -> Any:
    return number(a) // _divisor(b)


def remainder(a: Any, b: Any) -> Any:
    return number(a) % _divisor(b)


def _divisor(value: Any) -> float | int:
    found = number(value)
    if not found:
        raise NotRecorded("a divisor that is not 0")
    return found
