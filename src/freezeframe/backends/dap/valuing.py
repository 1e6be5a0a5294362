"""Requests for values: they may run the program's own code, which may never end."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.errors import DebuggerError, DebuggerTimeout, EvaluationFailed

from .messages import Refused
from .wire import Wire

log = logging.getLogger(__name__)

#: variables that are asked for at once, at most
_MOST = 1000
#: named members that are asked for without pages: not every adapter has pages of those
_FEW = 200
#: how deep structures without a name lie within each other
_NESTED = 16


async def ask_value(
    wire: Wire, command: str, arguments: dict[str, Any], *, slow: bool = False
) -> dict[str, Any]:
    """Return the answer to a request that may run the program's code.

    Past its time the adapter's way to interrupt it is tried once; *slow* requests, which the
    user asked for as such, get the time of any request.
    """
    timeouts = wire.config.timeouts
    limit_s = timeouts.request_s if slow else timeouts.value_s
    expressions = wire.adapter.expressions
    unstick = expressions.unstick
    if unstick is None:
        return await wire.request(command, arguments, timeout_s=timeouts.request_s)
    if wire.blocked and await _blocked_at(wire):
        arguments = _beside(wire, command, arguments)
    waiting = wire.send(command, arguments)
    done, _ = await asyncio.wait({waiting}, timeout=limit_s)
    if not done:
        log.info("%s takes longer than %g s; interrupting it", command, limit_s)
        try:
            await wire.request(
                "evaluate",
                {"expression": unstick(), "context": expressions.statement_context},
                timeout_s=limit_s,
            )
        except DebuggerTimeout:
            pass
        done, _ = await asyncio.wait({waiting}, timeout=limit_s)
    if not done:
        waiting.cancel()
        at = await _blocked_at(wire)
        wire.blocked = bool(at)
        raise DebuggerTimeout(
            f"showing it took longer than {limit_s:g} s and could not be interrupted"
            + (f": {at} is blocked in C. Other expressions can still be printed." if at else "."),
            next="dbg print EXPR" if at else "dbg stop",
        )
    body = waiting.result()
    wire.sizes.note(body)
    return body


async def _blocked_at(wire: Wire) -> str:
    """Return which thread is stuck where; empty where none is, or nothing tells."""
    ask = wire.adapter.expressions.ask_blocked
    if ask is None:
        return ""
    asked = {"expression": ask(), "context": wire.adapter.expressions.context}
    try:
        body = await wire.request("evaluate", asked, timeout_s=wire.config.timeouts.value_s)
    except DebuggerError:
        return ""
    return str(body.get("result") or "").strip("'")


def _beside(wire: Wire, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a request for a value in a frame of a stuck thread that another one answers."""
    beside, frame = wire.adapter.expressions.beside, arguments.get("frameId")
    context = wire.adapter.expressions.context
    if command != "evaluate" or beside is None or frame is None:
        return arguments
    if arguments.get("context") != context:
        raise DebuggerTimeout(
            "a thread is blocked while it shows a value, so that no statement can be run there.",
            next="dbg print EXPR",
        )
    return {"expression": beside(int(frame), str(arguments["expression"])), "context": context}


async def check_failure(wire: Wire, body: Mapping[str, Any]) -> None:
    """Raise EvaluationFailed for an answer that holds what called code failed with."""
    failure, reference = wire.adapter.expressions.failure, body.get("variablesReference")
    if failure is None or not reference:
        return
    parts = await wire.request("variables", {"variablesReference": reference})
    for each in parts.get("variables") or ():
        if each.get("name") == failure:
            words = f"it failed: {each.get('value')}"
            raise EvaluationFailed(wire.adapter.expressions.brief_error(words))


async def set_member(wire: Wire, target: str, value: str, frame: int | None) -> None:
    """Assign to a variable of a frame, or to a member of what an expression yields.

    Raises EvaluationFailed in the adapter's words.
    """
    owner, name = split_member(target)
    where: dict[str, Any] = {} if frame is None else {"frameId": frame}
    try:
        if owner is None:
            scopes = (await wire.request("scopes", where)).get("scopes") if where else ()
            owners = [int(scope["variablesReference"]) for scope in scopes or ()]
        else:
            asked = {"expression": owner, "context": wire.adapter.expressions.context, **where}
            found = await ask_value(wire, "evaluate", asked)
            owners = [int(found.get("variablesReference") or 0)]
        for ref in filter(None, owners):
            if await _has_member(wire, ref, name):
                arguments = {"variablesReference": ref, "name": name, "value": value}
                await wire.request("setVariable", arguments)
                return
    except Refused as error:
        raise EvaluationFailed(wire.adapter.expressions.brief_error(error.message)) from None
    raise EvaluationFailed(f"there is no variable {target} to assign to.")


def split_member(expression: str) -> tuple[str | None, str]:
    """Return what a member belongs to and its name: `a.b[0]` is `[0]` of `a.b`."""
    expression = expression.strip()
    match = re.fullmatch(r"(.+?)(?:(\[[^\[\]]*\])|\.(\w+))", expression, re.DOTALL)
    if match is None:
        return None, expression
    return match[1], match[2] or match[3]


async def part(
    wire: Wire, ref: int, start: int, count: int | None, **options: Any
) -> Sequence[Mapping[str, Any]]:
    """Return some of the variables behind a reference; *options* go into the requests.

    Never more than `_MOST` are asked for where the adapter tells how many there are: a container
    of a million elements, or one that is not constructed yet, costs minutes as a whole. Elements
    come before named members.
    """
    named, indexed = wire.sizes.get(ref)
    if not indexed and not named and wire.adapter.values.pages_unsized:
        asked = {"variablesReference": ref, "start": start, "count": min(count or _MOST, _MOST)}
        body = await ask_value(wire, "variables", {**asked, **options})
        shown = await _shown(wire, body.get("variables") or (), **options)
        return shown[:count]
    if not indexed and named <= _FEW and not (wire.adapter.values.pages and start and count):
        shown = await members(wire, ref, **options)
        return shown[start : None if count is None else start + count]
    count = min(count or _MOST, _MOST)
    found: list[Mapping[str, Any]] = []
    if start < indexed or not named:
        found += await _page(wire, ref, "indexed", start, count, indexed, options)
    if named and len(found) < count:
        begin, more = max(0, start - indexed), count - len(found)
        # Few are asked for as a whole: those that are hidden do not count.
        whole = named <= _FEW
        shown = await _page(
            wire, ref, "named", 0 if whole else begin, named if whole else more, named, options
        )
        shown = await _shown(wire, shown, **options)
        found += shown[begin : begin + more] if whole else shown
    return found


async def _page(
    wire: Wire, ref: int, kind: str, start: int, count: int, total: int, options: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Return the variables of a kind from *start* on, at most *count*."""
    # gdb 16 answers a page that reaches beyond the last element with an error.
    count = min(count, max(1, total - start)) if total else count
    asked = {
        "variablesReference": ref,
        "filter": kind,
        "start": start,
        "count": count,
        **options,
    }
    body = await ask_value(wire, "variables", asked)
    found: list[Mapping[str, Any]] = list(body.get("variables") or ())
    if len(found) > count and not wire.adapter.values.pages:
        # It does not know pages, and told everything.
        return found[start : start + count] if len(found) >= total else found[:count]
    return found


async def members(wire: Wire, ref: int, **options: Any) -> list[Mapping[str, Any]]:
    """Return the variables behind a reference that are the user's, in the adapter's form.

    In place of one without a name stand its own.
    """
    body = await ask_value(wire, "variables", {"variablesReference": ref, **options})
    return await _shown(wire, body.get("variables") or (), **options)


async def _shown(
    wire: Wire, variables: Sequence[Mapping[str, Any]], depth: int = 0, **options: Any
) -> list[Mapping[str, Any]]:
    values = wire.adapter.values
    shown: list[Mapping[str, Any]] = []
    for variable in variables:
        inner = int(variable.get("variablesReference") or 0)
        if inner and values.nameless(variable) and depth < _NESTED:
            body = await ask_value(wire, "variables", {"variablesReference": inner, **options})
            shown += await _shown(wire, body.get("variables") or (), depth + 1, **options)
        elif not values.hides(variable):
            shown.append(variable)
    return shown


async def _has_member(wire: Wire, ref: int, name: str) -> bool:
    element = re.fullmatch(r"\[(\d{1,18})\]", name)
    _, indexed = wire.sizes.get(ref)
    if element is not None and int(element[1]) < indexed:
        found = await part(wire, ref, int(element[1]), 1)
    else:
        found = await members(wire, ref)
    return any(each.get("name") == name for each in found)
