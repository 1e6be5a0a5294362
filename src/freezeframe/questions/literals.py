"""Results of plain operations on values whose whole text is known: `12 > 10`, `min([0, -5])`.

Only numbers, strings and containers of them, of bounded size; nothing of the program is called.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from freezeframe.model.values import is_cut

_MOST_TEXT = 2000
_MOST_NUMBER = 1 << 64
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
    "is": lambda left, right: left is right,
    "is not": lambda left, right: left is not right,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "len": len,
    "abs": abs,
    "any": any,
    "all": all,
    "bool": bool,
    "sorted": sorted,
}


#: methods of strings without arguments
_METHODS = frozenset(("strip", "lstrip", "rstrip", "lower", "upper", "casefold", "title"))


def method_result(name: str, text: str) -> str | None:
    """Return the text of what a method of a string returns, None if that is not known."""
    known = literal(text) if name in _METHODS else None
    if known is None or not isinstance(known[0], str):
        return None
    return repr(getattr(known[0], name)())


def literal(text: str) -> tuple[Any] | None:
    """Return the value that a text denotes in a tuple; None if it does not denote one fully."""
    if len(text) > _MOST_TEXT or is_cut(text):
        return None
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def operated(name: str, texts: Sequence[str]) -> str | None:
    """Return the text of the result of an operator or function on values; None if not known."""
    values = [literal(text) for text in texts]
    known = [each[0] for each in values if each is not None]
    if len(known) < len(values) or not known:
        return None
    try:
        return _result(name, known)
    except Exception:
        return None  # the operation raises for these values


def _result(name: str, values: list[Any]) -> str | None:
    if name == "not":
        return repr(not values[0])
    if name == "-" and len(values) == 1:
        return repr(-values[0])
    if name in _FUNCTIONS:
        return repr(_FUNCTIONS[name](*values))
    operate = _OPERATORS.get(name)
    if operate is None or len(values) != 2:
        return None
    if name in ("is", "is not") and None not in values:
        return None
    if name == "*" and not all(_is_small(each) for each in values):
        return None
    return repr(operate(*values))


def _is_small(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < _MOST_NUMBER
