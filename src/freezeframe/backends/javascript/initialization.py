"""Find variables that are not initialised yet (the temporal dead zone) from the text.

A scope is entered anew in every iteration of a loop, so a position in a function is reached after
the declarations of the same scope that end before it, and before those that end after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from .js_scanner import BEFORE_VALUE, Function, JsText, bound_names, functions, innermost

#: size limit of a scope that is read, in characters
MAX_SIZE = 400_000
_CONTINUING_KEYWORDS = frozenset(("in", "instanceof", "of", "as"))
_IDENTIFIER = re.compile(r"(?<![\w$.#])(?:[^\W\d]|\$)[\w$]*")


def at_position(text: str, line: int, column: int) -> frozenset[str]:
    """Return the names that code cannot read where a frame is; both numbers count from 0."""
    starts = line_starts(text)
    if len(text) > MAX_SIZE or line >= len(starts):
        return frozenset()
    offset = starts[line] + column
    function = innermost(text, offset)
    if function is None:
        return uninitialized(text, offset)
    return uninitialized(text[function.start : function.end], offset - function.start)


def function_at(text: str, line: int, column: int) -> Function | None:
    """Return the innermost function around a position of a text; both numbers count from 0."""
    starts = line_starts(text)
    if len(text) > MAX_SIZE or line >= len(starts):
        return None
    return innermost(text, starts[line] + column)


#: the names of a pattern with renamed fields cannot be distinguished from the fields
_LOOP = re.compile(
    r"for\s*(?:await\s*)?\(\s*(?:const|let)\s+(?P<names>[\w$]+|[\[{][\w$,\s]*[\]}])"
    r"(?:\s*=(?!=)|\s+(?:of|in)\b)"
)


def at_line(text: str, line: int, column: int) -> frozenset[str]:
    """Return the names that code cannot read at a position of a text; both count from 0.

    Empty if several functions share the rest of the line: which of them is meant is unknown then.
    """
    starts = line_starts(text)
    if len(text) > MAX_SIZE or line >= len(starts):
        return frozenset()
    end = starts[line + 1] - 1 if line + 1 < len(starts) else len(text)
    offset = starts[line] + column
    offset += len(text[offset:end]) - len(text[offset:end].lstrip())
    crossing = [each for each in functions(text) if each.start <= end and each.end > offset]
    if any(each.body > offset or each.end <= end for each in crossing):
        return frozenset()
    if not crossing:
        return uninitialized(text, offset) | _declared_by_loop(text, offset)
    start = crossing[-1].start
    found = uninitialized(text[start : crossing[-1].end], offset - start)
    return found | _declared_by_loop(text, offset)


def _declared_by_loop(text: str, offset: int) -> frozenset[str]:
    """Return what the head of a loop declares: V8 stops before the first round."""
    found = _LOOP.match(text, offset)
    return frozenset(_IDENTIFIER.findall(found["names"])) if found else frozenset()


def line_starts(text: str) -> list[int]:
    """Return the offsets at which lines begin, with V8's line ends."""
    return [0, *(match.end() for match in re.finditer(r"\r\n|[\n\r\u2028\u2029]", text))]


def mentioned(code: str, names: Iterable[str]) -> list[str]:
    """Return those of *names* that occur in an expression."""
    identifiers = set(_IDENTIFIER.findall(code))
    return sorted(identifiers.intersection(names))


def guarded(code: str, names: Iterable[str]) -> str:
    """Return an expression that fails as the program would where it reads one of *names*."""
    found = mentioned(code, names)
    if not found or {"let", "const", "class"} & set(_IDENTIFIER.findall(code)):
        return code
    return f"{code}\n;let {','.join(found)}"


@lru_cache(maxsize=16)
def uninitialized(code: str, offset: int) -> frozenset[str]:
    """Return the names that are declared and not initialised at *offset* of a function or module.

    *code* is a function from its parameters on, or the text of a module.
    """
    reader = _Reader(code, offset)
    reader.read(*reader.body())
    return frozenset(name for name, is_unset in reader.found.items() if is_unset)


@lru_cache(maxsize=8)
def _text(code: str) -> JsText:
    return JsText(code)


class _Reader:
    def __init__(self, code: str, offset: int) -> None:
        self._code = code
        self._text = _text(code)
        self._word = self._text.word
        self._offset = offset
        #: by name, innermost declaration: whether it is not initialised
        self.found: dict[str, bool] = {}

    def body(self) -> tuple[int, int]:
        """Return the token range of the body: all tokens where the code is not a function."""
        tokens = self._text.tokens
        last = len(tokens) - 1
        first = 1 if self._word(0) == "async" else 0
        is_arrow = self._word(first + 1) == "=>" or (
            self._word(first) == "(" and self._word(self._text.past(first)) == "=>"
        )
        is_method = self._word(first) == "(" and self._word(self._text.past(first)) == "{"
        opening = self._text.partner.get(last)
        if opening is None or not (is_arrow or is_method) or self._word(last) != "}":
            return 0, len(tokens)
        expected = (
            (first + 2 if self._word(first + 1) == "=>" else self._text.past(first) + 1)
            if is_arrow
            else self._text.past(first)
        )
        return (opening + 1, last) if opening == expected else (0, len(tokens))

    def read(self, start: int, end: int) -> None:
        """Note the declarations of one scope, then those of the inner scopes around the offset."""
        #: inner declarations hide outer ones, so they are read last
        inner: list[Callable[[], None]] = []
        at = start
        while at < end:
            word, kind = self._word(at), self._text.tokens[at].kind
            if kind == "name" and word in ("let", "const") and self._declares(at):
                at = self._declarations(at + 1, end)
            elif kind == "name" and word in ("class", "function") and self._is_statement(at, start):
                at = self._definition(at, end)
            elif kind == "name" and word == "for" and (closing := self._head_end(at)) is not None:
                if self._is_in_loop(at, closing, end):
                    inner.append(partial(self._head, closing))
                at = closing + 1
            elif kind == "name" and word == "catch" and self._word(at + 1) == "(":
                inner.append(partial(self._caught, at))
                at += 1
            else:
                if word == "{" and self._holds(at):
                    inner.append(partial(self.read, at + 1, self._text.partner[at]))
                at = self._text.past(at)
        for each in inner:
            each()

    def _holds(self, opening: int) -> bool:
        """Return whether the offset is inside the bracket that opens at a token."""
        tokens = self._text.tokens
        closing = self._text.partner.get(opening, -1)
        return closing > opening and tokens[opening].end <= self._offset <= tokens[closing].start

    def _names(self, index: int) -> list[str]:
        """Return the names that the pattern at a token binds."""
        return bound_names(self._text, index, self._text.past(index))

    def _note(self, names: Iterable[str], end: int) -> None:
        """Note names that are initialised once the program has passed the offset *end*."""
        for name in names:
            self.found[name] = self._offset < end

    def _declares(self, index: int) -> bool:
        following = self._text.tokens[index + 1] if index + 1 < len(self._text.tokens) else None
        if following is None or self._word(index - 1) in (".", "?."):
            return False
        is_name = following.kind == "name" and following.text not in ("in", "instanceof", "of")
        return is_name or following.text in ("{", "[")

    def _declarations(self, at: int, end: int) -> int:
        """Note the names of a `let` or `const`, and return the index after it."""
        while at < end:
            names = self._names(at)
            at = self._text.past(at)
            if self._word(at) == "=":
                at = self._expression(at + 1, end)
            self._note(names, self._text.tokens[at - 1].end)
            if self._word(at) != ",":
                break
            at += 1
        return at

    def _expression(self, at: int, end: int) -> int:
        """Return the index after an expression: a comma, a semicolon, or a new statement."""
        first = at
        while at < end:
            if self._word(at) in (",", ";") or (at > first and self._begins_statement(at)):
                break
            at = self._text.past(at)
        return min(at, end)

    def _begins_statement(self, index: int) -> bool:
        """Return whether a semicolon is inserted before a token: a new line, and no
        continuation."""
        tokens = self._text.tokens
        before, token = tokens[index - 1], tokens[index]
        if not set("\n\r\u2028\u2029").intersection(self._code[before.end : token.start]):
            return False
        if before.kind == "mark" and before.text not in (")", "]", "}"):
            return before.text in ("+", "-") and self._word(index - 2) == before.text
        if before.kind == "name" and before.text in BEFORE_VALUE:
            return False
        if token.kind == "name":
            return token.text not in _CONTINUING_KEYWORDS
        if token.kind in ("number", "regex"):
            return True
        if token.kind == "string":
            return token.text != "`"
        if token.text in ("+", "-"):
            return self._word(index + 1) == token.text and tokens[index + 1].start == token.end
        return token.text in ("{", "!", "~", "@", ";")

    def _is_statement(self, index: int, start: int) -> bool:
        """Return whether a class or function is declared here, not part of an expression."""
        before = self._word(index - 1)
        if before in (".", "?.") or self._word(index + 1) in (":", "=", ",", "}"):
            return False
        if index == start or before in (";", "{", "}", "export", "default", "async"):
            return True
        return self._begins_statement(index) or before == ")"

    def _definition(self, index: int, end: int) -> int:
        is_class = self._word(index) == "class"
        name = index + 2 if self._word(index + 1) == "*" else index + 1
        at = name
        while at < end and self._word(at) != "{":
            at = self._text.past(at)
        past = self._text.past(at) if at < end else end
        if name < end and self._text.tokens[name].kind == "name" and self._word(name) != "extends":
            self._note([self._word(name)], self._text.tokens[past - 1].end if is_class else 0)
        return past

    def _caught(self, index: int) -> None:
        if self._holds(self._text.past(index + 1)):
            self._note(self._names(index + 2), 0)

    def _head_end(self, index: int) -> int | None:
        """Return the index of the parenthesis that closes the head of a `for`."""
        head = index + 2 if self._word(index + 1) == "await" else index + 1
        is_loop = self._word(head) == "(" and self._word(index - 1) not in (".", "?.")
        return self._text.partner.get(head) if is_loop else None

    def _is_in_loop(self, index: int, closing: int, end: int) -> bool:
        tokens, body = self._text.tokens, closing + 1
        past = self._text.past(body) if self._word(body) == "{" else self._expression(body, end)
        return tokens[index].end <= self._offset < tokens[min(past, end) - 1].end

    def _head(self, closing: int) -> None:
        """Note the variables of a loop."""
        first = self._text.partner[closing] + 1
        if self._word(first) not in ("let", "const") or not self._declares(first):
            return
        if self._word(self._text.past(first + 1)) in ("of", "in"):
            # Each iteration has its own variable, which gets its value before the body begins.
            names = self._names(first + 1)
            self._note(names, self._text.tokens[closing].end)
        else:
            self._declarations(first + 1, closing)
