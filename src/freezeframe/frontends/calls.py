"""Structured requests of programs: what a line of JSON asks for, and for how long.

    {"command": "breakpoint_add", "args": {…}}     an operation by its name for programs
    {"line": "break app.py:3"}                     a command line, as `batch` takes it

Both take `session`, `cwd` and `env` (the caller's own), `text` (answer in words too), `budget`
(its size in tokens), `patience_s` (waits end by then, and the answer says `running`), `wait_s`
(how long a wait lasts that names no time), `frame` and `thread` (which to look at, once).
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import Any

from freezeframe.errors import UsageError
from freezeframe.ops import _schema
from freezeframe.ops._context import Caller, Context
from freezeframe.ops._registry import OPS

from .lines import split
from .parser import Globals, Parsed, parse


@dataclass(frozen=True, slots=True)
class Call:
    """A structured request, read."""

    parsed: Parsed
    caller: Caller
    #: the request in words, for those who look at the session
    typed: str
    #: answer in words, too
    text: bool
    #: the frame and the thread that it speaks of, where it is not the selected one
    frame: int | None = None
    thread: int | None = None


def read(request: dict[str, object]) -> Call:
    """Return what *request* asks for. Raises UsageError with the path of what is wrong."""
    session, cwd, env = request.get("session"), request.get("cwd"), request.get("env")
    budget, patience_s = request.get("budget"), _seconds(request, "patience_s")
    if session is not None and not isinstance(session, str):
        raise UsageError("`session` must be a name.", next="dbg sessions")
    if cwd is not None and not (isinstance(cwd, str) and os.path.isabs(cwd)):
        raise UsageError("`cwd` must be an absolute path.")
    if env is not None and not isinstance(env, dict):
        raise UsageError("`env` must be an object of strings.")
    if budget is not None and not (type(budget) is int and budget > 0):
        raise UsageError("`budget` must be a number of tokens.")
    frame, thread = _index(request, "frame"), _index(request, "thread")
    caller = Caller(
        cwd=cwd or os.path.expanduser("~"),
        env={str(k): str(v) for k, v in env.items()} if env is not None else dict(os.environ),
        until=None if patience_s is None else time.monotonic() + patience_s,
        wait_s=_seconds(request, "wait_s"),
    )
    parsed, typed = _read_line(request) if "line" in request else _read_command(request)
    own = parsed.globals
    parsed = replace(
        parsed,
        globals=replace(own, session=own.session or session, budget=own.budget or budget),
    )
    return Call(parsed, caller, typed, bool(request.get("text")), frame, thread)


def _seconds(request: dict[str, object], name: str) -> float | None:
    found = request.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise UsageError(f"`{name}` must be a number of seconds.")
    return found


def _index(request: dict[str, object], name: str) -> int | None:
    found = request.get(name)
    if isinstance(found, str) and found.lstrip("#").isdecimal():
        found = int(found.lstrip("#"))
    if found is not None and (isinstance(found, bool) or not isinstance(found, int)):
        raise UsageError(f"`{name}` must be a whole number.", next="dbg backtrace")
    return found


def _read_line(request: dict[str, object]) -> tuple[Parsed, str]:
    line = request["line"]
    if not isinstance(line, str):
        raise UsageError("`line` must be a command line.", next="dbg help")
    return parse(split(line)), line


def _read_command(request: dict[str, object]) -> tuple[Parsed, str]:
    command, arguments = request.get("command"), request.get("args") or {}
    if not isinstance(command, str):
        raise UsageError("`command` must be the name of an operation.", next="dbg help")
    if not isinstance(arguments, dict):
        raise UsageError("`args` must be an object.", next=f"dbg help {command}")
    spec = OPS.by_id(command)
    typed = " ".join([spec.name, *(f"{k}={v}" for k, v in arguments.items())])
    return Parsed(spec, _schema.from_jsonable(spec, arguments), Globals()), typed


def in_time(ctx: Context, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return *arguments* with waits that end before the caller's patience does.

    The settings of *ctx* are shortened alike, for waits that name no time of their own.
    """
    if ctx.caller.until is None:
        return arguments
    left_s = max(0.0, ctx.caller.until - time.monotonic())
    limits = ctx.config.timeouts
    wait_s = left_s if ctx.caller.wait_s is None else min(left_s, ctx.caller.wait_s)
    ctx.config = replace(
        ctx.config,
        timeouts=replace(
            limits, resume_s=min(limits.resume_s, wait_s), await_s=min(limits.await_s, wait_s)
        ),
    )
    given = arguments.get("timeout")
    return arguments if given is None else {**arguments, "timeout": min(given, left_s)}
