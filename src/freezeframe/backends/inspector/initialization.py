"""Find variables of a frame that are not initialised yet (the temporal dead zone).

V8 shows such a variable as `undefined` before version 12 (Node 20), and without a value from then
on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freezeframe import files
from freezeframe.backends.javascript.initialization import MAX_SIZE, at_line, uninitialized

from .scripts import Scripts, offset_of


async def of_frame(call: Mapping[str, Any], scripts: Scripts) -> frozenset[str]:
    """Return the names of a frame's own variables that its code cannot read at its position."""
    location = call.get("location")
    script = scripts.get(str(location["scriptId"])) if location else None
    own_scopes = [
        scope
        for scope in call.get("scopeChain") or ()
        if scope["type"] in ("local", "module", "eval")
        and scope.get("startLocation", {}).get("scriptId") == script_id(call)
    ]
    if script is None or location is None or not own_scopes or "endLocation" not in own_scopes[0]:
        return frozenset()
    text = await scripts.text_of(script)
    at = _offset(text, location)
    start, end = (_offset(text, own_scopes[0][key]) for key in ("startLocation", "endLocation"))
    if not start <= at < end or end - start > MAX_SIZE:
        return frozenset()
    return uninitialized(text[start:end], at - start)


def script_id(call: Mapping[str, Any]) -> str | None:
    location = call.get("location") or {}
    return location.get("scriptId")


def _offset(text: str, location: Mapping[str, Any]) -> int:
    return offset_of(text, int(location["lineNumber"]), int(location.get("columnNumber") or 0))


async def at_breakpoint(scripts: Scripts, key: tuple[str, str, int, int]) -> frozenset[str]:
    """Return the names that code cannot read at a breakpoint, whose script may not be loaded yet.

    *key* is that of `breakpoints.py`. Empty if several functions share the line: which of them is
    meant is unknown then.
    """
    kind, name, line, column = key
    loaded = {
        "pattern": scripts.at_path(name)[-1:],
        "url": [each for each in scripts if each.url == name][-1:],
        "id": [each for each in [scripts.get(name)] if each is not None],
    }[kind]
    try:
        text = await scripts.text_of(loaded[0]) if loaded else files.read_text(name)
    except (OSError, ValueError):
        return frozenset()
    return at_line(text, line, column)
