"""Encode conditions, hit counts and logpoints for the agent in the debuggee.

Everything is a Python expression: sent as the condition of a breakpoint, or evaluated without a
frame. Pure; `agent.py` is the other end.
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

from freezeframe.backends.breakpoint_hits import HitCondition, split_log
from freezeframe.backends.python import (
    ASSIGNING_AGENT,
    BYTECODE_AGENT,
    EXCEPTIONS_AGENT,
    FAILURES_AGENT,
    LOADED_AGENT,
    LOADING_AGENT,
    LOCKS_AGENT,
    NAMES_AGENT,
    NATIVE_AGENT,
    OBJECTS_AGENT,
    PAGES_AGENT,
    SHAPES_AGENT,
    SIGNALS_AGENT,
    STACKS_AGENT,
    TASKS_AGENT,
    TEXT_AGENT,
    TRACE_SHARING_AGENT,
    WAITS_AGENT,
    WATCH_AGENT,
)

_AGENT = "__import__('sys').modules['_freezeframe']"
_PATCHES = "__import__('sys').modules['_freezeframe_patches']"
#: module → file, in the order of their dependencies: those that every process gets, and those that
#: are compiled once a process stops
_AT_ONCE = (
    ("_freezeframe_patches", "pydevd_patches_agent.py"),
    ("_freezeframe_names", str(NAMES_AGENT)),
    ("_freezeframe_functions", "functions_agent.py"),
    ("_freezeframe_loaded", str(LOADED_AGENT)),
    ("_freezeframe_failures", str(FAILURES_AGENT)),
    ("_freezeframe_recursion", "recursion_agent.py"),
    ("_freezeframe_exit", "exit_agent.py"),
    ("_freezeframe_blocked", "blocked_agent.py"),
    ("_freezeframe_signals", str(SIGNALS_AGENT)),
    ("_freezeframe_threads", "threads_agent.py"),
    ("_freezeframe", "agent.py"),
)
_LATER = (
    ("_freezeframe_objects", str(OBJECTS_AGENT)),
    ("_freezeframe_native", str(NATIVE_AGENT)),
    ("_freezeframe_shapes", str(SHAPES_AGENT)),
    ("_freezeframe_text", str(TEXT_AGENT)),
    ("_freezeframe_pages", str(PAGES_AGENT)),
    ("_freezeframe_assigning", str(ASSIGNING_AGENT)),
    ("_freezeframe_hooks", "user_hooks_agent.py"),
    ("_freezeframe_trees", "value_trees_agent.py"),
    ("_freezeframe_changes", "value_changes_agent.py"),
    ("_freezeframe_values", "values_agent.py"),
    ("_freezeframe_tasks", str(TASKS_AGENT)),
    ("_freezeframe_stacks", str(STACKS_AGENT)),
    ("_freezeframe_locks", str(LOCKS_AGENT)),
    ("_freezeframe_waits", str(WAITS_AGENT)),
    ("_freezeframe_async", "async_agent.py"),
    ("_freezeframe_exceptions", str(EXCEPTIONS_AGENT)),
    ("_freezeframe_raised", "exception_info_agent.py"),
    ("_freezeframe_templates", "templates_agent.py"),
    ("_freezeframe_sources", "sources_agent.py"),
)
_SHARING = (
    ("_freezeframe_trace_sharing", str(TRACE_SHARING_AGENT)),
    ("_freezeframe_shared_tracing", "shared_tracing_agent.py"),
)
_UNTRACED = (
    ("_freezeframe_instrument", str(BYTECODE_AGENT)),
    ("_freezeframe_loading", str(LOADING_AGENT)),
    ("_freezeframe_line_hooks", "line_hooks_agent.py"),
    ("_freezeframe_tracing", "tracing_agent.py"),
)
_MONITORED = (("_freezeframe_monitoring", "monitoring_agent.py"),)
_WATCHING = (
    ("_freezeframe_watch", str(WATCH_AGENT)),
    ("_freezeframe_watching", "watching_agent.py"),
)
#: pydevd neither traces nor shows code of files with such a name
_AGENT_FILE = "<frozen freezeframe>"


@dataclass(frozen=True, slots=True)
class Point:
    """One breakpoint or logpoint; *key* names its count and its failures in the process."""

    key: str
    when: str | None = None
    #: `3`, `>= 3`, `% 3` …: the hits on which it acts, of those where *when* holds
    hits: str | None = None
    #: the message to write instead of stopping, with `{expressions}`
    log: str | None = None
    #: the qualified name of the one function that matches: `Account.add`, `json.loads`
    only: str | None = None

    @property
    def plain(self) -> bool:
        """Return whether it stops at every hit, so that it needs no condition."""
        return not (self.when or self.hits or self.log or self.only)


def condition(points: Sequence[Point], fifo: str | None, *, stop_on_error: bool = True) -> str:
    """Return the condition of a line that *points* share.

    pydevd keeps one breakpoint per line, so all of a line go into one condition. Log lines are
    written to *fifo*, which must have a reader. A condition that raises stops the program when
    *stop_on_error*. Raises ValueError, in a sentence, for an invalid hit count or message.
    """
    if all(point.plain for point in points):
        return "True"
    spec = json.dumps([_spec(point, fifo, stop_on_error) for point in points])
    return f"{_AGENT}.at({spec!r}, globals(), locals())"


def _spec(point: Point, fifo: str | None, stop_on_error: bool) -> dict[str, Any]:
    spec: dict[str, Any] = {"key": point.key}
    if point.only:
        spec["only"] = point.only
    if point.when:
        spec["when"] = point.when
        if stop_on_error:
            spec["on_error"] = "stop"
    if point.hits:
        spec["hits"] = HitCondition.parse(point.hits).expression("count")
    if point.log is not None:
        spec["log"] = read_log(point.log)
        spec["to"] = fifo
    return spec


def read_log(message: str) -> list[str | dict[str, str]]:
    """Return a log message as text and fields, read as an f-string reads it: `{x!r:>10}`, `{{`.

    A field is `value`, `convert`, `format`; `{x=}` shows its source text too. Raises ValueError in
    a sentence.
    """
    parts: list[str | dict[str, str]] = []
    for part in split_log(message, _read_field):
        shown = part if isinstance(part, str) else part.pop("shown", "")
        if shown and parts and isinstance(parts[-1], str):
            parts[-1] += shown
        elif shown:
            parts.append(shown)
        if not isinstance(part, str):
            parts.append(part)
    return parts


def _read_field(message: str, start: int) -> tuple[dict[str, str], int]:
    """Read the field that begins after a brace; it ends at the first brace where Python can parse
    it."""
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
    raise ValueError(
        f"`{shown}` is not an expression in braces" + (f": {broken}" if broken else "")
    )


# --- evaluated without a frame ------------------------------------------------------------------


def install(session: str) -> str:
    """Return the expression that loads the agent into a process; it yields facts, as JSON.

    Send it in context `watch`: in `repl` pydevd replaces the program's streams.
    """
    untraced = tuple(map(_texts, (_SHARING, _UNTRACED, _MONITORED)))
    return (
        "(lambda m: ([exec(compile(text, "
        f"{_AGENT_FILE!r}, 'exec'), m.setdefault(name, type(m['sys'])(name)).__dict__)"
        f" for name, text in {_texts(_AT_ONCE)!r} if name not in m],"
        f" m['_freezeframe_patches'].later({_texts(_LATER)!r}, {untraced!r}),"
        f" m['_freezeframe'].install({session!r}))[-1])(__import__('sys').modules)"
    )


def watch(id: int, expression: str, condition: str | None, frame: int) -> str:
    """Return the expression that watches another one in a frame; it loads what that needs."""
    return (
        f"(lambda m: ({_PATCHES}._compile(dict({_texts(_WATCHING)!r})),"
        f" m['_freezeframe_watching'].add({id}, {expression!r}, {condition!r}, {frame}))[-1])"
        "(__import__('sys').modules)"
    )


def unwatch(id: int) -> str:
    """Return the expression that removes a watchpoint."""
    return f"__import__('sys').modules['_freezeframe_watching'].remove({id})"


def watch_hits() -> str:
    """Return the expression for the watchpoints that were hit at this stop, as JSON."""
    return "__import__('sys').modules['_freezeframe_watching'].hits()"


def unstick() -> str:
    """Return the expression that interrupts threads which hang while they show a value."""
    return f"{_AGENT}.unstick()"


def blocked() -> str:
    """Return the expression for which thread is stuck in a request; '' if none is."""
    return f"{_AGENT}.blocked()"


def beside(frame: int, expression: str) -> str:
    """Return the expression that evaluates another in a frame of a stuck thread."""
    return f"{_AGENT}.beside({frame}, {expression!r})"


def leave() -> str:
    """Return the expression that undoes every change to the program."""
    return f"{_AGENT}.leave()"


def narrow(types: Mapping[str, Sequence[str]]) -> str:
    """Return the expression that narrows exception filters to types, by name."""
    names = {filter: list(kinds) for filter, kinds in types.items()}
    return f"__import__('sys').modules['_freezeframe_patches'].narrow({names!r})"


def passed() -> str:
    """Return the expression for the breakpoints that made each thread stop, as JSON."""
    return f"{_AGENT}.passed()"


def failure(key: str) -> str:
    """Return the expression for why the condition of *key* raised, if it did."""
    return f"{_AGENT}.failure({key!r})"


def snapshot(stacks: bool, waits: bool) -> str:
    """Return the expression for the live tasks, with the stacks of threads, and what threads and
    tasks wait for, as JSON."""
    return f"{_PATCHES}.snapshot({stacks}, {waits})"


def is_edited(path: str) -> str:
    """Return the expression for whether a file was edited after it was loaded."""
    return f"__import__('sys').modules['_freezeframe_loaded'].is_edited({path!r})"


@cache
def _texts(files: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    here = Path(__file__).parent
    return tuple((module, (here / file).read_text("utf-8")) for module, file in files)
