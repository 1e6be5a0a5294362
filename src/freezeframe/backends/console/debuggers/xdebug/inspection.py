"""Frames, variables and expressions, in any frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from freezeframe import files
from freezeframe.backends.backend import RawFrame, RawValue
from freezeframe.backends.console.prompt.command_set import ConsoleQuery, FrameRef
from freezeframe.backends.php import is_library, preamble
from freezeframe.errors import EvaluationFailed
from freezeframe.model.values import ScopeKind

from . import dbgp, php_snippets
from .precision import Precision, exact
from .value_parser import inner_values, literal, name_of, text, value_of

T = TypeVar("T")

#: limits for values in a list of variables
_DEPTH, _CHILDREN, _BYTES = 2, 32, 1000
#: limits for a value that is copied into another frame, or opened on demand
_DEEP, _MANY, _LONG = 6, 100_000, 1_000_000
#: an expression that Xdebug resolves by itself, in any frame
_PATH = re.compile(r"\$\w+(?:\[(?:\d+|\"[^\"\\$]*\"|'[^'\\]*')\]|->\w+)*\Z", re.UNICODE)
_CLOSURE = re.compile(r"\{closure(?::(?P<path>.*):(?P<first>\d+)-(?P<last>\d+))?\}\Z")
_SUPERGLOBALS = frozenset(
    ["_GET", "_POST", "_COOKIE", "_FILES", "_ENV", "_REQUEST", "_SERVER", "_SESSION", "GLOBALS"]
)


class XdebugInspection:
    """The inspection queries of Xdebug. Caches the stack of the current stop."""

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce
        #: frames on top of the stack that are not shown: a function that has returned and is still
        #: on the stack, or a built-in one
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
        """Hide the innermost frame: its function has returned and is still on the stack."""
        self._hidden = 1

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        def shown() -> Sequence[RawFrame]:
            found = self._stack[self._hidden :] or self._stack
            return [frame_of(each) for each in found[start : start + count]]

        def read(answer: str) -> Sequence[RawFrame]:
            self._stack = dbgp.children(dbgp.response(answer), "stack")
            return shown()

        def hide_internal(answer: str) -> Sequence[RawFrame]:
            if is_true(dbgp.response(answer)):
                self._hidden = self._scope = 1
            return shown()

        def check_internal(answer: str) -> ConsoleQuery[Sequence[RawFrame]] | None:
            read(answer)
            # A built-in function that throws has the location of its call.
            if self._hidden or [location_of(each) for each in self._stack[:2]].count(here) < 2:
                return None
            name = (self._stack[0].get("where") or "").replace("->", "::")
            return ConsoleQuery(
                dbgp.command("eval", data=php_snippets.is_internal(name)), hide_internal
            )

        here = self._path, self._line
        return ConsoleQuery("stack_get", read, then=check_internal if self._hidden == 0 else None)

    def _level(self, at: FrameRef) -> int:
        return at.level + self._hidden

    def _function_at(self, level: int) -> str:
        """Return the name of a frame's function, as Xdebug writes it; empty if unknown."""
        return self._stack[level].get("where") or "" if level < len(self._stack) else ""

    def _location(self, level: int) -> tuple[str | None, int | None]:
        if level < len(self._stack):
            return location_of(self._stack[level])
        return self._path, self._line

    # --- variables

    def depths(self, depth: int = _DEPTH, children: int = _CHILDREN, size: int = _BYTES) -> str:
        """Return the commands that limit how much of a value is sent."""
        limits = {"max_depth": depth, "max_children": children, "max_data": size}
        return dbgp.joined(
            [dbgp.command("feature_set", "-n", name, "-v", value) for name, value in limits.items()]
        )

    def scope(self, kind: ScopeKind, at: FrameRef) -> ConsoleQuery[Sequence[RawValue]]:
        if kind is ScopeKind.GLOBALS:
            whole = ConsoleQuery(dbgp.command("eval", data="$GLOBALS"), _read_globals)
            return exact(lambda precision: precision.around(whole))

        def read(answer: str) -> Sequence[RawValue]:
            properties = dbgp.children(_accepted(dbgp.response(answer)), "property")
            return [
                value_of(each, name="static" if name_of(each) == "::" else None)
                for each in properties
                if each.get("type") != "uninitialized" and name_of(each) != php_snippets.VARIABLE
            ]

        query = ConsoleQuery(dbgp.command("context_get", "-d", self._level(at)), read)
        return exact(lambda precision: precision.around(query))

    def arguments(self, at: FrameRef) -> ConsoleQuery[Sequence[str] | None] | None:
        function = self._function_at(self._level(at))
        if not function:
            return None
        closure = _CLOSURE.search(function)
        if closure is not None:
            names = _signature(closure)
            return ConsoleQuery("status", lambda text: names)
        if function.startswith("{") or function in (
            "include",
            "include_once",
            "require",
            "require_once",
        ):
            return ConsoleQuery("status", lambda text: ())

        def read(answer: str) -> Sequence[str] | None:
            prop = dbgp.child(dbgp.response(answer), "property")
            if prop is None:
                return None
            names = dbgp.text_of(prop).decode("utf-8", "replace")
            return [f"${name}" for name in names.split(",") if name]

        command = php_snippets.parameters(function.replace("->", "::"))
        return ConsoleQuery(dbgp.command("eval", data=command), read)

    def children(
        self, expression: str, at: FrameRef, start: int, count: int | None
    ) -> ConsoleQuery[Sequence[RawValue]]:
        many = _MANY if count is None else start + count
        more, less = self.depths(_DEPTH, max(many, _CHILDREN)), self.depths()

        def read(answer: str) -> Sequence[RawValue]:
            prop = self._property(dbgp.responses(answer)[_FEATURES_SENT])
            if prop is None:
                raise EvaluationFailed(f"{expression} is not there any more")
            named = prop.get("fullname") is not None
            values = inner_values(prop, None if named else expression)
            return values[start : None if count is None else start + count]

        level = self._level(at)
        named = expression.startswith("$") and not expression.startswith("$GLOBALS")

        def make(precision: Precision) -> ConsoleQuery[Sequence[RawValue]]:
            command = (
                dbgp.command("property_get", "-d", level, "-n", expression)
                if named
                else self._evaluation(expression, level, precision)
            )
            query = ConsoleQuery(dbgp.joined([more, command, less]), read)
            return precision.around(query, evaluated=not named)

        return exact(make)

    def _evaluation(
        self, expression: str, level: int, precision: Precision, *, statement: bool = False
    ) -> str:
        before = preamble(*self._location(level))
        code = php_snippets.evaluation(
            expression, self._nonce, before, precision.after, statement=statement
        )
        return dbgp.command("eval", data=code)

    # --- expressions

    def evaluate(self, expression: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        return self._query_value(
            expression, at, lambda prop: value_of(prop, expression, expression)
        )

    def evaluate_condition(self, condition: str, at: FrameRef) -> ConsoleQuery[bool]:
        def read(answer: str) -> bool:
            return text(self._value(dbgp.response(answer))) == "true"

        return self._evaluated(f"(bool) ({condition})", self._level(at), Precision(None), read)

    def log_text(self, expression: str, at: FrameRef) -> ConsoleQuery[str]:
        def log_text_of(prop: Element) -> str:
            if prop.get("type") != "string":
                return text(prop)
            raw = dbgp.child(prop, "value")
            return dbgp.text_of(prop if raw is None else raw).decode("utf-8", "replace")

        return self._query_value(expression, at, log_text_of)

    def execute(self, statement: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        level = self._level(at)
        if level != self._scope:
            return self.evaluate(statement, at)

        def read(answer: str) -> RawValue:
            prop = self._value(dbgp.response(answer))
            if dbgp.text_of(prop).decode("utf-8", "replace") == self._nonce + php_snippets.DONE:
                return RawValue(statement, "")
            return value_of(prop, statement, statement)

        def make(precision: Precision) -> ConsoleQuery[RawValue]:
            command = self._evaluation(statement, level, precision, statement=True)
            return precision.around(ConsoleQuery(command, read), evaluated=True)

        return exact(make)

    def assign(self, target: str, value: str, at: FrameRef) -> ConsoleQuery[None]:
        level = self._level(at)

        def read(answer: str) -> None:
            response = dbgp.response(answer)
            if level != self._scope:
                if response.get("success") != "1":
                    raise EvaluationFailed(f"{target} of an outer frame could not be set")
            else:
                self._value(response)

        if level != self._scope:
            return ConsoleQuery(
                dbgp.command("property_set", "-d", level, "-n", target, data=value), read
            )
        assignment = f"{target} = {value}"
        return ConsoleQuery(
            self._evaluation(assignment, level, Precision(None), statement=True), read
        )

    def has_variable(self, name: str, at: FrameRef) -> ConsoleQuery[bool] | None:
        if not re.fullmatch(r"\$\w+", name) or php_snippets.EVERYWHERE.fullmatch(name):
            return None

        def read(answer: str) -> bool:
            # This includes variables without a value.
            properties = dbgp.children(_accepted(dbgp.response(answer)), "property")
            return name in [name_of(each) for each in properties]

        return ConsoleQuery(dbgp.command("context_get", "-d", self._level(at)), read)

    def _query_value(
        self, expression: str, at: FrameRef, make: Callable[[Element], T]
    ) -> ConsoleQuery[T]:
        """Query a value: by its name if it has one, because that shows private members too."""
        level = self._level(at)

        def read(answer: str) -> T:
            return make(self._value(dbgp.response(answer)))

        def evaluated(precision: Precision) -> ConsoleQuery[T]:
            return self._evaluated(expression, level, precision, read)

        if not _PATH.match(expression) or expression.startswith("$GLOBALS"):
            return exact(evaluated)
        if re.match(r"\$this\b", expression) and "->" not in self._function_at(level) and level:
            # Xdebug would show `$this` of the innermost frame.
            raise EvaluationFailed("Using $this when not in object context")
        command = dbgp.command("property_get", "-d", level, "-n", expression)

        def named(precision: Precision) -> ConsoleQuery[T]:
            def unless_found(answer: str) -> ConsoleQuery[T] | None:
                found = dbgp.error(dbgp.response(answer)) is None
                return None if found else evaluated(precision)

            return precision.around(ConsoleQuery(command, read, then=unless_found))

        return exact(named)

    def _evaluated(
        self, expression: str, level: int, precision: Precision, read: Callable[[str], T]
    ) -> ConsoleQuery[T]:
        if level != self._scope:
            return self._evaluate_with_copies(expression, level, precision, read)
        command = self._evaluation(expression, level, precision)
        return precision.around(ConsoleQuery(command, read), evaluated=True)

    def _evaluate_with_copies(
        self, expression: str, level: int, precision: Precision, read: Callable[[str], T]
    ) -> ConsoleQuery[T]:
        """Evaluate for a frame that is not the innermost, with copies of its variables."""

        def evaluate_there(answer: str) -> ConsoleQuery[T]:
            depth, context = dbgp.responses(answer)[_FEATURES_SENT : _FEATURES_SENT + 2]
            variables = {
                name_of(each).removeprefix("$"): each
                for each in dbgp.children(context, "property")
                if each.get("type") != "uninitialized"
            }
            # Frames of functions, counted from the outermost; the script's frame does not count.
            outer_level = int(depth.get("depth") or 0) - level - 2
            function = self._function_at(level)
            copies: dict[str, str] = {}
            for name in php_snippets.variables_of(expression):
                if name == "this" or name not in variables:
                    continue
                copy = literal(variables[name])
                if copy is None:
                    copy = (
                        php_snippets.global_(name)
                        if outer_level < 0
                        else php_snippets.argument(outer_level, function, name)
                    )
                copies[name] = copy
            this = php_snippets.object_of(outer_level) if "this" in variables else None
            code = php_snippets.elsewhere(expression, copies, this)
            command = self._evaluation(code, level, precision)
            return precision.around(ConsoleQuery(command, read), evaluated=True)

        commands = (
            self.depths(_DEEP, _MANY, _LONG),
            "stack_depth",
            dbgp.command("context_get", "-d", level),
            self.depths(),
        )
        return precision.around(ConsoleQuery(dbgp.joined(commands), read, then=evaluate_there))

    def _property(self, response: Element) -> Element | None:
        return dbgp.child(response, "property")

    def _value(self, response: Element) -> Element:
        """Return the value in an answer. Raises EvaluationFailed with PHP's message."""
        prop = dbgp.child(_accepted(response), "property")
        if prop is None:
            raise EvaluationFailed("it has no value")
        if prop.get("type") == "string":
            raw = dbgp.child(prop, "value")
            message = dbgp.text_of(prop if raw is None else raw).decode("utf-8", "replace")
            if message.startswith(self._nonce) and message != self._nonce + php_snippets.DONE:
                raise EvaluationFailed(_error_message(message.removeprefix(self._nonce)))
        return prop


#: commands of `depths`
_FEATURES_SENT = 3


def is_true(response: Element) -> bool:
    prop = dbgp.child(response, "property")
    return prop is not None and (prop.text or "") == "1"


def _accepted(response: Element) -> Element:
    refused = dbgp.error(response)
    if refused:
        raise EvaluationFailed(refused[1])
    return response


def _error_message(message: str) -> str:
    """Remove the class of a warning that we turned into an exception."""
    return message.removeprefix("ErrorException: ").rstrip(".")


def _read_globals(answer: str) -> Sequence[RawValue]:
    prop = dbgp.child(_accepted(dbgp.response(answer)), "property")
    if prop is None:
        return []
    values = []
    for each in dbgp.children(prop, "property"):
        name = name_of(each)
        if name not in _SUPERGLOBALS:
            expression = f"$GLOBALS[{php_snippets.quote(name)}]"
            values.append(value_of(each, expression, f"${name}"))
    return values


def _signature(closure: re.Match[str]) -> Sequence[str] | None:
    """Return the parameters of a closure, from its source."""
    if closure["path"] is None:
        return None
    try:
        lines = files.read_text(closure["path"]).splitlines()
    except OSError:
        return None
    source = " ".join(lines[int(closure["first"]) - 1 : int(closure["last"])])
    found = re.search(r"\b(?:function|fn)\b\s*&?\s*\((?P<names>[^)]*)\)", source)
    return re.findall(r"\$\w+", found["names"]) if found else None


# --- frames --------------------------------------------------------------------------------------


def location_of(element: Element) -> tuple[str | None, int | None]:
    """Return file and line of an element."""
    line = element.get("lineno")
    return local_path(element.get("filename")), int(line) if line else None


def local_path(uri: str | None) -> str | None:
    """Return the path of a file URI; None for anything else (`eval`)."""
    if uri is None or not uri.startswith("file://"):
        return None
    return unquote(uri.removeprefix("file://"))


def frame_of(element: Element) -> RawFrame:
    path, line = location_of(element)
    return RawFrame(0, pretty(element.get("where") or ""), path, line, library=is_library(path))


def pretty(function: str) -> str:
    """`Shop\\Cart->Shop\\{closure:/shop.php:3-5}` → `Shop\\Cart::{closure}`."""
    owner, arrow, name = function.replace("->", "::").rpartition("::")
    if "{closure" in function:
        owner, arrow, _ = (
            function.partition("->") if "->" in function else function.partition("::{")
        )
        owner = owner if arrow else ""
        return f"{owner}::{{closure}}" if owner else "{closure}"
    return f"{owner}{arrow}{name}"
