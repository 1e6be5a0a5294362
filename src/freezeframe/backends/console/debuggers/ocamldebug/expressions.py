"""Expressions: what the debugger can look at, and the arithmetic around it, which it has not.

It evaluates a name with fields, elements and `!`, and nothing else; of some other words it dies.
So an expression is read here first, only what it can look at is asked for, and operators between
such parts are worked out here, on numbers, strings and booleans.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from freezeframe.errors import EvaluationFailed

#: whole numbers have 63 bits there
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
_WORDS = frozenset({"mod", "land", "lor", "lxor", "not", "true", "false"})
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
class Look:
    """What the debugger itself can print."""

    text: str
    #: the name that it begins with
    root: str


@dataclass(frozen=True, slots=True)
class Known:
    """A value that can be worked with; *text* as OCaml writes it."""

    type: str
    value: object
    text: str


@dataclass(frozen=True, slots=True)
class Work:
    """An operator and what it works on."""

    operator: str
    parts: tuple[Tree, ...]


Tree: TypeAlias = Look | Known | Work


def parse(text: str) -> Tree:
    """Return what an expression is made of. Raises EvaluationFailed where it is none of ours."""
    return _Parser(text).parse()


def looks(tree: Tree) -> Iterator[Look]:
    """Return what must be asked for, each once as often as it stands there."""
    if isinstance(tree, Look):
        yield tree
    elif isinstance(tree, Work):
        for part in tree.parts:
            yield from looks(part)


def work(tree: Tree, seen: Mapping[str, Known]) -> Known:
    """Return the value of an expression, of whose parts the debugger has told the values."""
    if isinstance(tree, Known):
        return tree
    if isinstance(tree, Look):
        return seen[tree.text]
    if tree.operator in ("&&", "||"):
        first = _of(work(tree.parts[0], seen), "bool", tree.operator)
        if first is (tree.operator == "||"):
            return truth(bool(first))
        return truth(bool(_of(work(tree.parts[1], seen), "bool", tree.operator)))
    return _apply(tree.operator, [work(part, seen) for part in tree.parts])


def truth(value: bool) -> Known:
    return Known("bool", value, "true" if value else "false")


def known(type: str, text: str) -> Known:
    """Return a value of which the debugger has told type and text."""
    value: object = None
    if type == "int":
        value = int(text)
    elif type == "float":
        value = float(text)
    elif type == "bool":
        value = text == "true"
    elif type in ("string", "char", "bytes"):
        value = _unquoted(text)
    return Known(type, value, text)


# --- reading


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._wrong()
            assert found.lastgroup is not None
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self._at = 0

    def _wrong(self) -> EvaluationFailed:
        return EvaluationFailed(
            f"`{self._text.strip()}` is more than can be evaluated here: names, fields, elements "
            "(`a.(0)`), `!`, and operators between them"
        )

    def parse(self) -> Tree:
        tree = self._binary(0)
        if self._at != len(self._tokens):
            raise self._wrong()
        return tree

    def _next(self) -> str | None:
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind == "operator" or text in _WORDS:
                return text
        return None

    def _take(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise self._wrong()
        self._at += 1
        return self._tokens[self._at - 1]

    def _binary(self, level: int) -> Tree:
        if level == len(_LEVELS):
            return self._unary()
        tree = self._binary(level + 1)
        while (operator := self._next()) in _LEVELS[level]:
            assert operator is not None
            self._take()
            tree = Work(operator, (tree, self._binary(level + 1)))
        return tree

    def _unary(self) -> Tree:
        operator = self._next()
        if operator in ("-", "-.", "not"):
            self._take()
            return Work(f"{operator} ", (self._unary(),))
        return self._postfixed()

    def _postfixed(self) -> Tree:
        tree = self._primary()
        while (operator := self._next()) in (".", ".(", ".["):
            if not isinstance(tree, Look):
                raise self._wrong()
            self._take()
            kind, name = self._take()
            if operator == ".":
                tree = Look(f"{tree.text}.{self._name(kind, name)}", tree.root)
                continue
            if kind != "int" or self._take()[1] != {".(": ")", ".[": "]"}[str(operator)]:
                raise self._wrong()
            closing = ")" if operator == ".(" else "]"
            tree = Look(f"{tree.text}{operator}{_int(name)}{closing}", tree.root)
        return tree

    def _primary(self) -> Tree:
        kind, text = self._take()
        if kind == "int":
            return _number("int", _int(text))
        if kind == "float":
            return _number("float", float(text.replace("_", "")))
        if kind in ("string", "char"):
            return Known(kind, _unquoted(text), text)
        if kind == "last":
            return Look(text, text)
        if text in ("true", "false"):
            return truth(text == "true")
        if text == "!":
            inner = self._primary()
            if not isinstance(inner, Look):
                raise self._wrong()
            return Look(f"(!{inner.text})", inner.root)
        if text == "(":
            if self._next() == ")":
                self._take()
                return Known("unit", None, "()")
            tree = self._binary(0)
            if self._take()[1] != ")":
                raise self._wrong()
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
        return Look(name, root)

    def _constructed(self, name: str) -> Tree:
        """Return a constructor, with what it is applied to where that is written out."""
        if self._at == len(self._tokens) or self._tokens[self._at][0] not in _LITERALS:
            return Known("", None, name)
        inner = self._primary()
        assert isinstance(inner, Known)
        return Known("", None, f"{name} {inner.text}")

    def _name(self, kind: str, text: str) -> str:
        if kind != "name" or text in _WORDS or _KEYWORDS.fullmatch(text):
            raise self._wrong()
        return text


def _int(text: str) -> int:
    return int(text.replace("_", ""), 0 if text[1:2].isalpha() else 10)


def _unquoted(text: str) -> str:
    body = text[1:-1]
    body = re.sub(r"\\(\d{3})", lambda found: chr(int(found[1])), body)
    return re.sub(r"\\.", lambda found: _SIMPLE.get(found[0], found[0][1:]), body)


# --- working


def _of(known: Known, type: str, operator: str) -> object:
    if known.type != type:
        is_ = known.type or "something else"
        raise EvaluationFailed(f"`{operator.strip()}` takes {type}, and {known.text} is {is_}")
    return known.value


def _wrapped(value: int) -> int:
    half = 1 << (_BITS - 1)
    return (value + half) % (1 << _BITS) - half


def _number(type: str, value: float) -> Known:
    if type == "int":
        value = _wrapped(int(value))
        return Known(type, value, str(value))
    text = f"{value:.12g}"
    return Known(type, value, text if re.search(r"[.en]", text) else f"{text}.")


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


def _apply(operator: str, parts: Sequence[Known]) -> Known:
    if operator == "not ":
        return truth(not _of(parts[0], "bool", operator))
    if operator == "- " and parts[0].type == "float":
        operator = "-. "
    if operator in ("- ", "-. "):
        type = "int" if operator == "- " else "float"
        value = _of(parts[0], type, operator)
        assert isinstance(value, int | float)
        return _number(type, -value)
    left, right = parts
    if operator in ("=", "<>", "==", "!="):
        return truth(_equal(left, right) is (operator in ("=", "==")))
    if operator in _ORDER:
        return truth(_ORDER[operator](_compared(left, right, operator)))
    if operator == "^":
        text = f"{_of(left, 'string', '^')}{_of(right, 'string', '^')}"
        quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return Known("string", text, f'"{quoted}"')
    if operator in _WHOLE:
        whole = [_of(part, "int", operator) for part in parts]
        return _number("int", _WHOLE[operator](*(int(str(each)) for each in whole)))
    real = [_of(part, "float", operator) for part in parts]
    first, second = (float(str(each)) for each in real)
    if operator == "/.":
        if second == 0:
            raise EvaluationFailed("a division by zero is not worked out here")
        return _number("float", first / second)
    return _number("float", _REAL[operator](first, second))


def _equal(left: Known, right: Known) -> bool:
    if left.value is not None and right.value is not None:
        if left.type != right.type:
            raise EvaluationFailed(f"{left.text} is {left.type}, and {right.text} is {right.type}")
        return left.value == right.value
    for each in (left, right):
        if "<" in each.text or "…" in each.text or "..." in each.text:
            raise EvaluationFailed(f"{each.text} cannot be compared here")
    # Its text is the whole of a value; a constructor may be told with its module.
    return _bare(left.text) == _bare(right.text)


def _bare(text: str) -> str:
    return re.sub(r"\b(?:[A-Z][\w']*\.)+(?=[A-Z])", "", text)


def _compared(left: Known, right: Known, operator: str) -> int:
    one, other = left.value, right.value
    if left.type != right.type or one is None or other is None:
        raise EvaluationFailed(
            f"`{operator}` is worked out for numbers, characters and strings of one type here; "
            f"{left.text} is {left.type or 'something else'}, "
            f"{right.text} is {right.type or 'something else'}"
        )
    if isinstance(one, str) and isinstance(other, str):
        return (one > other) - (one < other)
    assert isinstance(one, int | float)
    assert isinstance(other, int | float)
    return (one > other) - (one < other)
