"""How conditions, hit counts and logpoints are written for the probe in the debuggee.

Everything is an expression in Python's own words: it is sent as the condition of a breakpoint or
evaluated without a frame. Pure; `main_probe.py` is the other end.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from freezeframe.backends.python import (
    ASSIGNING_PROBE,
    EXCEPTIONS_PROBE,
    LOADED_PROBE,
    NAMES_PROBE,
    OBJECTS_PROBE,
    SHAPES_PROBE,
    STACKS_PROBE,
    TASKS_PROBE,
    TEXT_PROBE,
)

_PROBE = "__import__('sys').modules['_freezeframe']"
_CURES = "__import__('sys').modules['_freezeframe_cures']"
_VALUES = "__import__('sys').modules['_freezeframe_values']"
#: module → file, in the order in which they need one another: what every process gets, and what
#: is compiled in one that stops
_AT_ONCE = (
    ("_freezeframe_cures", "cures_probe.py"),
    ("_freezeframe_names", str(NAMES_PROBE)),
    ("_freezeframe_functions", "functions_probe.py"),
    ("_freezeframe_loaded", str(LOADED_PROBE)),
    ("_freezeframe_failures", "failures_probe.py"),
    ("_freezeframe_recursion", "recursion_probe.py"),
    ("_freezeframe_blocked", "blocked_probe.py"),
    ("_freezeframe_threads", "threads_probe.py"),
    ("_freezeframe", "main_probe.py"),
)
_LATER = (
    ("_freezeframe_objects", str(OBJECTS_PROBE)),
    ("_freezeframe_shapes", str(SHAPES_PROBE)),
    ("_freezeframe_text", str(TEXT_PROBE)),
    ("_freezeframe_assigning", str(ASSIGNING_PROBE)),
    ("_freezeframe_hooks", "hooks_probe.py"),
    ("_freezeframe_changes", "changes_probe.py"),
    ("_freezeframe_values", "values_probe.py"),
    ("_freezeframe_tasks", str(TASKS_PROBE)),
    ("_freezeframe_stacks", str(STACKS_PROBE)),
    ("_freezeframe_async", "async_probe.py"),
    ("_freezeframe_exceptions", str(EXCEPTIONS_PROBE)),
    ("_freezeframe_raised", "raised_probe.py"),
    ("_freezeframe_templates", "templates_probe.py"),
    ("_freezeframe_sources", "sources_probe.py"),
)
_UNTRACED = (
    ("_freezeframe_instrument", "instrument_probe.py"),
    ("_freezeframe_line_hooks", "line_hooks_probe.py"),
    ("_freezeframe_tracing", "tracing_probe.py"),
    ("_freezeframe_monitoring", "monitoring_probe.py"),
)
#: code of files with such a name is neither traced nor shown by pydevd
_PROBE_FILE = "<frozen freezeframe>"
_HITS = re.compile(r"\s*(==|=|!=|>=|<=|>|<|%)?\s*(\d+)\s*")


@dataclass(frozen=True, slots=True)
class Point:
    """One breakpoint or logpoint; *key* names its count and its failures in the process."""

    key: str
    when: str | None = None
    #: `3`, `>= 3`, `% 3` …: passes on which it acts, of those where *when* holds
    hits: str | None = None
    #: what to write instead of stopping, with `{expressions}`
    log: str | None = None
    #: the qualified name of the one function that is meant: `Account.add`, `json.loads`
    only: str | None = None

    @property
    def plain(self) -> bool:
        """It stops at every pass, so it needs no condition."""
        return not (self.when or self.hits or self.log or self.only)


def condition(points: Sequence[Point], fifo: str | None, *, stop_on_error: bool = True) -> str:
    """Return the condition of a line that *points* share.

    pydevd keeps one breakpoint a line, so all that stand on a line go into one condition. Log
    lines are written to *fifo*, which somebody must be reading. A condition that raises stops the
    program when *stop_on_error*. Raises ValueError, in a sentence, for hits or a message that
    cannot be read.
    """
    if all(point.plain for point in points):
        return "True"
    spec = json.dumps([_spec(point, fifo, stop_on_error) for point in points])
    return f"{_PROBE}.at({spec!r}, globals(), locals())"


def _spec(point: Point, fifo: str | None, stop_on_error: bool) -> dict[str, Any]:
    spec: dict[str, Any] = {"key": point.key}
    if point.only:
        spec["only"] = point.only
    if point.when:
        spec["when"] = point.when
        if stop_on_error:
            spec["on_error"] = "stop"
    if point.hits:
        spec["op"], spec["n"] = read_hits(point.hits)
    if point.log is not None:
        spec["log"] = read_log(point.log)
        spec["to"] = fifo
    return spec


def read_hits(text: str) -> tuple[str, int]:
    """Return comparison and number of a hit count. Raises ValueError in a sentence."""
    match = _HITS.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is no hit count; write 3, >= 3, > 3, < 3 or % 3")
    op, n = match[1] or "==", int(match[2])
    if op == "%" and n == 0:
        raise ValueError("`% 0` is never a hit")
    return "==" if op == "=" else op, n


def read_log(message: str) -> list[str | dict[str, str]]:
    """Return a log message as text and fields, read as an f-string reads it: `{x!r:>10}`, `{{`.

    A field is `value`, `convert`, `format`; `{x=}` shows its own text. Raises ValueError in a
    sentence.
    """
    parts: list[str | dict[str, str]] = []
    text = ""
    position = 0
    while position < len(message):
        character = message[position]
        if message[position : position + 2] in ("{{", "}}"):
            text += character
            position += 2
        elif character == "{":
            field, position = _read_field(message, position + 1)
            shown = field.pop("shown", "")
            if text + shown:
                parts.append(text + shown)
            parts.append(field)
            text = ""
        else:
            # A lone `}` means itself: a message is prose, not a program.
            text += character
            position += 1
    if text:
        parts.append(text)
    return parts


def _read_field(message: str, start: int) -> tuple[dict[str, str], int]:
    """Read the field that begins after a brace; the first end that Python can parse is it."""
    broken = ""
    for end in range(start, len(message)):
        if message[end] not in "}!:=":
            continue
        value = message[start:end]
        if not value.strip() or message[end : end + 2] in ("!=", "==", ":="):
            continue
        if message[end] == "=" and (
            message[end - 1] in "<>!=:" or message[end + 1 : end + 2] not in tuple("}!:")
        ):
            continue
        try:
            ast.parse(f"({value}\n)", mode="eval")
        except SyntaxError as error:
            broken = error.msg
            continue
        field = {"value": value}
        rest = end
        if message[rest] == "=":
            field["shown"] = value + "="
            rest += 1
        if match := re.match(r"!([rsa])(?=[:}])", message[rest:]):
            field["convert"] = match[1]
            rest += 2
        if message[rest : rest + 1] == ":":
            close = message.find("}", rest)
            if close < 0:
                break
            field["format"] = message[rest + 1 : close]
            rest = close
        if message[rest : rest + 1] == "}":
            if "shown" in field and not field.keys() & {"convert", "format"}:
                field["convert"] = "r"
            return field, rest + 1
    shown = message[start - 1 :]
    raise ValueError(f"`{shown}` is no expression in braces" + (f": {broken}" if broken else ""))


# --- evaluated without a frame ------------------------------------------------------------------


def install(session: str) -> str:
    """Return the expression that brings the probe into a process; it yields facts, as JSON.

    Send it in context `watch`: in `repl` pydevd puts its own streams in place of the program's.
    """
    return (
        "(lambda m: ([exec(compile(text, "
        f"{_PROBE_FILE!r}, 'exec'), m.setdefault(name, type(m['sys'])(name)).__dict__)"
        f" for name, text in {_texts(_AT_ONCE)!r} if name not in m],"
        f" m['_freezeframe_cures'].later({_texts(_LATER)!r}, {_texts(_UNTRACED)!r}),"
        f" m['_freezeframe'].install({session!r}))[-1])(__import__('sys').modules)"
    )


def unstick() -> str:
    """Return the expression that interrupts threads which hang while they show a value."""
    return f"{_PROBE}.unstick()"


def blocked() -> str:
    """Return the expression that tells which thread is stuck in a request; '' when none is."""
    return f"{_PROBE}.blocked()"


def beside(frame: int, expression: str) -> str:
    """Return the expression that evaluates another in a frame of a thread that is stuck."""
    return f"{_PROBE}.beside({frame}, {expression!r})"


def leave() -> str:
    """Return the expression that gives the program back what was changed about it."""
    return f"{_PROBE}.leave()"


def narrow(types: Mapping[str, Sequence[str]]) -> str:
    """Return the expression that narrows filters of exceptions to types, by their names."""
    names = {filter: list(wanted) for filter, wanted in types.items()}
    return f"__import__('sys').modules['_freezeframe_cures'].narrow({names!r})"


def passed() -> str:
    """Return the expression that tells which points made each thread stop, as JSON."""
    return f"{_PROBE}.passed()"


def failure(key: str) -> str:
    """Return the expression that tells why the condition of *key* raised, if it did."""
    return f"{_PROBE}.failure({key!r})"


def snapshot(stacks: bool) -> str:
    """Return the expression that tells the living tasks, with the stacks of threads, as JSON."""
    return f"{_CURES}.snapshot({stacks})"


def is_edited(path: str) -> str:
    """Return the expression that tells whether a file was edited after it was loaded."""
    return f"__import__('sys').modules['_freezeframe_loaded'].is_edited({path!r})"


def page(expression: str, start: int, end: int) -> str:
    """Return the expression that yields some children of *expression*'s value."""
    return f"{_VALUES}.page({expression!r}, ({expression}), {start}, {end})"


@cache
def _texts(files: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    here = Path(__file__).parent
    return tuple((module, (here / file).read_text("utf-8")) for module, file in files)
