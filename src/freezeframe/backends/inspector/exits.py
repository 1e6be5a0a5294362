"""Where a function returns, and what: V8 tells it only of a function that stands there."""

from __future__ import annotations

import contextlib
import re
from typing import Any

from freezeframe.errors import DebuggerError

from .isolate import Isolate
from .scripts import offset_of

#: exceptions on the way of a step out that are followed; after that V8's own step has to do
MOST_THROWS = 200
#: places at which a function returns that are watched for its value
_MOST_EXITS = 60
_GROUP = "freezeframe-returned"
#: characters that are read before a function, and behind the place of a call
_BEFORE, _BEHIND = -40, 200
_CONSTRUCTOR = re.compile(r"(?<!static )(?<![\w$.#])constructor\s*\Z")
_NEW = re.compile(r"new\s+(?:[\w$]+\.)*([\w$]+)\s*[(;,)\]}\n]")


async def watch(isolate: Isolate, call: dict[str, Any]) -> set[str]:
    """Stop where a function returns. Return V8's names of these breakpoints."""
    isolate.send("Runtime.releaseObjectGroup", objectGroup=_GROUP)
    scopes = [each for each in call.get("scopeChain") or () if each["type"] == "local"]
    if not scopes or "startLocation" not in scopes[0]:
        return set()
    found: set[str] = set()
    with contextlib.suppress(DebuggerError):
        answer = await isolate.ask(
            "Debugger.getPossibleBreakpoints",
            start=scopes[0]["startLocation"],
            end=scopes[0].get("endLocation"),
            restrictToFunction=True,
        )
        exits = [e for e in answer.get("locations") or () if e.get("type") == "return"]
        for location in exits if len(exits) <= _MOST_EXITS else ():
            place = {k: location[k] for k in ("scriptId", "lineNumber", "columnNumber")}
            with contextlib.suppress(DebuggerError):
                made = await isolate.ask("Debugger.setBreakpoint", location=place)
                found.add(str(made["breakpointId"]))
    return found


async def keep(isolate: Isolate, remote: dict[str, Any]) -> dict[str, Any]:
    """Return a value that outlives the stop at which it was handed out."""
    if "objectId" not in remote:
        return remote
    answer = await isolate.ask(
        "Runtime.callFunctionOn",
        functionDeclaration="function(){return this}",
        objectId=remote["objectId"],
        objectGroup=_GROUP,
        silent=True,
    )
    return dict(answer["result"])


async def tell_constructed(isolate: Isolate) -> None:
    """Where a constructor is about to return, tell the object: V8 tells what its text returns."""
    stack = isolate.stack
    if stack is None or not stack.returning:
        return
    call = stack.calls[0]
    receiver = call.get("this") or {}
    if not _is_object(call["returnValue"]) and _is_object(receiver):
        before = await _around(isolate, call.get("functionLocation"), _BEFORE)
        made = _CONSTRUCTOR.search(before) is not None
        if not made and len(stack.calls) > 1 and call["functionName"]:
            # V8 has the place of a call at its parenthesis, and of `new F()` at the word.
            caller = await _around(isolate, stack.calls[1]["location"], _BEHIND)
            found = _NEW.match(caller)
            made = found is not None and found[1] == call["functionName"]
        if made:
            call["returnValue"] = receiver


async def _around(isolate: Isolate, location: dict[str, Any] | None, side: int) -> str:
    """Return the text right before or behind a location."""
    script = isolate.scripts.get(str(location["scriptId"])) if location else None
    if location is None or script is None:
        return ""
    text = await isolate.scripts.text_of(script)
    at = offset_of(text, int(location["lineNumber"]), int(location.get("columnNumber") or 0))
    return text[max(0, at + side) : at] if side < 0 else text[at : at + side]


def _is_object(remote: dict[str, Any]) -> bool:
    return remote.get("type") in ("object", "function") and remote.get("subtype") != "null"
