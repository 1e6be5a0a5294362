"""Requests for values: they may run the program's own code, which may never end."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.errors import DebuggerTimeout, EvaluationFailed

from .messages import Refused
from .wire import Wire

log = logging.getLogger(__name__)


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
        raise DebuggerTimeout(
            f"showing it took longer than {limit_s:g} s and could not be interrupted.",
            next="dbg stop",
        )
    return waiting.result()


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
            if any(each.get("name") == name for each in await members(wire, ref)):
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


async def part(wire: Wire, ref: int, start: int, count: int | None) -> Sequence[Mapping[str, Any]]:
    """Return some of the variables behind a reference."""
    if wire.adapter.values.pages and start and count:
        asked = {"variablesReference": ref, "filter": "indexed", "start": start, "count": count}
        body = await ask_value(wire, "variables", asked)
        if body.get("variables"):
            return list(body["variables"])
    shown = await members(wire, ref)
    return shown[start : None if count is None else start + count]


async def members(wire: Wire, ref: int) -> list[Mapping[str, Any]]:
    """Return the variables behind a reference that are the user's, in the adapter's form.

    In place of one without a name stand its own.
    """
    values = wire.adapter.values
    body = await ask_value(wire, "variables", {"variablesReference": ref})
    shown: list[Mapping[str, Any]] = []
    for variable in body.get("variables") or ():
        inner = int(variable.get("variablesReference") or 0)
        if inner and values.nameless(variable):
            shown += await members(wire, inner)
        elif not values.hides(variable):
            shown.append(variable)
    return shown
