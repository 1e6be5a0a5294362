"""Expressions over recorded values: `n > 3`, `item["price"] * 2 >= total`, `len(rows) == 0`.

A language of its own, small and without side effects, that reads like most others: `and or not`,
`&& || !`, comparisons, `in`, arithmetic, fields (`.`, `->`), subscripts, `len`, `abs`, `min`,
`max`, `str`, `int`, `float`. Names are recorded variables; `@stop @hit @line @file @function
@thread @reason @time` are facts of the stop. Nothing is ever evaluated by Python or the program.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from freezeframe.errors import UsageError

from . import plain
from .plain import Missing

#: Finds a name; raises Missing where there is none.
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
    "==": plain.same,
    "===": plain.same,
    "!=": lambda a, b: not plain.same(a, b),
    "!==": lambda a, b: not plain.same(a, b),
    "<": lambda a, b: plain.ordered(a, b, operator.lt),
    "<=": lambda a, b: plain.ordered(a, b, operator.le),
    ">": lambda a, b: plain.ordered(a, b, operator.gt),
    ">=": lambda a, b: plain.ordered(a, b, operator.ge),
}
_SUM: Mapping[str, Callable[[Any, Any], Any]] = {"+": plain.plus, "-": plain.minus}
_PRODUCT: Mapping[str, Callable[[Any, Any], Any]] = {
    "*": plain.times,
    "/": plain.divided,
    "//": plain.floored,
    "%": plain.remainder,
}
_WORDS = {"True": True, "true": True, "False": False, "false": False} | dict.fromkeys(
    ("None", "null", "nil", "undefined", "nullptr", "NULL")
)
_CALLS: Mapping[str, Callable[..., Any]] = {
    "len": plain.length,
    "abs": lambda a: abs(plain.number(a)),
    "min": lambda *a: min(map(plain.number, a)),
    "max": lambda *a: max(map(plain.number, a)),
    "str": plain.text,
    "int": lambda a: int(plain.number(a)),
    "float": lambda a: float(plain.number(a)),
}
#: How deep brackets may stand in brackets.
_DEEPEST = 50
#: How many names, numbers and signs an expression may have: each may be a call deeper.
_LONGEST = 400
#: How much of an expression an error quotes.
_SHOWN = 200


def compile(text: str) -> Evaluate:
    """Return what *text* asks, as a function of a lookup. Raises UsageError where it is wrong.

    The function raises Missing where something that it needs was not recorded.
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
                raise self._wrong(f"{text[position:].strip()[:20]!r} is not understood")
            kind = found.lastgroup or ""
            self._tokens.append((kind, found[kind]))
            position = found.end()
            if len(self._tokens) > _LONGEST:
                raise self._wrong(f"it has more than {_LONGEST} names, numbers and signs")

    def whole(self) -> Evaluate:
        if not self._tokens:
            raise self._wrong("it is empty")
        made = self._or()
        if self._at < len(self._tokens):
            left = self._tokens[self._at][1]
            hint = "; equality is ==" if left == "=" else ""
            raise self._wrong(f"{left!r} stands where nothing is expected{hint}")
        return made

    # --- tokens

    def _wrong(self, why: str) -> UsageError:
        hint = "; equality is spelled ==" if re.search(r"(?<![=!<>])=(?!=)", self._text) else ""
        text = self._text if len(self._text) <= _SHOWN else self._text[:_SHOWN] + "…"
        return UsageError(
            f"the expression {text!r} cannot be read: {why}{hint}.",
            next="dbg hits LOC --where 'n > 3'",
        )

    def _peek(self) -> str:
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            return text if kind in ("sign", "name") else ""
        return ""

    def _take(self, *wanted: str) -> str | None:
        found = self._peek()
        if found and found in wanted:
            self._at += 1
            return found
        return None

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            raise self._wrong(f"{sign!r} is missing")

    # --- grammar, loosest first

    def _or(self) -> Evaluate:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong("it is nested too deep")
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
        return lambda find: plain.truth(inner(find)) == (count % 2 == 0)

    def _comparison(self) -> Evaluate:
        left = self._sum()
        parts: list[Evaluate] = []
        while True:
            if sign := self._take(*_COMPARE):
                right = self._sum()
                parts.append(_two(_COMPARE[sign], left, right))
            elif self._take("in"):
                right = self._sum()
                parts.append(_two(plain.contains, left, right))
            elif self._peek() == "not" and self._tokens[self._at + 1 : self._at + 2] == [
                ("name", "in")
            ]:
                self._at += 2
                right = self._sum()
                parts.append(_two(lambda a, b: not plain.contains(a, b), left, right))
            elif self._take("is"):
                sign = "!=" if self._take("not") else "=="
                right = self._sum()
                parts.append(_two(_COMPARE[sign], left, right))
            else:
                break
            left = right
        if not parts:
            return left
        # `1 < n < 5` means both.
        return lambda find: all(part(find) for part in parts)

    def _sum(self) -> Evaluate:
        left = self._product()
        while sign := self._take(*_SUM):
            left = _two(_SUM[sign], left, self._product())
        return left

    def _product(self) -> Evaluate:
        left = self._unary()
        while sign := self._take(*_PRODUCT):
            left = _two(_PRODUCT[sign], left, self._unary())
        return left

    def _unary(self) -> Evaluate:
        if self._take("-"):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise self._wrong("it is nested too deep")
            inner = self._unary()
            self._depth -= 1
            return lambda find: -plain.number(inner(find))
        if self._take("*"):  # what a pointer points to is what is recorded of it
            inner = self._unary()
            return lambda find: plain.member(inner(find), "*")
        return self._postfix()

    def _postfix(self) -> Evaluate:
        value = self._atom()
        while True:
            if self._take(".", "->"):
                if self._at >= len(self._tokens) or self._tokens[self._at][0] not in (
                    "name",
                    "number",
                ):
                    raise self._wrong("a name is missing after the dot")
                name = self._tokens[self._at][1]
                self._at += 1
                value = _member(value, name)
            elif self._take("["):
                index = self._or()
                self._expect("]")
                value = _two(plain.item, value, index)
            else:
                return value

    def _atom(self) -> Evaluate:
        if self._at >= len(self._tokens):
            raise self._wrong("it ends too early")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            number = plain.number_of(text)
            return lambda find: number
        if kind == "string":
            string = plain.string_of(text)
            return lambda find: string
        if kind == "name":
            return self._named(text)
        if text == "(":
            inner = self._or()
            self._expect(")")
            return inner
        raise self._wrong(f"{text!r} stands where a value is expected")

    def _named(self, name: str) -> Evaluate:
        if self._peek() == "(":
            call = _CALLS.get(name)
            if call is None:
                raise self._wrong(
                    f"{name}() cannot be called, since the program is not there; "
                    f"there are {', '.join(_CALLS)}"
                )
            self._at += 1
            arguments = [self._or()]
            while self._take(","):
                arguments.append(self._or())
            self._expect(")")
            return lambda find: call(*(argument(find) for argument in arguments))
        if name in _WORDS:
            constant = _WORDS[name]
            return lambda find: constant
        return lambda find: find(name)


def _either(a: Evaluate, b: Evaluate) -> Evaluate:
    return lambda find: plain.truth(a(find)) or plain.truth(b(find))


def _both(a: Evaluate, b: Evaluate) -> Evaluate:
    return lambda find: plain.truth(a(find)) and plain.truth(b(find))


def _two(act: Callable[[Any, Any], Any], a: Evaluate, b: Evaluate) -> Evaluate:
    return lambda find: act(a(find), b(find))


def _member(value: Evaluate, name: str) -> Evaluate:
    return lambda find: plain.member(value(find), name)


__all__ = ["Evaluate", "Lookup", "Missing", "compile"]
