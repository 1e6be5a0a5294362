"""Parse GHCi's output: locations, exits, exceptions, values, errors. Reads source files only."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TypeVar

from freezeframe import files
from freezeframe.backends.backend import RawValue
from freezeframe.backends.console.prompt.command_set import ConsoleQuery
from freezeframe.errors import DebuggerError, EvaluationFailed
from freezeframe.model.stops import Exit

T = TypeVar("T")

#: `File.hs:20:10-33`, `File.hs:20:10`, `File.hs:(22,8)-(30,55)`
SPAN = (
    r"(?P<path>[^\n]+?):"
    r"(?P<span>\((?P<from>\d+),\d+\)-\(\d+,\d+\)|(?P<line>\d+):[\d-]+)"
)
STOPPED = re.compile(rf"^ *Stopped in (?P<function>[^\n]+?), (?:{SPAN}|<unknown>)$", re.MULTILINE)
LAST = re.compile(rf"^-1 +: (?P<function>[^\n]+?) \({SPAN}\)$", re.MULTILINE)
CALLED = re.compile(r"^ +\S+, called at (?P<path>[^\n]+?):(?P<line>\d+):\d+ in ", re.MULTILINE)
THROWN = re.compile(r"^ffthrown = \((\".*?(?<!\\)\"),(\".*(?<!\\)\"),(-?\d+)\)$", re.M | re.S)
DIED = re.compile(r"^\*\*\* Exception: (.*)", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"Exit(?:Failure (\d+)|Success)\Z")
BINDING = re.compile(
    r"^(?P<name>[\w']+) :: (?P<type>[^\n]*?) = (?P<value>.*?)(?=^[\w']+ :: |^Stopped at |\Z)",
    re.MULTILINE | re.DOTALL,
)
VALUE = re.compile(r"^ffvalue = (.*?)\n?^ffvalue :: (.*)$", re.MULTILINE | re.DOTALL)
SET = re.compile(rf"Breakpoint (?P<number>\d+) (?:activated|was already set) at {SPAN}$", re.M)
ERROR = re.compile(
    r"^\S+:\d+:\d+: error:(.*?)(?=\n\s*•[^•]*?(?:In |Where|Perhaps|Relevant)|\n\n|\nffvalue |\Z)",
    re.S | re.M,
)
BREAKPOINT = re.compile(rf"^\[(?P<number>\d+)\] \S+ {SPAN}(?: enabled)?$", re.MULTILINE)
MODULE = re.compile(r"^\s*module\s+([\w.]+)", re.MULTILINE)
UNKNOWN = "<exception thrown>"
NOWHERE = "it does not say where; `dbg catch traced` and `dbg restart` show the last place before"


def query_at_stop(command: str, read: Callable[[str], T]) -> ConsoleQuery[T]:
    """Return a query about the current location; at an exception, about the last one before."""

    def query(text: str) -> ConsoleQuery[T]:
        return ConsoleQuery(f":ffback {command}" if UNKNOWN in text else command, read)

    return ConsoleQuery(":show context", read, then=query)


def last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(reversed(list(pattern.finditer(text)))), None)


def location_of_stop(text: str) -> tuple[str, int, str] | None:
    """Return path, line and function of the stop; of an exception, as far as known.

    That is where the exception's call stack begins, or else the last location in the history.
    """
    stop = last(STOPPED, text)
    if stop is not None and stop["function"] == UNKNOWN:
        thrown = THROWN.search(text)
        called = CALLED.search(unquoted(thrown[2])) if thrown else None
        if called is not None:
            path, line = at(called)
            return path, line, function_at(path, line)
        stop = LAST.search(text)
    return None if stop is None else (stop["path"], line_of(stop), split(stop["function"])[1])


def at(found: re.Match[str]) -> tuple[str, int]:
    return found["path"], int(found["line"])


def function_at(path: str, line: int) -> str:
    """Return the function around a line, by its source."""
    for text in reversed(lines_of(path)[:line]):
        if found := re.match(r"([a-z_][\w']*)(?!.*::)", text):
            return found[1]
    return "<unknown>"


def lines_of(path: str) -> list[str]:
    try:
        return files.read_text(path).splitlines()
    except OSError:
        return []


def parameters(path: str, line: int, function: str) -> list[str]:
    """Return the parameter names of the equation around a line, by its source."""
    name = re.split(r"[.:]", function)[-1]
    head = re.compile(rf"\s*{re.escape(name)}\s(.*?)(?<![=<>/])(?:=(?!=)|\|)")
    for text in reversed(lines_of(path)[:line]):
        if (found := head.match(text)) and "::" not in found[1]:
            return re.findall(r"(?<![\w'.])[a-z_][\w']*", found[1])
    return []


def same_span(one: re.Match[str], other: re.Match[str]) -> bool:
    return (one["path"], one["span"]) == (other["path"], other["span"])


def line_of(found: re.Match[str]) -> int:
    return int(found["line"] or found["from"])


def split(name: str) -> tuple[str | None, str]:
    """Return module and function: `Shop.Cart.total.go` is `total.go` in `Shop.Cart`."""
    found = re.fullmatch(r"((?:[A-Z]\w*\.)+)(.+)", name)
    return (found[1].rstrip("."), found[2]) if found else (None, name)


def end_of(text: str) -> Exit:
    failure = DIED.search(text)
    if failure is None:
        return Exit(code=0)
    exit_call = EXIT.match(failure[1].splitlines()[0].strip())
    return Exit(code=1 if exit_call is None else int(exit_call[1] or 0))


def bindings(text: str) -> list[RawValue]:
    return [
        RawValue(found["name"], found["value"].strip(), found["type"])
        for found in BINDING.finditer(text)
        if not re.fullmatch(r"ff(?:report|thrown|value|pid)|it|_exception|_t\d+", found["name"])
    ]


def evaluated(expression: str, text: str) -> RawValue:
    check(text)
    value = VALUE.search(text)
    if value is None:
        raise DebuggerError(f"ghci answered {text.strip()[:200]!r}.", next="dbg logs")
    return RawValue(expression, value[1], value[2])


def check(text: str) -> None:
    """Raise EvaluationFailed with GHC's error message, if there is one."""
    error = ERROR.search(text)
    if error is not None:
        message = re.sub(r"\s+", " ", error[1].replace("•", " ")).strip()
        raise EvaluationFailed(message.rstrip("."))
    failure = DIED.search(text)
    if failure is not None:
        raise EvaluationFailed(failure[1].strip().splitlines()[0])


def one_line(text: str) -> str:
    return " ".join(text.split("\n"))


def unquoted(literal: str) -> str:
    """Return the value of a string literal of GHC."""
    try:
        return str(ast.literal_eval(literal.replace("\n", "\\n")))
    except (ValueError, SyntaxError):
        return literal[1:-1]


def module_of(path: str) -> str:
    found = MODULE.search("\n".join(lines_of(path)))
    return found[1] if found else "Main"
