"""Where a function returns, and what: V8 tells it only of a function that stands there."""

from __future__ import annotations

import contextlib
from typing import Any

from freezeframe.errors import DebuggerError

from .isolate import Isolate

#: exceptions on the way of a step out that are followed; after that V8's own step has to do
MOST_THROWS = 200
#: places at which a function returns that are watched for its value
_MOST_EXITS = 60
_GROUP = "freezeframe-returned"


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
