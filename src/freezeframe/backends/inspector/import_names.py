"""Imported names in compiled code: `discount` of the source is `import_cart.discount` there."""

from __future__ import annotations

import re
from typing import Any

from freezeframe import files
from freezeframe.backends.javascript.imports import Import, imports_of, is_holder, is_named_after

from .isolate import Isolate
from .minified_names import minify

_NAMES = re.compile(r"(?<![\w$.])[A-Za-z_$][\w$]*")


async def rewritten(isolate: Isolate, call: dict[str, Any], expression: str) -> str:
    """Return an expression with what the compiled code has for imported names.

    A name is left as it is where the code has it too, or no variable holds its module for certain.
    """
    imports = await _imports(isolate, call)
    for name in dict.fromkeys(_NAMES.findall(expression)):
        requested = imports.get(name)
        if requested is None or not await _holds(isolate, call, f"typeof {name}==='undefined'"):
            continue
        holders = await _holders(isolate, call, requested)
        if len(holders) > 1:
            holders = [each for each in holders if is_named_after(each, requested.module)]
        if len(holders) == 1:
            member = f"{holders[0]}.{requested.exported}" if requested.exported else holders[0]
            expression = minify(expression, {member: name})
    return expression


async def _imports(isolate: Isolate, call: dict[str, Any]) -> dict[str, Import]:
    script = isolate.scripts.get(str(call["location"]["scriptId"]))
    source_map = isolate.scripts.map_of(script) if script is not None else None
    path = isolate.scripts.position(call["location"]).path
    if source_map is None or path is None:
        return {}
    text = source_map.contents.get(path)
    if text is None:
        try:
            text = files.read_text(path)
        except (OSError, ValueError):
            return {}
    return imports_of(text)


async def _holders(isolate: Isolate, call: dict[str, Any], requested: Import) -> list[str]:
    """Return the variables in sight that hold a module with the export."""
    names: dict[str, None] = {}
    for scope in call.get("scopeChain") or ():
        object_id = scope["object"].get("objectId")
        if scope["type"] != "global" and object_id is not None:
            answer = await isolate.request(
                "Runtime.getProperties", objectId=object_id, ownProperties=True
            )
            names |= {each["name"]: None for each in answer.get("result") or ()}
    found = []
    for name in filter(is_holder, names):
        has_export = f"{requested.exported!r} in {name}" if requested.exported else "true"
        if await _holds(isolate, call, f"typeof {name}==='object'&&{name}!==null&&{has_export}"):
            found.append(name)
    return found


async def _holds(isolate: Isolate, call: dict[str, Any], condition: str) -> bool:
    answer = await isolate.request(
        "Debugger.evaluateOnCallFrame",
        callFrameId=call["callFrameId"],
        expression=condition,
        returnByValue=True,
        silent=True,
        throwOnSideEffect=True,
    )
    return "exceptionDetails" not in answer and answer.get("result", {}).get("value") is True
