"""Expressions over recorded values: `n > 3`, `item["price"] * 2 >= total`, `len(rows) == 0`.

A small language without side effects: `and or not`, `&& || !`, comparisons, `in`, arithmetic,
fields (`.`, `->`), subscripts, `len`, `abs`, `min`, `max`, `str`, `int`, `float`. Names are
recorded variables; `@stop @hit @line @file @function @thread @reason @time` are properties of the
stop. Neither Python nor the program evaluates the text.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from freezeframe.errors import UsageError

from . import recorded_values
from .recorded_values import NotRecorded

#: Returns the value of a name; raises NotRecorded if there is none.
Lookup = Callable[[str], Any]
Evaluate = Callable[[Lookup], Any]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<name>@?[A-Za-z_$][\w$]*(?:::[A-Za-z_$][\w$]*)*)
      | (?P<sign>===|!==|==|!=|<=|>=|&&|\|\||->|//|\*\*|[-+*/%<>!()\[\].,])
    )""",
    re.VERBOSE,
)
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": recorded_values.equal,
    "===": recorded_values.equal,
    "!=": lambda a, b: not recorded_values.equal(a, b),
    "!==": lambda a, b: not recorded_values.equal(a, b),
    "<": lambda a, b: recorded_values.compare(a, b, operator.lt),
    "<=": lambda a, b: recorded_values.compare(a, b, operator.le),
    ">": lambda a, b: recorded_values.compare(a, b, operator.gt),
    ">=": lambda a, b: recorded_values.compare(a, b, operator.ge),
}
_SUM: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": recorded_values.add,
    "-": recorded_values.subtract,
}
_PRODUCT: Mapping[str, Callable[[Any, Any], Any]] = {
    "*": recorded_values.multiply,
    "/": recorded_values.divide,
    "//": recorded_values.floor_divide,
    "%": recorded_values.remainder,
}
_CONSTANTS = {"True": True, "true": True, "False": False, "false": False} | dict.fromkeys(
    ("None", "null", "nil", "undefined", "nullptr", "NULL")
)
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "len": recorded_values.length,
    "abs": lambda a: abs(recorded_values.number(a)),
    "min": lambda *a: min(map(recorded_values.number, a)),
    "max": lambda *a: max(map(recorded_values.number, a)),
    "str": recorded_values.text,
    "int": lambda a: int(recorded_values.number(a)),
    "float": lambda a: float(recorded_values.number(a)),
}
#: How deep brackets may be nested.
_MAX_DEPTH = 50
#: How many tokens an expression may have: each may add a level of calls.
_MAX_TOKENS = 400
#: Characters of an expression that an error quotes.
_MAX_QUOTED = 200


def compile(text: str) -> Evaluate:
    """Return *text* as a function of a lookup. Raises UsageError for invalid syntax.

    The function raises NotRecorded if a value that it needs was not recorded.
    """
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        self._at = 0
        self._depth = 0
        position = 0
        while position < len(text.rstrip()):
            found = _TOKEN.match(text, position)
            if found is None:
                raise self._error(f"{text[position:].strip()[:20]!r} is not understood")
            kind = found.lastgroup or ""
            self._tokens.append((kind, found[kind]))
            position = found.end()
            if len(self._tokens) > _MAX_TOKENS:
                raise self._error(f"it has more than {_MAX_TOKENS} names, numbers and signs")

    def whole(self) -> Evaluate:
        if not self._tokens:
            raise self._error("it is empty")
        result = self._or()
        if self._at < len(self._tokens):
            left = self._tokens[self._at][1]
            hint = "; equality is ==" if left == "=" else ""
            raise self._error(f"{left!r} is unexpected here{hint}")
        return result

    # --- tokens

    def _error(self, why: str) -> UsageError:
        hint = "; equality is written ==" if re.search(r"(?<![=!<>])=(?!=)", self._text) else ""
        text = self._text if len(self._text) <= _MAX_QUOTED else self._text[:_MAX_QUOTED] + "…"
        return UsageError(
            f"the expression {text!r} cannot be read: {why}{hint}.",
            next="dbg hits LOC --where 'n > 3'",
        )

    def _peek(self) -> str:
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            return text if kind in ("sign", "name") else ""
        return ""

    def _take(self, *tokens: str) -> str | None:
        found = self._peek()
        if found and found in tokens:
            self._at += 1
            return found
        return None

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            raise self._error(f"{sign!r} is missing")

    # --- grammar, loosest first

    def _or(self) -> Evaluate:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error("it is nested too deep")
        left = self._and()
        while self._take("or", "||"):
            left = _either(left, self._and())
        self._depth -= 1
        return left

    def _and(self) -> Evaluate:
        left = self._not()
        while self._take("and", "&&"):
            left = _both(left, self._not())
        return left

    def _not(self) -> Evaluate:
        count = 0
        while self._take("not", "!"):
            count += 1
        inner = self._comparison()
        if not count:
            return inner
        return lambda lookup: recorded_values.is_true(inner(lookup)) == (count % 2 == 0)

    def _comparison(self) -> Evaluate:
        left = self._sum()
        parts: list[Evaluate] = []
        while True:
            if sign := self._take(*_COMPARE):
                right = self._sum()
                parts.append(_binary(_COMPARE[sign], left, right))
            elif self._take("in"):
                right = self._sum()
                parts.append(_binary(recorded_values.contains, left, right))
            elif self._peek() == "not" and self._tokens[self._at + 1 : self._at + 2] == [
                ("name", "in")
            ]:
                self._at += 2
                right = self._sum()
                parts.append(_binary(lambda a, b: not recorded_values.contains(a, b), left, right))
            elif self._take("is"):
                sign = "!=" if self._take("not") else "=="
                right = self._sum()
                parts.append(_binary(_COMPARE[sign], left, right))
            else:
                break
            left = right
        if not parts:
            return left
        # `1 < n < 5` means both.
        return lambda lookup: all(part(lookup) for part in parts)

    def _sum(self) -> Evaluate:
        left = self._product()
        while sign := self._take(*_SUM):
            left = _binary(_SUM[sign], left, self._product())
        return left

    def _product(self) -> Evaluate:
        left = self._unary()
        while sign := self._take(*_PRODUCT):
            left = _binary(_PRODUCT[sign], left, self._unary())
        return left

    def _unary(self) -> Evaluate:
        if self._take("-"):
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise self._error("it is nested too deep")
            inner = self._unary()
            self._depth -= 1
            return lambda lookup: -recorded_values.number(inner(lookup))
        if self._take("*"):  # the recorded child of a pointer is its target
            inner = self._unary()
            return lambda lookup: recorded_values.member(inner(lookup), "*")
        return self._postfix()

    def _postfix(self) -> Evaluate:
        value = self._atom()
        while True:
            if self._take(".", "->"):
                if self._at >= len(self._tokens) or self._tokens[self._at][0] not in (
                    "name",
                    "number",
                ):
                    raise self._error("a name is missing after the dot")
                name = self._tokens[self._at][1]
                self._at += 1
                value = _member(value, name)
            elif self._take("["):
                index = self._or()
                self._expect("]")
                value = _binary(recorded_values.item, value, index)
            else:
                return value

    def _atom(self) -> Evaluate:
        if self._at >= len(self._tokens):
            raise self._error("it ends too early")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            number = recorded_values.number_of(text)
            return lambda lookup: number
        if kind == "string":
            string = recorded_values.string_of(text)
            return lambda lookup: string
        if kind == "name":
            return self._named(text)
        if text == "(":
            inner = self._or()
            self._expect(")")
            return inner
        raise self._error(f"{text!r} is not a value")

    def _named(self, name: str) -> Evaluate:
        if self._peek() == "(":
            call = _FUNCTIONS.get(name)
            if call is None:
                raise self._error(
                    f"{name}() cannot be called, since the program is not there; "
                    f"there are {', '.join(_FUNCTIONS)}"
                )
            self._at += 1
            arguments = [self._or()]
            while self._take(","):
                arguments.append(self._or())
            self._expect(")")
            return lambda lookup: call(*(argument(lookup) for argument in arguments))
        if name in _CONSTANTS:
            constant = _CONSTANTS[name]
            return lambda lookup: constant
        return lambda lookup: lookup(name)


def _either(a: Evaluate, b: Evaluate) -> Evaluate:
    return lambda lookup: recorded_values.is_true(a(lookup)) or recorded_values.is_true(b(lookup))


def _both(a: Evaluate, b: Evaluate) -> Evaluate:
    return lambda lookup: recorded_values.is_true(a(lookup)) and recorded_values.is_true(b(lookup))


def _binary(act: Callable[[Any, Any], Any], a: Evaluate, b: Evaluate) -> Evaluate:
    return lambda lookup: act(a(lookup), b(lookup))


def _member(value: Evaluate, name: str) -> Evaluate:
    return lambda lookup: recorded_values.member(value(lookup), name)


__all__ = ["Evaluate", "Lookup", "NotRecorded", "compile"]
