"""Find where a function returns, and its return value: V8 reports it only when paused at the
return."""

from __future__ import annotations

import contextlib
import re
from typing import Any

from freezeframe.backends.javascript import js_scanner
from freezeframe.errors import DebuggerError

from .frames import V8Stack
from .isolate import Isolate
from .scripts import offset_of

#: exceptions that a step out follows; after that V8's own step must be enough
MAX_THROWS = 200
#: returns of a function that are watched for its value
_MAX_EXITS = 60
_GROUP = "freezeframe-returned"
#: characters that are read before a function, and after the location of a call
_BEFORE, _AFTER = -40, 200
_CONSTRUCTOR = re.compile(r"(?<!static )(?<![\w$.#])constructor\s*\Z")
_NEW = re.compile(r"new\s+(?:[\w$]+\.)*([\w$]+)\s*[(;,)\]}\n]")


async def watch(isolate: Isolate, call: dict[str, Any]) -> set[str]:
    """Set breakpoints where a function returns. Return V8's ids of them."""
    isolate.send("Runtime.releaseObjectGroup", objectGroup=_GROUP)
    found: set[str] = set()
    exits = [each for each in await locations(isolate, call) if each.get("type") == "return"]
    for location in exits if len(exits) <= _MAX_EXITS else ():
        found |= await stop_at(isolate, location)
    return found


async def locations(isolate: Isolate, call: dict[str, Any]) -> list[dict[str, Any]]:
    """Return where V8 can stop in the function of a frame."""
    scopes = [each for each in call.get("scopeChain") or () if each["type"] in ("local", "module")]
    if not scopes:
        return []
    first = {"scriptId": call["location"]["scriptId"], "lineNumber": 0, "columnNumber": 0}
    start = first if scopes[0]["type"] == "module" else scopes[0].get("startLocation")
    end = scopes[0].get("endLocation") if start is not first else None
    if start is None:
        return []
    # V8 takes the first function of a file for the module, where both begin at the same position.
    of_module = start == first
    try:
        answer = await isolate.request(
            "Debugger.getPossibleBreakpoints",
            start=start,
            **({} if end is None else {"end": end}),
            restrictToFunction=not of_module,
        )
    except DebuggerError:
        return []
    found = list(answer.get("locations") or ())
    script = isolate.scripts.get(str(start["scriptId"]))
    if not of_module or script is None:
        return found
    text = await isolate.scripts.text_of(script)
    return [
        each
        for each in found
        if js_scanner.innermost(
            text, offset_of(text, int(each["lineNumber"]), int(each.get("columnNumber") or 0))
        )
        is None
    ]


async def stop_at(isolate: Isolate, location: dict[str, Any]) -> set[str]:
    """Set a breakpoint at a location. Return V8's id of it; nothing if there is one already."""
    location_params = {k: location[k] for k in ("scriptId", "lineNumber", "columnNumber")}
    with contextlib.suppress(DebuggerError):
        made = await isolate.request("Debugger.setBreakpoint", location=location_params)
        return {str(made["breakpointId"])}
    return set()


async def keep(isolate: Isolate, remote: dict[str, Any]) -> dict[str, Any]:
    """Return a value that outlives the current stop."""
    if "objectId" not in remote:
        return remote
    answer = await isolate.request(
        "Runtime.callFunctionOn",
        functionDeclaration="function(){return this}",
        objectId=remote["objectId"],
        objectGroup=_GROUP,
        silent=True,
    )
    return dict(answer["result"])


async def fix_constructor_return(isolate: Isolate) -> None:
    """At the return of a constructor, replace V8's return value (undefined) by the object."""
    stack = isolate.stack
    if stack is None or not stack.returning:
        return
    call = stack.calls[0]
    receiver = call.get("this") or {}
    if not _is_object(call["returnValue"]) and _is_object(receiver):
        before = await _around(isolate, call.get("functionLocation"), _BEFORE)
        made = _CONSTRUCTOR.search(before) is not None
        if not made and len(stack.calls) > 1 and call["functionName"]:
            # V8 has the location of a call at its parenthesis, and of `new F()` at the word `new`.
            caller = await _around(isolate, stack.calls[1]["location"], _AFTER)
            found = _NEW.match(caller)
            made = found is not None and found[1] == call["functionName"]
        if made:
            call["returnValue"] = receiver


async def _around(isolate: Isolate, location: dict[str, Any] | None, side: int) -> str:
    """Return the text directly before or after a location."""
    script = isolate.scripts.get(str(location["scriptId"])) if location else None
    if location is None or script is None:
        return ""
    text = await isolate.scripts.text_of(script)
    at = offset_of(text, int(location["lineNumber"]), int(location.get("columnNumber") or 0))
    return text[max(0, at + side) : at] if side < 0 else text[at : at + side]


def _is_object(remote: dict[str, Any]) -> bool:
    return remote.get("type") in ("object", "function") and remote.get("subtype") != "null"


def set_return_value(stack: V8Stack, returned: dict[str, Any] | None) -> None:
    """Show the return value of the function that a step left in the caller's frame."""
    if returned is not None:
        if stack.returning:
            stack.own_return = stack.calls[0]["returnValue"]
        stack.calls[0]["returnValue"] = returned


def hide_return_value(stack: V8Stack) -> None:
    """Show no return value: the caller that a step arrived in returns too, with its own."""
    stack.calls[0].pop("returnValue", None)
    stack.returning = False
