"""Frames, variables and expressions, in whichever frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from freezeframe import files
from freezeframe.backends.backend import RawFrame, RawValue
from freezeframe.backends.console.prompt.spelling import Ask, At
from freezeframe.backends.php import preamble
from freezeframe.errors import EvaluationFailed
from freezeframe.model.values import ScopeKind

from . import dbgp, php
from .values import inner_values, literal, name_of, text, value_of

T = TypeVar("T")

#: how far values are opened with their variables
_DEPTH, _CHILDREN, _BYTES = 2, 32, 1000
#: of a value that is carried into another frame, or opened on demand
_DEEP, _MANY, _LONG = 6, 100_000, 1_000_000
#: what Xdebug finds by itself, in any frame
_PATH = re.compile(r"\$\w+(?:\[(?:\d+|\"[^\"\\$]*\"|'[^'\\]*')\]|->\w+)*\Z", re.UNICODE)
_CLOSURE = re.compile(r"\{closure(?::(?P<path>.*):(?P<first>\d+)-(?P<last>\d+))?\}\Z")
_SUPERGLOBALS = frozenset(
    ["_GET", "_POST", "_COOKIE", "_FILES", "_ENV", "_REQUEST", "_SERVER", "_SESSION", "GLOBALS"]
)


class Looking:
    """What Xdebug is asked to see. Remembers the stack of the current stop."""

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce
        #: frames on top of the stack that are not shown: a function that has returned and is still
        #: there, or one of PHP's own
        self._hidden = 0
        #: the frame that Xdebug evaluates in
        self._scope = 0
        self._path: str | None = None
        self._line: int | None = None
        self._stack: list[Element] = []

    def stopped(self, path: str | None, line: int | None) -> None:
        self._path, self._line = path, line
        self._stack = []
        self._hidden = self._scope = 0

    def returned(self) -> None:
        """The innermost function has not left the stack, and nothing more of it will run."""
        self._hidden = 1

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        def shown() -> Sequence[RawFrame]:
            found = self._stack[self._hidden :] or self._stack
            return [frame_of(each) for each in found[start : start + count]]

        def read(answered: str) -> Sequence[RawFrame]:
            self._stack = dbgp.children(dbgp.response(answered), "stack")
            return shown()

        def within_php(answered: str) -> Sequence[RawFrame]:
            if is_true(dbgp.response(answered)):
                self._hidden = self._scope = 1
            return shown()

        def unless_ours(answered: str) -> Ask[Sequence[RawFrame]] | None:
            read(answered)
            # A function of PHP's own that throws stands where it was called.
            if self._hidden or [place_of(each) for each in self._stack[:2]].count(here) < 2:
                return None
            name = (self._stack[0].get("where") or "").replace("->", "::")
            return Ask(dbgp.command("eval", data=php.is_internal(name)), within_php)

        here = self._path, self._line
        return Ask("stack_get", read, then=unless_ours if self._hidden == 0 else None)

    def _level(self, at: At) -> int:
        return at.level + self._hidden

    def _where(self, level: int) -> str:
        """Return the name of a frame's function, as Xdebug writes it; empty where unknown."""
        return self._stack[level].get("where") or "" if level < len(self._stack) else ""

    def _place(self, level: int) -> tuple[str | None, int | None]:
        if level < len(self._stack):
            return place_of(self._stack[level])
        return self._path, self._line

    # --- variables

    def depths(self, depth: int = _DEPTH, children: int = _CHILDREN, size: int = _BYTES) -> str:
        """Return the commands that say how much of a value is told."""
        limits = {"max_depth": depth, "max_children": children, "max_data": size}
        return dbgp.joined(
            [dbgp.command("feature_set", "-n", name, "-v", value) for name, value in limits.items()]
        )

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        if kind is ScopeKind.GLOBALS:
            return Ask(dbgp.command("eval", data="$GLOBALS"), _read_globals)

        def read(answered: str) -> Sequence[RawValue]:
            told = dbgp.children(_accepted(dbgp.response(answered)), "property")
            return [
                value_of(each, name="static" if name_of(each) == "::" else None)
                for each in told
                if each.get("type") != "uninitialized" and name_of(each) != php.VARIABLE
            ]

        return Ask(dbgp.command("context_get", "-d", self._level(at)), read)

    def arguments(self, at: At) -> Ask[Sequence[str] | None] | None:
        where = self._where(self._level(at))
        if not where:
            return None
        closure = _CLOSURE.search(where)
        if closure is not None:
            names = _signature(closure)
            return Ask("status", lambda text: names)
        if where.startswith("{") or where in ("include", "include_once", "require", "require_once"):
            return Ask("status", lambda text: ())

        def read(answered: str) -> Sequence[str] | None:
            held = dbgp.child(dbgp.response(answered), "property")
            if held is None:
                return None
            names = dbgp.text_of(held).decode("utf-8", "replace")
            return [f"${name}" for name in names.split(",") if name]

        asked = php.parameters(where.replace("->", "::"))
        return Ask(dbgp.command("eval", data=asked), read)

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]]:
        many = _MANY if count is None else start + count
        more, less = self.depths(_DEPTH, max(many, _CHILDREN)), self.depths()

        def read(answered: str) -> Sequence[RawValue]:
            held = self._held(dbgp.responses(answered)[_FEATURES_SENT])
            if held is None:
                raise EvaluationFailed(f"{expression} is not there any more")
            named = held.get("fullname") is not None
            values = inner_values(held, None if named else expression)
            return values[start : None if count is None else start + count]

        asked = self._asking(expression, at)
        return Ask(dbgp.joined([more, asked, less]), read)

    def _asking(self, expression: str, at: At) -> str:
        level = self._level(at)
        if expression.startswith("$") and not expression.startswith("$GLOBALS"):
            return dbgp.command("property_get", "-d", level, "-n", expression)
        return self._evaluation(expression, level)

    def _evaluation(self, expression: str, level: int, *, statement: bool = False) -> str:
        before = preamble(*self._place(level))
        code = php.evaluation(expression, self._nonce, before, statement=statement)
        return dbgp.command("eval", data=code)

    # --- expressions

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        return self._ask(expression, at, lambda held: value_of(held, expression, expression))

    def truth(self, condition: str, at: At) -> Ask[bool]:
        return self._ask(f"(bool) ({condition})", at, lambda held: text(held) == "true")

    def log_text(self, expression: str, at: At) -> Ask[str]:
        def said(held: Element) -> str:
            if held.get("type") != "string":
                return text(held)
            raw = dbgp.child(held, "value")
            return dbgp.text_of(held if raw is None else raw).decode("utf-8", "replace")

        return self._ask(expression, at, said)

    def execute(self, statement: str, at: At) -> Ask[RawValue]:
        level = self._level(at)
        if level != self._scope:
            return self.evaluate(statement, at)

        def read(answered: str) -> RawValue:
            held = self._value(dbgp.response(answered))
            if dbgp.text_of(held).decode("utf-8", "replace") == self._nonce + php.DONE:
                return RawValue(statement, "")
            return value_of(held, statement, statement)

        return Ask(self._evaluation(statement, level, statement=True), read)

    def assign(self, target: str, value: str, at: At) -> Ask[None]:
        level = self._level(at)

        def read(answered: str) -> None:
            response = dbgp.response(answered)
            if level != self._scope:
                if response.get("success") != "1":
                    raise EvaluationFailed(f"{target} of an outer frame could not be set")
            else:
                self._value(response)

        if level != self._scope:
            return Ask(dbgp.command("property_set", "-d", level, "-n", target, data=value), read)
        return Ask(self._evaluation(f"{target} = {value}", level, statement=True), read)

    def has_variable(self, name: str, at: At) -> Ask[bool] | None:
        if not re.fullmatch(r"\$\w+", name) or php.EVERYWHERE.fullmatch(name):
            return None

        def read(answered: str) -> bool:
            # One that has no value yet is among them.
            told = dbgp.children(_accepted(dbgp.response(answered)), "property")
            return name in [name_of(each) for each in told]

        return Ask(dbgp.command("context_get", "-d", self._level(at)), read)

    def _ask(self, expression: str, at: At, make: Callable[[Element], T]) -> Ask[T]:
        """Ask for a value: by its name where it has one, for that shows what is private too."""
        level = self._level(at)

        def read(answered: str) -> T:
            return make(self._value(dbgp.response(answered)))

        last = Ask(self._evaluation(expression, level), read)
        if not _PATH.match(expression) or expression.startswith("$GLOBALS"):
            return last if level == self._scope else self._carried(expression, level, read)

        def unless_found(answered: str) -> Ask[T] | None:
            if dbgp.error(dbgp.response(answered)) is None:
                return None
            return last if level == self._scope else self._carried(expression, level, read)

        if re.match(r"\$this\b", expression) and "->" not in self._where(level) and level:
            # Xdebug would show that of the innermost frame.
            raise EvaluationFailed("Using $this when not in object context")
        named = dbgp.command("property_get", "-d", level, "-n", expression)
        return Ask(named, read, then=unless_found)

    def _carried(self, expression: str, level: int, read: Callable[[str], T]) -> Ask[T]:
        """Evaluate for a frame that is not the innermost, with its variables carried over."""

        def evaluated(answered: str) -> Ask[T]:
            depth, context = dbgp.responses(answered)[_FEATURES_SENT : _FEATURES_SENT + 2]
            there = {
                name_of(each).removeprefix("$"): each
                for each in dbgp.children(context, "property")
                if each.get("type") != "uninitialized"
            }
            # The frames of functions, counted from the outermost: that of the script is none.
            outside = int(depth.get("depth") or 0) - level - 2
            where = self._where(level)
            held: dict[str, str] = {}
            for name in php.variables_of(expression):
                if name == "this" or name not in there:
                    continue
                made = literal(there[name])
                if made is None:
                    made = php.global_(name) if outside < 0 else php.argument(outside, where, name)
                held[name] = made
            this = php.object_of(outside) if "this" in there else None
            return Ask(self._evaluation(php.elsewhere(expression, held, this), level), read)

        commands = (
            self.depths(_DEEP, _MANY, _LONG),
            "stack_depth",
            dbgp.command("context_get", "-d", level),
            self.depths(),
        )
        return Ask(dbgp.joined(commands), read, then=evaluated)

    def _held(self, response: Element) -> Element | None:
        return dbgp.child(response, "property")

    def _value(self, response: Element) -> Element:
        """Return the value in an answer. Raises EvaluationFailed in PHP's own words."""
        held = dbgp.child(_accepted(response), "property")
        if held is None:
            raise EvaluationFailed("it has no value")
        if held.get("type") == "string":
            raw = dbgp.child(held, "value")
            words = dbgp.text_of(held if raw is None else raw).decode("utf-8", "replace")
            if words.startswith(self._nonce) and words != self._nonce + php.DONE:
                raise EvaluationFailed(_complaint(words.removeprefix(self._nonce)))
        return held


#: commands of `depths`
_FEATURES_SENT = 3


def is_true(response: Element) -> bool:
    held = dbgp.child(response, "property")
    return held is not None and (held.text or "") == "1"


def _accepted(response: Element) -> Element:
    refused = dbgp.error(response)
    if refused:
        raise EvaluationFailed(refused[1])
    return response


def _complaint(words: str) -> str:
    """`ErrorException: Undefined variable $x` is a warning that we made an exception of."""
    return words.removeprefix("ErrorException: ").rstrip(".")


def _read_globals(answered: str) -> Sequence[RawValue]:
    held = dbgp.child(_accepted(dbgp.response(answered)), "property")
    if held is None:
        return []
    values = []
    for each in dbgp.children(held, "property"):
        name = name_of(each)
        if name not in _SUPERGLOBALS:
            expression = f"$GLOBALS[{php.quote(name)}]"
            values.append(value_of(each, expression, f"${name}"))
    return values


def _signature(closure: re.Match[str]) -> Sequence[str] | None:
    """Return the parameters of a closure, read from the line where it begins."""
    if closure["path"] is None:
        return None
    try:
        lines = files.read_text(closure["path"]).splitlines()
    except OSError:
        return None
    begun = " ".join(lines[int(closure["first"]) - 1 : int(closure["last"])])
    found = re.search(r"\b(?:function|fn)\b\s*&?\s*\((?P<names>[^)]*)\)", begun)
    return re.findall(r"\$\w+", found["names"]) if found else None


# --- frames --------------------------------------------------------------------------------------


def place_of(element: Element) -> tuple[str | None, int | None]:
    """Return file and line that an element names."""
    line = element.get("lineno")
    return local_path(element.get("filename")), int(line) if line else None


def local_path(uri: str | None) -> str | None:
    """Return the path behind a file's URI; None for what is no file (`eval`)."""
    if uri is None or not uri.startswith("file://"):
        return None
    return unquote(uri.removeprefix("file://"))


def frame_of(element: Element) -> RawFrame:
    path, line = place_of(element)
    library = path is not None and "/vendor/" in path
    return RawFrame(0, pretty(element.get("where") or ""), path, line, library=library)


def pretty(where: str) -> str:
    """`Shop\\Cart->Shop\\{closure:/shop.php:3-5}` → `Shop\\Cart::{closure}`."""
    owner, arrow, name = where.replace("->", "::").rpartition("::")
    if "{closure" in where:
        owner, arrow, _ = where.partition("->") if "->" in where else where.partition("::{")
        owner = owner if arrow else ""
        return f"{owner}::{{closure}}" if owner else "{closure}"
    return f"{owner}{arrow}{name}"
