"""What a debugger must read in JavaScript text: where functions begin, their parameters, what is
caught.

Not a parser: tokens and brackets only. Generated code is read like hand-written code; what is
unclear is left out, never guessed.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

_TOKEN = re.compile(
    r"""
    (?P<space>[\s\ufeff]+|//[^\n\u2028\u2029]*|/\*.*?(?:\*/|\Z)|\A\#![^\n]*)
  | (?P<name>(?:\#|[^\W\d]|\$|\\u)(?:\w|\$|\u200c|\u200d|\\u)*)
  | (?P<number>\.?\d(?:[\w.]|(?<=[eE])[+-])*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)
  | (?P<mark>=>|\.\.\.|\?\.|[-+*/%&|^<>=!?]=?|[{}()\[\];,.:~@`]|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
#: keywords after which a slash begins a regular expression, and a brace a value
BEFORE_VALUE = frozenset(
    {
        *("return", "typeof", "case", "do", "else", "in", "instanceof", "new", "void", "delete"),
        *("throw", "yield", "await", "of", "default"),
    }
)
_CONTROL = frozenset(("if", "for", "while", "switch", "function", "typeof", "await"))
#: characters before and after an offset that are read
_WINDOW = 50_000
#: esbuild's helper that keeps the name of a function
_NAMES = re.compile(r"__name\d*")
_CLOSERS = {"}": "{", ")": "(", "]": "["}


@dataclass(frozen=True, slots=True)
class JsToken:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function in a text."""

    #: `Account.deposit`, `main`; empty for one without a name
    name: str
    #: offset of the parameters, which is V8's location of a function
    start: int
    #: offset of the first character of its body
    body: int
    end: int
    is_async: bool = False
    is_generator: bool = False


class JsText:
    """The tokens of a text, and the matching brackets."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.partner: dict[int, int] = {}
        open_: list[int] = []
        for index, token in enumerate(self.tokens):
            if token.kind != "mark":
                continue
            if token.text in "{([":
                open_.append(index)
            elif token.text in _CLOSERS:
                while open_:
                    opening = open_.pop()
                    if self.tokens[opening].text == _CLOSERS[token.text]:
                        self.partner[opening], self.partner[index] = index, opening
                        break
        self._starts = [token.start for token in self.tokens]

    def word(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def past(self, index: int) -> int:
        """Return the index after a token, or after the whole bracket that it opens."""
        return max(self.partner.get(index, index), index) + 1

    def at(self, offset: int) -> int:
        """Return the index of the first token that begins at or after *offset*."""
        return bisect.bisect_left(self._starts, offset)


def _tokens(text: str) -> Iterator[JsToken]:
    position, size = 0, len(text)
    before: JsToken | None = None
    #: for each open template: how many braces are open in its current `${`
    templates: list[int] = []
    while position < size:
        letter = text[position]
        if letter == "`" or (letter == "}" and templates and templates[-1] == 0):
            if letter == "}":
                templates.pop()
                yield JsToken("mark", "}", position, position + 1)
            else:
                yield JsToken("string", "`", position, position + 1)
            position, inner = _template(text, position + 1)
            before = JsToken("string", "`", position - 1, position)
            if inner:
                templates.append(0)
                before = JsToken("mark", "{", position - 1, position)
                yield before
            continue
        if letter == "/" and text[position + 1 : position + 2] not in ("/", "*"):
            match = _REGEX.match(text, position) if _takes_value(before) else None
            if match is not None:
                before = JsToken("regex", match[0], position, match.end())
                yield before
                position = match.end()
                continue
        match = _TOKEN.match(text, position)
        assert match is not None
        kind = str(match.lastgroup)
        if kind != "space":
            before = JsToken(kind, match[0], position, match.end())
            if templates and before.text in "{}":
                templates[-1] += 1 if before.text == "{" else -1
            yield before
        position = match.end()


def _template(text: str, position: int) -> tuple[int, bool]:
    """Return where the text of a template ends, and whether code follows."""
    while position < len(text):
        letter = text[position]
        if letter == "\\":
            position += 2
        elif letter == "`":
            return position + 1, False
        elif letter == "$" and text[position + 1 : position + 2] == "{":
            return position + 2, True
        else:
            position += 1
    return len(text), False


def _takes_value(before: JsToken | None) -> bool:
    """Return whether a value may follow, so that a slash begins a regular expression."""
    if before is None:
        return True
    if before.kind == "name":
        return before.text in BEFORE_VALUE
    return before.kind == "mark" and before.text not in (")", "]", "}")


# --- functions ----------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def functions(text: str) -> tuple[Function, ...]:
    """Return the functions of a text, in the order in which they begin."""
    return tuple(sorted(_Finder(JsText(text)).find(), key=lambda each: each.start))


class _Finder:
    def __init__(self, text: JsText) -> None:
        self._text = text
        self._word = text.word
        #: class bodies and object literals, by the index of their brace: their names
        self._holders: dict[int, str] = {}
        #: the innermost brace around each token
        self._around: list[int] = []

    def find(self) -> Iterator[Function]:
        self._survey()
        for index, token in enumerate(self._text.tokens):
            if token.text == "function" and token.kind == "name":
                found = self._function(index)
            elif token.text == "=>":
                found = self._arrow(index)
            elif token.text == "(" and index in self._text.partner:
                found = self._method(index)
            else:
                continue
            if found is not None:
                yield found

    def _survey(self) -> None:
        open_: list[int] = [-1]
        for index, token in enumerate(self._text.tokens):
            if token.text == "}" and token.kind == "mark" and len(open_) > 1:
                open_.pop()
            self._around.append(open_[-1])
            if token.text == "class" and token.kind == "name" and self._word(index - 1) != ".":
                self._class(index)
            if token.text == "{" and token.kind == "mark":
                open_.append(index)
                if index not in self._holders and self._is_literal(index):
                    self._holders[index] = self._assigned(index - 1)

    def _class(self, index: int) -> None:
        named = self._word(index + 1) not in ("{", "extends")
        name = self._word(index + 1) if named else self._assigned(index - 1)
        at = index + 1
        while at < len(self._text.tokens) and self._word(at) != "{":
            at = self._text.past(at)
        self._holders[at] = name

    def _is_literal(self, index: int) -> bool:
        before = self._text.tokens[index - 1] if index else None
        if before is None or before.text in ("{", ";", "=>"):
            return False
        if before.text == ":":
            return index >= 2 and self._holders.get(self._around[index - 1]) is not None
        return _takes_value(before) and before.text not in ("else", "do")

    def _assigned(self, index: int) -> str:
        """Return the name that a value is assigned to whose first token follows *index*."""
        if self._word(index) == "(" and _NAMES.fullmatch(self._word(index - 1)):
            index -= 2
        if self._word(index) == ":" and self._around[index] in self._holders:
            return self._qualified(self._plain(index - 1), index)
        if self._word(index) != "=":
            return ""
        at, parts = index - 1, [self._plain(index - 1)]
        while self._word(at - 1) == "." and at >= 2:
            at -= 2
            parts.insert(0, self._plain(at))
        name = ".".join(word for word in parts if word not in ("prototype", ""))
        holder = self._holders.get(self._around[index]) if len(parts) == 1 else None
        declared = self._word(at - 1) in ("const", "let", "var", ",")
        return f"{holder}.{name}" if holder and not declared else name

    def _plain(self, index: int) -> str:
        token = self._text.tokens[index] if index >= 0 else None
        if token is None or token.kind not in ("name", "string"):
            return ""
        return token.text.strip("\"'")

    def _qualified(self, name: str, index: int) -> str:
        holder = self._holders.get(self._around[index])
        return f"{holder}.{name}" if holder and name else name

    def _function(self, index: int) -> Function | None:
        around = (self._word(index - 1), self._word(index + 1))
        at = index + 2 if around[1] == "*" else index + 1
        name = ""
        if self._word(at) != "(":
            name = self._word(at)
            at += 1
        assigned = self._assigned(index - 2 if around[0] == "async" else index - 1)
        return self._with_body(at, assigned or name, around)

    def _method(self, index: int) -> Function | None:
        around = self._around[index]
        before = self._text.tokens[index - 1] if index else None
        if around not in self._holders or before is None:
            return None
        if before.kind not in ("name", "string", "number") and before.text != "]":
            return None
        if before.kind == "name" and before.text in _CONTROL:
            return None
        at = index - 1
        name = "" if before.text == "]" else self._plain(at)
        at = self._text.partner.get(at, at) if before.text == "]" else at
        last = at
        while self._word(at - 1) in ("async", "static", "get", "set", "*"):
            at -= 1
        modifiers = [self._word(each) for each in range(at, last)]
        if self._word(at - 1) not in ("{", "}", ";", ",") and not self._new_line(at):
            return None
        return self._with_body(index, self._qualified(name, index), modifiers)

    def _new_line(self, index: int) -> bool:
        """Return whether a field of a class ended before, which may be without a semicolon."""
        return self._word(index - 1) not in (".", "=", "new", "?", ":", "&&", "||", "(", "=>")

    def _with_body(self, at: int, name: str, modifiers: Sequence[str]) -> Function | None:
        closing = self._text.partner.get(at)
        if self._word(at) != "(" or closing is None or self._word(closing + 1) != "{":
            return None
        end = self._text.partner.get(closing + 1)
        body = self._text.tokens[closing + 1]
        stop = self._text.tokens[end].end if end is not None else body.end
        start = self._text.tokens[at].start
        return Function(name, start, body.end, stop, "async" in modifiers, "*" in modifiers)

    def _arrow(self, index: int) -> Function | None:
        first = index - 1
        if self._word(first) == ")":
            first = self._text.partner.get(first, first)
        is_async = self._word(first - 1) == "async"
        # V8 includes the word `async`.
        first_token = first - 1 if is_async else first
        if first_token < 0:
            return None  # a text cannot begin with an arrow
        name = self._assigned(first_token - 1)
        body = index + 1
        if self._word(body) == "{":
            end = self._text.partner.get(body)
            start = self._text.tokens[body].end
        else:
            end = self._expression_end(body)
            start = self._text.tokens[body].start if body < len(self._text.tokens) else 0
        if end is None or body >= len(self._text.tokens):
            return None
        return Function(
            name, self._text.tokens[first_token].start, start, self._text.tokens[end].end, is_async
        )

    def _expression_end(self, index: int) -> int:
        last = index
        while index < len(self._text.tokens):
            word = self._word(index)
            if word in (",", ";", ")", "]", "}"):
                break
            index = self._text.past(index)
            last = index - 1
        return min(last, len(self._text.tokens) - 1)


def bare(name: str) -> str:
    return name.rpartition(".")[2].removeprefix("#")


def is_called(function: Function, requested: str) -> bool:
    """Return whether the name *requested* matches *function*: `deposit`, `Account.deposit`."""
    requested = requested.replace(".prototype.", ".").replace("#", "").removesuffix("()")
    name = function.name.replace("#", "")
    return bool(name) and (name == requested or name.endswith(f".{requested}"))


def innermost(text: str, offset: int) -> Function | None:
    """Return the innermost function around an offset."""
    around = [each for each in functions(text) if each.start <= offset < each.end]
    return around[-1] if around else None


# --- parameters ---------------------------------------------------------------------------------


def parameters(text: str, offset: int) -> list[str] | None:
    """Return the names that the parameters of the function at *offset* bind; None where unclear.

    *offset* is V8's location of a function: its first parenthesis, or the only name of an arrow
    function.
    """
    read = JsText(text[offset : offset + 20_000])
    at = 0
    if read.word(0) == "async" and read.word(1) not in ("=>",):
        at = 1
    if read.word(at) != "(":
        return [read.word(at)] if read.word(at + 1) == "=>" else None
    closing = read.partner.get(at)
    return None if closing is None else bound_names(read, at + 1, closing)


def bound_names(read: JsText, start: int, end: int) -> list[str]:
    """Return the names that a list of patterns binds."""
    names: list[str] = []
    at = start
    while at < end:
        if read.word(at) == "...":
            at += 1
        word = read.word(at)
        if word in ("{", "[") and at in read.partner:
            closing = read.partner[at]
            inner = _in_object if word == "{" else bound_names
            names += inner(read, at + 1, closing)
            at = closing + 1
        elif at < end and read.tokens[at].kind == "name":
            names.append(word)
            at += 1
        at = _after_comma(read, at, end)
    return names


def _in_object(read: JsText, start: int, end: int) -> list[str]:
    names: list[str] = []
    at = start
    while at < end:
        if read.word(at) == "...":
            at += 1
        value = read.past(at) + 1
        if read.word(value - 1) == ":":
            at = _after_comma(read, value, end)
            names += bound_names(read, value, at - 1)
            continue
        if at < end and read.tokens[at].kind == "name":
            names.append(read.word(at))
        at = _after_comma(read, at, end)
    return names


def _after_comma(read: JsText, at: int, end: int) -> int:
    while at < end and read.word(at) != ",":
        at = read.past(at)
    return at + 1


# --- what is caught -----------------------------------------------------------------------------


def is_caught(text: str, offset: int, function_start: int) -> bool:
    """Return whether a `try` with a `catch` in the same function is around an offset."""
    read = read_text(text)
    for index in range(read.at(function_start), min(read.at(offset) + 1, len(read.tokens))):
        token = read.tokens[index]
        if token.text != "try" or token.kind != "name" or read.word(index + 1) != "{":
            continue
        closing = read.partner.get(index + 1)
        if closing is None or not token.start <= offset < read.tokens[closing].end:
            continue
        if read.word(closing + 1) == "catch":
            return True
    return False


@lru_cache(maxsize=8)
def read_text(text: str) -> JsText:
    return JsText(text)


def is_awaited(text: str, offset: int) -> bool:
    """Return whether the result of the call at an offset is awaited, and not used otherwise."""
    head = text[max(0, offset - 200) : offset]
    if re.search(r"\bawait\s+(?:[\w$.#\[\]'\"]|\?\.)*$", head) is None:
        return False
    read = JsText(text[offset : offset + 20_000])
    for index, token in enumerate(read.tokens):
        if token.text == "(":
            return read.word(read.past(index)) not in (".", "?.")
        if token.kind != "name" and token.text not in (".", "?."):
            break
    return True


# --- statements after a return ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Behind:
    """A statement directly after a `return`, not separated from it by a brace or a blank."""

    #: offset of the `if` before it, from which it is reached
    guard: int
    end: int
    #: whether there is an await on the way
    awaits: bool


def behind_return(text: str, offset: int) -> Behind | None:
    """Return how the statement at *offset* is reached if the end of a `return` has its position."""
    if text[offset - 1 : offset] != ";":
        return None
    if offset > _WINDOW:
        # A bundle may be megabytes long, and only the text nearby matters.
        cut = text.find(";", offset - _WINDOW) + 1
        found = behind_return(text[cut : offset + _WINDOW], offset - cut)
        return found and replace(found, guard=found.guard + cut, end=found.end + cut)
    guard = offset
    # Of several in a row only the first is not affected itself.
    while (before := _guard_before(text, guard)) is not None:
        guard = before
    if guard == offset:
        return None
    read = read_text(text)
    index = read.at(offset)
    while index < len(read.tokens) and read.word(index) not in (";", "}"):
        index = read.past(index)
    end = read.tokens[index].start if index < len(read.tokens) else len(text)
    return Behind(guard, max(end, offset + 1), "await" in text[guard:offset])


def _guard_before(text: str, offset: int) -> int | None:
    """Return where the `if` begins that ends with a `return` and its semicolon at *offset*."""
    if text[offset - 1 : offset] != ";":
        return None
    read = read_text(text)
    index = read.at(offset) - 2
    while index >= 0 and read.word(index) != "return":
        if read.word(index) in (";", "{", "(", "["):
            return None
        index = min(read.partner.get(index, index), index) - 1
    index -= 1
    while index > 0:
        if read.word(index) == "else":
            # Only a block shows where the branch before begins.
            index = read.partner.get(index - 1, 0) - 1 if read.word(index - 1) == "}" else 0
            continue
        start = read.partner.get(index, 0) - 1 if read.word(index) == ")" else 0
        if start <= 0 or read.word(start) != "if":
            return None
        if read.word(start - 1) in (";", "{", "}", ":"):
            return read.tokens[start].start
        index = start - 1
    return None
