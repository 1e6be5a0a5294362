"""Whether an exception will get past everybody, where V8 cannot tell: in ES modules.

The runtime evaluates a module inside a promise that it handles itself, so to V8 whatever a module
throws is caught. The program dies of it all the same. The texts of the functions on the stack say
whether one of them catches it.
"""

from __future__ import annotations

from typing import Any

from . import grammar
from .frames import MODULE, Stack, function_name
from .scripts import Scripts, offset_of

#: exceptions that are looked at before V8's own foresight has to do: a program may throw many
PATIENCE = 300
#: what stands between a module and the one that it asked for
_LOADERS = "node:internal/modules/"
#: what loads a file of CommonJS for a module, or in a program with a loader of its own (tsx)
_TRANSLATORS = "node:internal/modules/esm/translators"


async def escapes(stack: Stack, scripts: Scripts, *, worker: bool = False) -> bool:
    """Whether what was thrown leaves the module that the program began with.

    In a worker that may be one of CommonJS: the runtime catches that too, to hand it on.
    """
    awaited = True
    at_top = loading = False
    for index, call in enumerate(stack.calls):
        script = scripts.get(str(call["location"]["scriptId"]))
        if script is None or script.internal:
            if loading and script is not None and script.url.startswith(_TRANSLATORS):
                return not await _is_caught_by_those(stack, scripts)
            if (worker or loading) and script is not None and script.url.startswith(_LOADERS):
                continue
            # Below are callbacks of the runtime's: V8 sees what happens there.
            return worker and at_top
        text = await scripts.text_of(script)
        offset = _offset(text, call["location"])
        if index and not awaited and not grammar.is_awaited(text, offset):
            return False  # a promise is handed on: V8 knows who handles it
        if grammar.is_caught(text, offset, _offset(text, call.get("functionLocation"))):
            return False
        at_top = function_name(call) == MODULE
        loading = loading or at_top
        if at_top and script.module:
            return not await _is_caught_by_those(stack, scripts)
        function = grammar.innermost(text, offset)
        awaited = function is None or not function.is_async
    return not awaited and await _reaches_module(stack, scripts)


async def _reaches_module(stack: Stack, scripts: Scripts) -> bool:
    """Whether a rejection goes up through those who await it, to the module itself."""
    for why, call in stack.callers:
        script = scripts.get(str(call["scriptId"]))
        if why != "await" or script is None or script.internal:
            return False
        text = await scripts.text_of(script)
        offset = _offset(text, call)
        if not grammar.is_awaited(text, offset):
            return False
        function = grammar.innermost(text, offset)
        if grammar.is_caught(text, offset, function.start if function is not None else 0):
            return False
        if function is None and script.module:
            return True
    return False


async def _is_caught_by_those(stack: Stack, scripts: Scripts) -> bool:
    """Whether one of those who asked for the module catches what comes out of it."""
    for _, call in stack.callers:
        script = scripts.get(str(call["scriptId"]))
        if script is None or script.internal:
            continue
        text = await scripts.text_of(script)
        offset = _offset(text, call)
        function = grammar.innermost(text, offset)
        if grammar.is_caught(text, offset, function.start if function is not None else 0):
            return True
    return False


def _offset(text: str, location: dict[str, Any] | None) -> int:
    if location is None:
        return 0
    return offset_of(text, int(location["lineNumber"]), int(location.get("columnNumber") or 0))
