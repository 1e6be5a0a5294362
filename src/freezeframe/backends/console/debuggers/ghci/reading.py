"""What GHCi says, read: places, ends, exceptions, values and complaints. Pure, but for sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TypeVar

from freezeframe import files
from freezeframe.backends.backend import RawValue
from freezeframe.backends.console.prompt.spelling import Ask
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
COMPLAINT = re.compile(
    r"^\S+:\d+:\d+: error:(.*?)(?=\n\s*•[^•]*?(?:In |Where|Perhaps|Relevant)|\n\n|\nffvalue |\Z)",
    re.S | re.M,
)
LYING = re.compile(rf"^\[(?P<number>\d+)\] \S+ {SPAN}(?: enabled)?$", re.MULTILINE)
MODULE = re.compile(r"^\s*module\s+([\w.]+)", re.MULTILINE)
UNKNOWN = "<exception thrown>"
NOWHERE = "it does not say where; `dbg catch traced` and `dbg restart` show the last place before"


def seen(command: str, read: Callable[[str], T]) -> Ask[T]:
    """Ask something about where the program stands; of an exception, about where it was last."""

    def look(text: str) -> Ask[T]:
        return Ask(f":ffback {command}" if UNKNOWN in text else command, read)

    return Ask(":show context", read, then=look)


def last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(reversed(list(pattern.finditer(text)))), None)


def place(text: str) -> tuple[str, int, str] | None:
    """Return path, line and function where the program stands; of an exception, as far as known.

    That is where the exception says that it was made, or else where the program was last.
    """
    told = last(STOPPED, text)
    if told is not None and told["function"] == UNKNOWN:
        thrown = THROWN.search(text)
        called = CALLED.search(unquoted(thrown[2])) if thrown else None
        if called is not None:
            path, line = at(called)
            return path, line, function_at(path, line)
        told = LAST.search(text)
    return None if told is None else (told["path"], line_of(told), split(told["function"])[1])


def at(found: re.Match[str]) -> tuple[str, int]:
    return found["path"], int(found["line"])


def function_at(path: str, line: int) -> str:
    """Return the function whose text a line is in."""
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
    """Return the names in the head of the equation that a place lies in, by its text."""
    name = re.split(r"[.:]", function)[-1]
    head = re.compile(rf"\s*{re.escape(name)}\s(.*?)(?<![=<>/])(?:=(?!=)|\|)")
    for text in reversed(lines_of(path)[:line]):
        if (found := head.match(text)) and "::" not in found[1]:
            return re.findall(r"(?<![\w'.])[a-z_][\w']*", found[1])
    return []


def same(one: re.Match[str], other: re.Match[str]) -> bool:
    return (one["path"], one["span"]) == (other["path"], other["span"])


def line_of(found: re.Match[str]) -> int:
    return int(found["line"] or found["from"])


def split(name: str) -> tuple[str | None, str]:
    """Return module and function: `Shop.Cart.total.go` is `total.go` in `Shop.Cart`."""
    found = re.fullmatch(r"((?:[A-Z]\w*\.)+)(.+)", name)
    return (found[1].rstrip("."), found[2]) if found else (None, name)


def end_of(text: str) -> Exit:
    died = DIED.search(text)
    if died is None:
        return Exit(code=0)
    wanted = EXIT.match(died[1].splitlines()[0].strip())
    return Exit(code=1 if wanted is None else int(wanted[1] or 0))


def bindings(text: str) -> list[RawValue]:
    return [
        RawValue(found["name"], found["value"].strip(), found["type"])
        for found in BINDING.finditer(text)
        if not re.fullmatch(r"ff(?:told|thrown|value|pid)|it|_exception|_t\d+", found["name"])
    ]


def evaluated(expression: str, text: str) -> RawValue:
    check(text)
    value = VALUE.search(text)
    if value is None:
        raise DebuggerError(f"ghci answered {text.strip()[:200]!r}.", next="dbg logs")
    return RawValue(expression, value[1], value[2])


def check(text: str) -> None:
    """Raise EvaluationFailed with GHC's own complaint, where there is one."""
    wrong = COMPLAINT.search(text)
    if wrong is not None:
        words = re.sub(r"\s+", " ", wrong[1].replace("•", " ")).strip()
        raise EvaluationFailed(words.rstrip("."))
    died = DIED.search(text)
    if died is not None:
        raise EvaluationFailed(died[1].strip().splitlines()[0])


def one_line(text: str) -> str:
    return " ".join(text.split("\n"))


def unquoted(literal: str) -> str:
    """Return a string as GHC writes it: raw, but for its quotes and what is escaped."""
    try:
        return str(ast.literal_eval(literal.replace("\n", "\\n")))
    except (ValueError, SyntaxError):
        return literal[1:-1]


def module_of(path: str) -> str:
    found = MODULE.search("\n".join(lines_of(path)))
    return found[1] if found else "Main"
