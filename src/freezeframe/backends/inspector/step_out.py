"""Steps out: to the caller of a function, to whoever awaits it, or to its return.

A function that only the runtime calls has no caller to arrive in: the step ends where the function
returns. V8's own step out of an async function ends at its first await, or in whatever runs next
if nobody awaits it. Its step over stays in one call of the function, however many other calls run
meanwhile: an async function is left by steps over until it returns. A step out of an async
generator ends where it yields or returns.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from freezeframe.backends import backend as events
from freezeframe.backends.backend import StepKind
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import StopReason

from . import return_values
from .async_functions import AsyncFunction, read, read_generator
from .frames import V8Stack, function_of
from .isolate import Isolate
from .scripts import SourcePosition, offset_of

_OVER, _OUT, _RESUME = "Debugger.stepOver", "Debugger.stepOut", "Debugger.resume"
_INTO = "Debugger.stepInto"
#: in the text of a function: what runs between its `return` and its end
_FINALLY = re.compile(r"\bfinally\b|\bfor\s*\(\s*(?:const|let|var)\b[^;)]*\bof\b")
_RETURN = re.compile(r"\breturn\b")
#: breakpoints that are set to leave a loop, or to arrive in a caller
_MAX_LOOP_EXITS = 200


@dataclass(slots=True)
class Step:
    kind: StepKind
    depth: int
    position: SourcePosition
    function: object
    #: how often the step was continued
    tries: int = 0
    #: V8's breakpoints at the returns of the function, or behind a loop of it
    exits: set[str] = field(default_factory=set)
    returned: dict[str, Any] | None = None
    #: pauses in internal code of the runtime
    detours: int = 0
    #: the step was interrupted inside a call, and is stepping out of it
    stepping_back: bool = False
    #: it goes on by steps into: calls that it meets are stepped out of
    over_calls: bool = False
    #: an exception is unwinding to its handler
    unwinding: bool = False
    #: of a step out: the async function that is to be left
    async_call: AsyncFunction | None = None
    #: whether an async function awaits that call; None if unknown
    awaited: bool | None = None

    def holds(self, stack: V8Stack) -> bool:
        """Return whether the function that the step began in is still on the stack."""
        above = stack.depth - self.depth
        return 0 <= above < len(stack.calls) and function_of(stack.calls[above]) == self.function

    def called(self, stack: V8Stack) -> bool:
        """Return whether the function called what runs; after an await it is on another stack."""
        return any(function_of(call) == self.function for call in stack.calls[1:])


async def begin(isolate: Isolate, stack: V8Stack, step: Step) -> str:
    """Prepare a step; return the method that begins it."""
    call = stack.calls[0]
    generator = await read_generator(isolate.scripts, call)
    if generator is not None:
        step.over_calls = step.kind is not StepKind.INTO
        if step.kind is StepKind.OUT and not generator.returns:
            step.async_call = generator
            return await _continue_in(isolate, stack, step, generator)
        step.kind = StepKind.INTO
    if step.kind is not StepKind.OUT:
        through = generator is None and await _returns_through_finally(isolate, call)
        if through and await read(isolate.scripts, call) is None:
            step.exits = await _stop_in_callers(isolate, stack)
        return _OVER if step.kind is StepKind.OVER else _INTO
    function = await read(isolate.scripts, call)
    if stack.returning:
        # `return m;` is one location to V8: it will not stop there a second time.
        own = stack.own_return or call["returnValue"]
        step.returned = await return_values.keep(isolate, own)
        if function is not None and not _has_user_caller(isolate, stack):
            await isolate.stop_after_microtasks()
        return _OUT
    if function is None:
        step.exits = await return_values.watch(isolate, call)
        if await _returns_through_finally(isolate, call):
            step.exits |= await _stop_in_callers(isolate, stack)
        return _OUT
    step.async_call = function
    return await _continue_in(isolate, stack, step, function)


def method(step: Step, stack: V8Stack) -> str:
    """Return how a step out goes on after a pause that has nothing to do with it."""
    if step.async_call is None or (stack.depth > step.depth and step.holds(stack)):
        return _OUT
    if not step.holds(stack):
        return _RESUME  # V8's step over outlasts an await
    return _INTO if step.async_call.is_generator else _OVER


async def paused(
    isolate: Isolate, stack: V8Stack, step: Step, hits: list[str]
) -> events.Stopped | Literal[StepKind.INTO] | None:
    """Return the end of the step, None if it continues, or INTO if it is to continue by such."""
    if step.async_call is not None:
        if step.async_call.is_generator:
            return await _in_generator(isolate, stack, step, step.async_call)
        if not await _is_left(isolate, stack, step, step.async_call):
            return None
        if step.async_call is not None:
            return events.Stopped(StopReason.STEP, isolate.id)
    if step.unwinding:
        step.unwinding = False
        if step.holds(stack):
            await isolate.resume(_OUT)  # it was caught in a deeper frame
            return None
        await forget_exits(isolate, step)
    at_exit = bool(step.exits & set(hits)) and "returnValue" in stack.calls[0]
    if at_exit and stack.depth == step.depth:
        step.returned = await return_values.keep(isolate, stack.calls[0]["returnValue"])
        await forget_exits(isolate, step)
        if not _has_user_caller(isolate, stack):
            return events.Stopped(StopReason.STEP, isolate.id)
    elif not at_exit and stack.depth < step.depth:
        await forget_exits(isolate, step)
        if _is_internal(isolate, stack.calls[0]) and stack.depth > 1:
            step.depth = stack.depth  # continue to the caller of the runtime
            await isolate.resume(_OUT)
            return None
        if step.returned is None:
            return_values.hide_return_value(stack)
        return_values.set_return_value(stack, step.returned)
        return events.Stopped(StopReason.STEP, isolate.id)
    elif not step.exits and stack.depth >= step.depth:
        # No return led here: the function was left, and something else runs. Internal code of
        # the runtime that calls nothing is skipped: the function that awaited runs next.
        if _is_internal(isolate, stack.calls[0]):
            return StepKind.INTO
        return_values.set_return_value(stack, step.returned)
        return events.Stopped(StopReason.STEP, isolate.id)
    await isolate.resume(_OUT)
    return None


async def _returns_through_finally(isolate: Isolate, call: dict[str, Any]) -> bool:
    """Return whether a function may return by way of a `finally`, or of the end of an iterator.

    V8's steps are lost there (Node 20): none ends in the caller.
    """
    scopes = [each for each in call.get("scopeChain") or () if each["type"] == "local"]
    start, end = (scopes[0].get(f"{side}Location") if scopes else None for side in ("start", "end"))
    script = isolate.scripts.get(str(start["scriptId"])) if start and end else None
    if script is None or start is None or end is None:
        return False
    text = await isolate.scripts.text_of(script)
    first, last = (
        offset_of(text, int(each["lineNumber"]), int(each.get("columnNumber") or 0))
        for each in (start, end)
    )
    return all(each.search(text, first, last) for each in (_FINALLY, _RETURN))


async def _stop_in_callers(isolate: Isolate, stack: V8Stack) -> set[str]:
    """Set breakpoints where V8 can stop in the caller. Return V8's ids of them.

    A caller that returns by way of a `finally` itself may have no such place left: the next one
    follows.
    """
    if not _has_user_caller(isolate, stack):
        return set()
    found: set[str] = set()
    functions: set[object] = set()
    for caller in stack.calls[1:]:
        function = function_of(caller)
        if function not in functions:
            functions.add(function)
            for location in await return_values.locations(isolate, caller):
                if len(found) < _MAX_LOOP_EXITS:
                    found |= await return_values.stop_at(isolate, location)
        if not await _returns_through_finally(isolate, caller):
            break
    return found


async def forget_exits(isolate: Isolate, step: Step | None) -> None:
    ids: set[str] = set()
    if step is not None:
        ids, step.exits = step.exits, set()
    for id in ids:
        with contextlib.suppress(DebuggerError):
            await isolate.request("Debugger.removeBreakpoint", breakpointId=id)


# --- async functions ----------------------------------------------------------------------------


async def _is_left(isolate: Isolate, stack: V8Stack, step: Step, function: AsyncFunction) -> bool:
    """Continue the call of an async function; return True once the step need not follow it.

    That is at its return, with `async_call` set where the step ends; or outside of it.
    """
    inside = step.holds(stack)
    if inside and stack.depth > step.depth:
        await isolate.resume(_RESUME if step.exits else _OUT)
        return False
    if not inside and function_of(stack.calls[0]) != step.function:
        # It was left by an exception, and this is its handler.
        await forget_exits(isolate, step)
        step.async_call, step.unwinding = None, True
        return True
    step.unwinding = False
    step.depth = stack.depth
    if not stack.returning:
        await isolate.resume(await _continue_in(isolate, stack, step, function))
        return False
    await forget_exits(isolate, step)
    step.returned = await return_values.keep(isolate, stack.calls[0]["returnValue"])
    calls_back = _has_user_caller(isolate, stack)
    if calls_back or step.awaited is not False:
        step.async_call = None
        if not calls_back:
            await isolate.stop_after_microtasks()
        await isolate.resume(_OUT)
        return False
    return True


async def _in_generator(
    isolate: Isolate, stack: V8Stack, step: Step, function: AsyncFunction
) -> events.Stopped | Literal[StepKind.INTO] | None:
    """Return the end of a step out of an async generator, as `paused` does."""
    if step.holds(stack) and stack.depth > step.depth:
        await isolate.resume(_RESUME if step.exits else _OUT)
        return None
    if function_of(stack.calls[0]) == step.function:
        step.depth = stack.depth
        if not await _leaves_generator(isolate, stack, step):
            await isolate.resume(await _continue_in(isolate, stack, step, function))
            return None
    elif _is_internal(isolate, stack.calls[0]):
        if not step.called(stack):
            return StepKind.INTO
        await isolate.resume(_OUT)
        return None
    await forget_exits(isolate, step)
    return events.Stopped(StopReason.STEP, isolate.id)


async def _leaves_generator(isolate: Isolate, stack: V8Stack, step: Step) -> bool:
    """Return whether an async generator is left at a pause, and not by what the step began at."""
    call = stack.calls[0]
    now = await read_generator(isolate.scripts, call)
    at = isolate.scripts.position(call["location"])
    began = step.position
    begun = (at.path, at.line) == (began.path, began.line) and at.column > began.column
    return now is not None and now.left_by is not None and not begun


async def _continue_in(
    isolate: Isolate, stack: V8Stack, step: Step, function: AsyncFunction
) -> str:
    """Return the method that continues a call of an async function at a pause inside it."""
    if not _has_user_caller(isolate, stack):
        step.awaited = await isolate.is_awaited()
    await forget_exits(isolate, step)
    location = stack.calls[0]["location"]
    text = await isolate.scripts.text_of(function.script)
    offset = offset_of(text, int(location["lineNumber"]), int(location.get("columnNumber") or 0))
    loop = function.loop_around(offset)
    over = _INTO if function.is_generator else _OVER
    if loop is None:
        return over
    # A loop that awaits nothing is run through at full speed.
    exits = await return_values.locations(isolate, stack.calls[0])
    for each in exits:
        at = offset_of(text, int(each["lineNumber"]), int(each.get("columnNumber") or 0))
        if not loop[0] <= at < loop[1] and len(step.exits) < _MAX_LOOP_EXITS:
            step.exits |= await return_values.stop_at(isolate, each)
    return _RESUME if step.exits else over


def _has_user_caller(isolate: Isolate, stack: V8Stack) -> bool:
    return any(not _is_internal(isolate, call) for call in stack.calls[1:])


def _is_internal(isolate: Isolate, call: dict[str, Any]) -> bool:
    script = isolate.scripts.get(str(call["location"]["scriptId"]))
    return script is not None and script.internal


async def follow_exception(isolate: Isolate, stack: V8Stack, step: Step, reasons: set[str]) -> bool:
    """Step to the handler of an exception; return False where there is nothing to follow.

    V8's own step out skips a handler in the function that it should arrive in.
    """
    if step.kind is not StepKind.OUT:
        at = stack.calls[0]["location"]
        if "promiseRejection" in reasons and await isolate.scripts.has_on_line("rej", at):
            return False  # `Promise.reject(…)`: nothing unwinds
        step.stepping_back = stack.depth > step.depth
    elif not isolate.throws:
        return False
    else:
        await isolate.watch_throws(isolate.throws - 1)
        if step.async_call is not None and not step.holds(stack):
            await isolate.resume()  # something else throws while the function awaits
            return True
        step.unwinding = True
    # A step into also stops in the function that awaits an asynchronous one.
    await isolate.resume("Debugger.stepInto")
    return True
