"""Expressions: lookups that ocamldebug can print, and operators, which are evaluated here.

ocamldebug evaluates a name with fields, elements and `!`, nothing else, and crashes on some other
input. So an expression is parsed here first, only its lookups are queried, and operators between
them are evaluated here, on numbers, strings and booleans.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from freezeframe.errors import EvaluationFailed

#: bits of an integer in OCaml
_BITS = 63
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<float>\d[\d_]*\.[\d_]*(?:[eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+)
  | (?P<int>0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|\d[\d_]*)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<char>'(?:[^'\\]|\\[\\'"ntbr ]|\\\d{3})')
  | (?P<name>[A-Za-z_][\w']*)
  | (?P<last>\$\d*)
  | (?P<operator>\*\.|/\.|\+\.|-\.|<>|<=|>=|==|!=|&&|\|\||\.\(|\.\[|[-+*/^<>=!.()\]])
)""",
    re.VERBOSE,
)
_WORD_OPERATORS = frozenset({"mod", "land", "lor", "lxor", "not", "true", "false"})
_KEYWORDS = re.compile(
    r"and|as|assert|begin|class|do|done|else|end|exception|external|for|fun|function|functor|if|in"
    r"|include|inherit|initializer|lazy|let|match|method|module|mutable|new|object|of|open|private"
    r"|rec|sig|struct|then|to|try|type|val|virtual|when|while|with"
)
_LEVELS: Sequence[frozenset[str]] = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"=", "<>", "==", "!=", "<", ">", "<=", ">="}),
    frozenset({"^"}),
    frozenset({"+", "-", "+.", "-."}),
    frozenset({"*", "/", "*.", "/.", "mod", "land", "lor", "lxor"}),
)
_LITERALS = frozenset({"int", "float", "string", "char"})
_SIMPLE = {"\\n": "\n", "\\t": "\t", "\\b": "\b", "\\r": "\r", "\\ ": " "}


@dataclass(frozen=True, slots=True)
class Lookup:
    """A part of an expression that ocamldebug can print."""

    text: str
    #: the name that the text begins with
    root: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A known value; *text* as OCaml writes it."""

    type: str
    value: object
    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator and its operands."""

    operator: str
    parts: tuple[Tree, ...]


Tree: TypeAlias = Lookup | Constant | Operation


def parse(text: str) -> Tree:
    """Parse an expression. Raises EvaluationFailed if it is not supported."""
    return _Parser(text).parse()


def lookups(tree: Tree) -> Iterator[Lookup]:
    """Return the lookups of an expression, in order, with repetitions."""
    if isinstance(tree, Lookup):
        yield tree
    elif isinstance(tree, Operation):
        for part in tree.parts:
            yield from lookups(part)


def evaluate_tree(tree: Tree, values: Mapping[str, Constant]) -> Constant:
    """Return the value of an expression, given the values of its lookups."""
    if isinstance(tree, Constant):
        return tree
    if isinstance(tree, Lookup):
        return values[tree.text]
    if tree.operator in ("&&", "||"):
        first = _value_as(evaluate_tree(tree.parts[0], values), "bool", tree.operator)
        if first is (tree.operator == "||"):
            return bool_constant(bool(first))
        return bool_constant(
            bool(_value_as(evaluate_tree(tree.parts[1], values), "bool", tree.operator))
        )
    return _apply(tree.operator, [evaluate_tree(part, values) for part in tree.parts])


def bool_constant(value: bool) -> Constant:
    return Constant("bool", value, "true" if value else "false")


def constant(type: str, text: str) -> Constant:
    """Return a value from the type and text that the debugger printed."""
    value: object = None
    if type == "int":
        value = int(text)
    elif type == "float":
        value = float(text)
    elif type == "bool":
        value = text == "true"
    elif type in ("string", "char", "bytes"):
        value = _unquoted(text)
    return Constant(type, value, text)


# --- parsing


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._unsupported()
            assert found.lastgroup is not None
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self._at = 0

    def _unsupported(self) -> EvaluationFailed:
        return EvaluationFailed(
            f"`{self._text.strip()}` is more than can be evaluated here: names, fields, elements "
            "(`a.(0)`), `!`, and operators between them"
        )

    def parse(self) -> Tree:
        tree = self._binary(0)
        if self._at != len(self._tokens):
            raise self._unsupported()
        return tree

    def _next(self) -> str | None:
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind == "operator" or text in _WORD_OPERATORS:
                return text
        return None

    def _take(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise self._unsupported()
        self._at += 1
        return self._tokens[self._at - 1]

    def _binary(self, level: int) -> Tree:
        if level == len(_LEVELS):
            return self._unary()
        tree = self._binary(level + 1)
        while (operator := self._next()) in _LEVELS[level]:
            assert operator is not None
            self._take()
            tree = Operation(operator, (tree, self._binary(level + 1)))
        return tree

    def _unary(self) -> Tree:
        operator = self._next()
        if operator in ("-", "-.", "not"):
            self._take()
            return Operation(f"{operator} ", (self._unary(),))
        return self._postfixed()

    def _postfixed(self) -> Tree:
        tree = self._primary()
        while (operator := self._next()) in (".", ".(", ".["):
            if not isinstance(tree, Lookup):
                raise self._unsupported()
            self._take()
            kind, name = self._take()
            if operator == ".":
                tree = Lookup(f"{tree.text}.{self._name(kind, name)}", tree.root)
                continue
            if kind != "int" or self._take()[1] != {".(": ")", ".[": "]"}[str(operator)]:
                raise self._unsupported()
            closing = ")" if operator == ".(" else "]"
            tree = Lookup(f"{tree.text}{operator}{_int(name)}{closing}", tree.root)
        return tree

    def _primary(self) -> Tree:
        kind, text = self._take()
        if kind == "int":
            return _number("int", _int(text))
        if kind == "float":
            return _number("float", float(text.replace("_", "")))
        if kind in ("string", "char"):
            return Constant(kind, _unquoted(text), text)
        if kind == "last":
            return Lookup(text, text)
        if text in ("true", "false"):
            return bool_constant(text == "true")
        if text == "!":
            inner = self._primary()
            if not isinstance(inner, Lookup):
                raise self._unsupported()
            return Lookup(f"(!{inner.text})", inner.root)
        if text == "(":
            if self._next() == ")":
                self._take()
                return Constant("unit", None, "()")
            tree = self._binary(0)
            if self._take()[1] != ")":
                raise self._unsupported()
            return tree
        return self._path(kind, text)

    def _path(self, kind: str, text: str) -> Tree:
        name = self._name(kind, text)
        root = name
        while name.rpartition(".")[2][:1].isupper():
            if self._next() != ".":
                return self._constructed(name)
            self._take()
            name = f"{name}.{self._name(*self._take())}"
        return Lookup(name, root)

    def _constructed(self, name: str) -> Tree:
        """Return a constructor, with its argument if that is a literal."""
        if self._at == len(self._tokens) or self._tokens[self._at][0] not in _LITERALS:
            return Constant("", None, name)
        inner = self._primary()
        assert isinstance(inner, Constant)
        return Constant("", None, f"{name} {inner.text}")

    def _name(self, kind: str, text: str) -> str:
        if kind != "name" or text in _WORD_OPERATORS or _KEYWORDS.fullmatch(text):
            raise self._unsupported()
        return text


def _int(text: str) -> int:
    return int(text.replace("_", ""), 0 if text[1:2].isalpha() else 10)


def _unquoted(text: str) -> str:
    body = text[1:-1]
    body = re.sub(r"\\(\d{3})", lambda found: chr(int(found[1])), body)
    return re.sub(r"\\.", lambda found: _SIMPLE.get(found[0], found[0][1:]), body)


# --- evaluation


def _value_as(operand: Constant, type: str, operator: str) -> object:
    if operand.type != type:
        is_ = operand.type or "something else"
        raise EvaluationFailed(f"`{operator.strip()}` takes {type}, and {operand.text} is {is_}")
    return operand.value


def _wrap_int(value: int) -> int:
    half = 1 << (_BITS - 1)
    return (value + half) % (1 << _BITS) - half


def _number(type: str, value: float) -> Constant:
    if type == "int":
        value = _wrap_int(int(value))
        return Constant(type, value, str(value))
    text = f"{value:.12g}"
    return Constant(type, value, text if re.search(r"[.en]", text) else f"{text}.")


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationFailed("Division_by_zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_WHOLE: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "mod": lambda a, b: a - b * _divide(a, b),
    "land": lambda a, b: a & b,
    "lor": lambda a, b: a | b,
    "lxor": lambda a, b: a ^ b,
}
_REAL: Mapping[str, Callable[[float, float], float]] = {
    "+.": lambda a, b: a + b,
    "-.": lambda a, b: a - b,
    "*.": lambda a, b: a * b,
}
_ORDER: Mapping[str, Callable[[int], bool]] = {
    "<": lambda sign: sign < 0,
    ">": lambda sign: sign > 0,
    "<=": lambda sign: sign <= 0,
    ">=": lambda sign: sign >= 0,
}


def _apply(operator: str, parts: Sequence[Constant]) -> Constant:
    if operator == "not ":
        return bool_constant(not _value_as(parts[0], "bool", operator))
    if operator == "- " and parts[0].type == "float":
        operator = "-. "
    if operator in ("- ", "-. "):
        type = "int" if operator == "- " else "float"
        value = _value_as(parts[0], type, operator)
        assert isinstance(value, int | float)
        return _number(type, -value)
    left, right = parts
    if operator in ("=", "<>", "==", "!="):
        return bool_constant(_equal(left, right) is (operator in ("=", "==")))
    if operator in _ORDER:
        return bool_constant(_ORDER[operator](_compare(left, right, operator)))
    if operator == "^":
        text = f"{_value_as(left, 'string', '^')}{_value_as(right, 'string', '^')}"
        quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return Constant("string", text, f'"{quoted}"')
    if operator in _WHOLE:
        whole = [_value_as(part, "int", operator) for part in parts]
        return _number("int", _WHOLE[operator](*(int(str(each)) for each in whole)))
    real = [_value_as(part, "float", operator) for part in parts]
    first, second = (float(str(each)) for each in real)
    if operator == "/.":
        if second == 0:
            raise EvaluationFailed("a division by zero is not evaluated here")
        return _number("float", first / second)
    return _number("float", _REAL[operator](first, second))


def _equal(left: Constant, right: Constant) -> bool:
    if left.value is not None and right.value is not None:
        if left.type != right.type:
            raise EvaluationFailed(f"{left.text} is {left.type}, and {right.text} is {right.type}")
        return left.value == right.value
    for each in (left, right):
        if "<" in each.text or "…" in each.text or "..." in each.text:
            raise EvaluationFailed(f"{each.text} cannot be compared here")
    # Compare by text, which is complete here; a constructor may be printed with its module.
    return _bare(left.text) == _bare(right.text)


def _bare(text: str) -> str:
    return re.sub(r"\b(?:[A-Z][\w']*\.)+(?=[A-Z])", "", text)


def _compare(left: Constant, right: Constant, operator: str) -> int:
    one, other = left.value, right.value
    if left.type != right.type or one is None or other is None:
        raise EvaluationFailed(
            f"`{operator}` is evaluated for numbers, characters and strings of one type here; "
            f"{left.text} is {left.type or 'something else'}, "
            f"{right.text} is {right.type or 'something else'}"
        )
    if isinstance(one, str) and isinstance(other, str):
        return (one > other) - (one < other)
    assert isinstance(one, int | float)
    assert isinstance(other, int | float)
    return (one > other) - (one < other)
