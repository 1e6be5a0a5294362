"""Predict whether an exception is uncaught where V8 cannot: in ES modules.

The runtime evaluates a module inside a promise that it handles itself, so to V8 whatever a module
throws is caught. The program dies of it all the same. The texts of the functions on the stack show
whether one of them catches it.
"""

from __future__ import annotations

from typing import Any

from freezeframe.backends.javascript import js_scanner

from .frames import MODULE, V8Stack, function_name
from .scripts import Scripts, offset_of

#: exceptions that are scanned before V8's own prediction must be enough: a program may throw many
SCAN_LIMIT = 300
#: scripts between a module and the module that it imports
_LOADERS = "node:internal/modules/"
#: the script that loads CommonJS files for a module, or in a program with its own loader (tsx)
_TRANSLATORS = "node:internal/modules/esm/translators"


async def escapes(stack: V8Stack, scripts: Scripts, *, worker: bool = False) -> bool:
    """Return whether an exception leaves the module that the program began with.

    In a worker that may be a CommonJS module: the runtime catches that too, to pass it on.
    """
    awaited = True
    at_top = loading = False
    for index, call in enumerate(stack.calls):
        script = scripts.get(str(call["location"]["scriptId"]))
        if script is None or script.internal:
            if loading and script is not None and script.url.startswith(_TRANSLATORS):
                return not await _is_caught_by_importers(stack, scripts)
            if (worker or loading) and script is not None and script.url.startswith(_LOADERS):
                continue
            # Below are callbacks of the runtime, where V8's prediction is right.
            return worker and at_top
        text = await scripts.text_of(script)
        offset = _offset(text, call["location"])
        if index and not awaited and not js_scanner.is_awaited(text, offset):
            return False  # the promise is passed on: V8 knows its handler
        if js_scanner.is_caught(text, offset, _offset(text, call.get("functionLocation"))):
            return False
        at_top = function_name(call) == MODULE
        loading = loading or at_top
        if at_top and script.module:
            return not await _is_caught_by_importers(stack, scripts)
        function = js_scanner.innermost(text, offset)
        awaited = function is None or not function.is_async
    return not awaited and await _reaches_module(stack, scripts)


async def _reaches_module(stack: V8Stack, scripts: Scripts) -> bool:
    """Return whether a rejection propagates through the awaiting functions to the module itself."""
    for why, call in stack.callers:
        script = scripts.get(str(call["scriptId"]))
        if why != "await" or script is None or script.internal:
            return False
        text = await scripts.text_of(script)
        offset = _offset(text, call)
        if not js_scanner.is_awaited(text, offset):
            return False
        function = js_scanner.innermost(text, offset)
        if js_scanner.is_caught(text, offset, function.start if function is not None else 0):
            return False
        if function is None and script.module:
            return True
    return False


async def _is_caught_by_importers(stack: V8Stack, scripts: Scripts) -> bool:
    """Return whether one of the importers of the module catches what the module throws."""
    for _, call in stack.callers:
        script = scripts.get(str(call["scriptId"]))
        if script is None or script.internal:
            continue
        text = await scripts.text_of(script)
        offset = _offset(text, call)
        function = js_scanner.innermost(text, offset)
        if js_scanner.is_caught(text, offset, function.start if function is not None else 0):
            return True
    return False


def _offset(text: str, location: dict[str, Any] | None) -> int:
    if location is None:
        return 0
    return offset_of(text, int(location["lineNumber"]), int(location.get("columnNumber") or 0))
