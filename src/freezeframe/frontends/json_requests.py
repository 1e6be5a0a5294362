"""Decode JSON requests: the operation, its arguments and its time limits.

    {"command": "breakpoint_add", "args": {…}}     an operation by its id; arguments may have other
                                                   names: `file` and `line` for `where`
    {"line": "break app.py:3"}                     a command line, as `batch` takes it

Both take `session`, `cwd` and `env` (of the caller), `text` (answer as text too), `budget` (its
size in tokens), `patience_s` (waits end by then, and the answer says `running`), `wait_s` (the
default time limit of a wait), `frame` and `thread` (selected for this request only), `owner` (a
person or editor: `{"id": …, "kind": "person", "name": …}`) and `notes` (false: the answer is read
by a program only, so that notes stay for the next one) and `peek` (true: an observer's; output and
stops stay new for the next caller).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from freezeframe.errors import UsageError
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.ops import _json_schema
from freezeframe.ops._context import Caller, Context
from freezeframe.ops._registry import OPS, OpSpec
from freezeframe.ops._suggestions import quoted
from freezeframe.render.formatting import clip
from freezeframe.session.control import OwnerKind, SessionOwner

from . import argument_aliases
from .parser import Globals, Parsed, parse
from .tokenizer import split

#: maximum length of an editor's name
_NAME_BYTES = 60


@dataclass(frozen=True, slots=True)
class Call:
    """A decoded JSON request."""

    parsed: Parsed
    caller: Caller
    #: the request as text, shown in the session's list
    typed: str
    #: answer as text, too
    text: bool
    #: frame and thread of the request, if not the selected ones
    frame: int | None = None
    thread: int | None = None


def read(request: dict[str, object]) -> Call:
    """Return the decoded request. Raises UsageError with the path of the error."""
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
        owner=_owner(request.get("owner")),
        cwd=cwd or os.path.expanduser("~"),
        env={str(k): str(v) for k, v in env.items()} if env is not None else dict(os.environ),
        until=None if patience_s is None else time.monotonic() + patience_s,
        wait_s=_seconds(request, "wait_s"),
        peeks=request.get("peek") is True,
    )
    parsed, typed = _read_line(request) if "line" in request else _read_command(request)
    own = parsed.globals
    parsed = replace(
        parsed,
        globals=replace(own, session=own.session or session, budget=own.budget or budget),
    )
    return Call(parsed, caller, typed, bool(request.get("text")), frame, thread)


def _owner(found: object) -> SessionOwner | None:
    if found is None:
        return None
    facts = found if isinstance(found, dict) else {}
    id, kind, name = facts.get("id"), facts.get("kind", "person"), facts.get("name", "")
    if not (isinstance(id, str) and id and kind in get_args(OwnerKind) and isinstance(name, str)):
        raise UsageError("`owner` must have an `id` and be a person or an editor.")
    return SessionOwner(id, kind, clip(name, _NAME_BYTES))


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
    known = {param.name for param in spec.params}
    arguments = argument_aliases.named(argument_aliases.snake(arguments), known)
    given = _json_schema.from_jsonable(spec, arguments)
    return Parsed(spec, given, Globals()), command_line(spec, given)


def command_line(spec: OpSpec, given: Mapping[str, Any]) -> str:
    """Return the command line that runs an operation with these arguments."""
    options: list[str] = []
    last: list[str] = []
    plain: list[str] = []
    rest: list[str] = []
    for param in spec.params:
        value = given.get(param.name, param.default)
        if value == param.default or value is None:
            continue
        texts = [str(getattr(each, "value", each)) for each in (value if param.many else (value,))]
        if param.positional or param.rest:
            (rest if param.rest else plain).extend(texts)
        elif param.is_flag:
            # After such a flag and the next word no word is an option of ours.
            (last if param.ends_options else options).append(param.long)
        else:
            options += [word for text in texts for word in (param.short or param.long, text)]
    args = [*options, *last, *plain, *(["--", *rest] if rest else [])]
    return f"{spec.name} {quoted(*args)}".rstrip()


def apply_deadline(ctx: Context, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return *arguments* with time limits that end before the caller's deadline.

    The default limits in *ctx* are shortened too.
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
