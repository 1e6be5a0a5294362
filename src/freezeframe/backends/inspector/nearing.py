"""Statements that V8 cannot be told to stop at, and how they are reached.

V8 knows a place by its position alone, and the end of a `return` has that of what follows. In code
without blanks, as loaders and bundlers write it, a breakpoint at `f(n)` in `if(n<1)return;f(n)`
would stop at the return and never at the call. Such a statement is reached by steps from the `if`
before it, at which V8 does stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import conditions
from .frames import Stack, function_of
from .isolate import Isolate
from .marks import Place

#: how an isolate goes on that is on no way
RESUME = "Debugger.resume"
#: steps on the way before it is given up
_MOST_TRIES = 2000


@dataclass(slots=True)
class Nearing:
    """One isolate on its way to places in one call of a function."""

    places: list[Place]
    depth: int
    function: object
    awaits: bool
    tries: int = 0
    #: it was interrupted within a call, and is on its way back out of it
    strayed: bool = False

    def is_here(self, stack: Stack) -> bool:
        same = function_of(stack.calls[0]) == self.function
        # What goes on after an await stands on another stack.
        return same and (stack.depth == self.depth or self.awaits)

    def is_over(self, stack: Stack) -> bool:
        if not self.places or not self.is_here(stack) or stack.returning:
            return True
        last = max(place.shadow.end for place in self.places if place.shadow is not None)
        return self.tries > _MOST_TRIES or _position(stack) >= last


class Nearings:
    """Who is on the way where, in one program."""

    def __init__(self) -> None:
        self._of: dict[Isolate, Nearing] = {}

    def forget(self, isolate: Isolate) -> None:
        self._of.pop(isolate, None)

    def note(self, isolate: Isolate, hits: list[str]) -> None:
        """Take up what a pause of V8's is the beginning of."""
        places, stack = isolate.marks.near(hits), isolate.stack
        if places and stack is not None and stack.calls:
            function = function_of(stack.calls[0])
            awaits = any(place.shadow is not None and place.shadow.awaits for place in places)
            self._of[isolate] = Nearing(places, stack.depth, function, awaits)

    def way(self, isolate: Isolate) -> str:
        """Return how an isolate goes on that nobody steps."""
        nearing, stack = self._of.get(isolate), isolate.stack
        if nearing is None or stack is None or not stack.calls:
            return RESUME
        if nearing.awaits and not nearing.is_here(stack):
            return RESUME  # V8's step outlasts the wait
        nearing.tries += 1
        nearing.strayed = stack.depth > nearing.depth and not nearing.is_here(stack)
        if not nearing.strayed and nearing.is_over(stack):
            del self._of[isolate]
            return RESUME
        return "Debugger.stepOut" if nearing.strayed else "Debugger.stepOver"

    async def arrived(self, isolate: Isolate) -> list[int]:
        """Return the breakpoints that a pause is for, of those that it was on the way to."""
        nearing, stack = self._of.get(isolate), isolate.stack
        if nearing is None or stack is None or not stack.calls or stack.returning:
            return []
        if not nearing.is_here(stack):
            return []
        at, found = _position(stack), []
        for place in list(nearing.places):
            if place.shadow is not None and place.shadow.start <= at < place.shadow.end:
                nearing.places.remove(place)
                found += await _holding(isolate, stack.calls[0], place)
        return sorted(set(found), key=lambda id: (id < 0, id))

    def is_on_the_way(self, isolate: Isolate) -> bool:
        """Whether a pause that means nothing else is one of the way; past its end it is none."""
        nearing, stack = self._of.get(isolate), isolate.stack
        if nearing is None or stack is None or not stack.calls:
            return False
        if not nearing.is_here(stack) and (nearing.awaits or stack.depth > nearing.depth):
            return nearing.strayed
        if nearing.is_over(stack):
            del self._of[isolate]
        return True


async def _holding(isolate: Isolate, call: dict[str, Any], place: Place) -> list[int]:
    """Return the breakpoints of a place whose conditions hold there."""
    wanted = list(place.wanted.values())
    code = conditions.program(wanted)
    if code is None:
        return [want.id for want in wanted]
    answer = await isolate.ask(
        "Debugger.evaluateOnCallFrame",
        callFrameId=call["callFrameId"],
        expression=code,
        returnByValue=True,
        silent=True,
    )
    said, isolate.said = isolate.said, []
    if conditions.says_who(wanted):
        return [want.id for want in wanted if want.id in said]
    return [want.id for want in wanted if answer.get("result", {}).get("value")]


def _position(stack: Stack) -> tuple[int, int]:
    location = stack.calls[0]["location"]
    return int(location["lineNumber"]), int(location.get("columnNumber") or 0)
