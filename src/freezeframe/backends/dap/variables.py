"""Requests for values. They may run the program's code, which may never return."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.errors import EvaluationFailed

from .adapter_channel import AdapterChannel
from .messages import ErrorResponse

log = logging.getLogger(__name__)

#: Most variables in one request.
_MOST = 1000
#: Most named members requested without paging: not every adapter pages those.
_FEW = 200
#: Most levels of nested anonymous structures.
_NESTED = 16


async def set_member(channel: AdapterChannel, target: str, value: str, frame: int | None) -> None:
    """Assign to a variable of a frame, or to a member of an expression's value.

    Raises EvaluationFailed with the adapter's message.
    """
    owner, name = split_member(target)
    in_frame: dict[str, Any] = {} if frame is None else {"frameId": frame}
    try:
        if owner is None:
            scopes = (await channel.request("scopes", in_frame)).get("scopes") if in_frame else ()
            owners = [int(scope["variablesReference"]) for scope in scopes or ()]
        else:
            query = {
                "expression": owner,
                "context": channel.adapter.expressions.context,
                **in_frame,
            }
            found = await channel.value_request("evaluate", query)
            owners = [int(found.get("variablesReference") or 0)]
        for ref in filter(None, owners):
            holder = await _holder(channel, ref, name)
            if holder is not None:
                arguments = {"variablesReference": holder, "name": name, "value": value}
                await channel.request("setVariable", arguments)
                return
    except ErrorResponse as error:
        raise EvaluationFailed(channel.adapter.expressions.brief_error(error.message)) from None
    raise EvaluationFailed(f"there is no variable {target} to assign to.")


def split_member(expression: str) -> tuple[str | None, str]:
    """Return the owner and the name of a member: `a.b[0]` is `[0]` of `a.b`."""
    expression = expression.strip()
    match = re.fullmatch(r"(.+?)(?:(\[[^\[\]]*\])|\.(\w+))", expression, re.DOTALL)
    if match is None:
        return None, expression
    return match[1], match[2] or match[3]


async def part(
    channel: AdapterChannel, ref: int, start: int, count: int | None, **options: Any
) -> Sequence[Mapping[str, Any]]:
    """Return some of the variables of a reference; *options* are added to the requests.

    At most `_MOST` are requested where the adapter sends their number: a container of a million
    elements, or one that is not constructed yet, takes minutes as a whole. Elements come before
    named members.
    """
    named, indexed = channel.sizes.get(ref)
    if not indexed and not named and channel.adapter.values.pages_unsized:
        page = {"variablesReference": ref, "start": start, "count": min(count or _MOST, _MOST)}
        body = await channel.value_request("variables", {**page, **options})
        shown = await _shown(channel, body.get("variables") or (), **options)
        return shown[:count]
    if not indexed and named <= _FEW and not (channel.adapter.values.pages and start and count):
        shown = await members(channel, ref, **options)
        return shown[start : None if count is None else start + count]
    count = min(count or _MOST, _MOST)
    found: list[Mapping[str, Any]] = []
    if start < indexed or not named:
        found += await _page(channel, ref, "indexed", start, count, indexed, options)
    if named and len(found) < count:
        begin, more = max(0, start - indexed), count - len(found)
        # A few are requested all at once, since hidden ones do not count.
        whole = named <= _FEW
        shown = await _page(
            channel, ref, "named", 0 if whole else begin, named if whole else more, named, options
        )
        shown = await _shown(channel, shown, **options)
        found += shown[begin : begin + more] if whole else shown
    return found


async def _page(
    channel: AdapterChannel,
    ref: int,
    kind: str,
    start: int,
    count: int,
    total: int,
    options: Mapping[str, Any],
) -> list[Mapping[str, Any]]:
    """Return the variables of a kind from *start* on, at most *count*."""
    # gdb 16 answers a page that reaches beyond the last element with an error.
    count = min(count, max(1, total - start)) if total else count
    arguments = {
        "variablesReference": ref,
        "filter": kind,
        "start": start,
        "count": count,
        **options,
    }
    body = await channel.value_request("variables", arguments)
    found: list[Mapping[str, Any]] = list(body.get("variables") or ())
    if len(found) > count and not channel.adapter.values.pages:
        # The adapter does not page, and sent everything.
        return found[start : start + count] if len(found) >= total else found[:count]
    return found


async def members(channel: AdapterChannel, ref: int, **options: Any) -> list[Mapping[str, Any]]:
    """Return the visible variables of a reference, as in DAP.

    An anonymous member is replaced by its own members.
    """
    body = await channel.value_request("variables", {"variablesReference": ref, **options})
    return await _shown(channel, body.get("variables") or (), **options)


async def _shown(
    channel: AdapterChannel, variables: Sequence[Mapping[str, Any]], depth: int = 0, **options: Any
) -> list[Mapping[str, Any]]:
    values = channel.adapter.values
    shown: list[Mapping[str, Any]] = []
    for variable in variables:
        inner = int(variable.get("variablesReference") or 0)
        if inner and values.is_anonymous_member(variable) and depth < _NESTED:
            body = await channel.value_request(
                "variables", {"variablesReference": inner, **options}
            )
            shown += await _shown(channel, body.get("variables") or (), depth + 1, **options)
        elif not values.hides(variable):
            shown.append(variable)
    return shown


async def _holder(channel: AdapterChannel, ref: int, name: str, depth: int = 0) -> int | None:
    """Return the reference whose variable has that name: *ref*, or one of an anonymous member."""
    element = re.fullmatch(r"\[(\d{1,18})\]", name)
    _, indexed = channel.sizes.get(ref)
    if element is not None and int(element[1]) < indexed:
        found = await part(channel, ref, int(element[1]), 1)
        return ref if any(each.get("name") == name for each in found) else None
    body = await channel.value_request("variables", {"variablesReference": ref})
    variables: list[Mapping[str, Any]] = list(body.get("variables") or ())
    if any(each.get("name") == name for each in variables):
        return ref
    for each in variables:
        inner = int(each.get("variablesReference") or 0)
        if inner and channel.adapter.values.is_anonymous_member(each) and depth < _NESTED:
            found_in = await _holder(channel, inner, name, depth + 1)
            if found_in is not None:
                return found_in
    return None
