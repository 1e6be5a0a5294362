"""Reach statements at which V8 cannot set a breakpoint.

V8 identifies a location by its position alone, and the end of a `return` has the position of what
follows. In code without blanks, as loaders and bundlers write it, a breakpoint at `f(n)` in
`if(n<1)return;f(n)` would stop at the return and never at the call. Such a statement is reached by
steps from the `if` before it, at which V8 does stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import breakpoint_conditions
from .breakpoints import V8Breakpoint
from .frames import V8Stack, function_of
from .isolate import Isolate

#: how an isolate is resumed that has no target
RESUME = "Debugger.resume"
#: steps after which a target is given up
_MAX_STEPS = 2000


@dataclass(slots=True)
class StepTarget:
    """Breakpoints in one call of a function that one isolate steps to."""

    breakpoints: list[V8Breakpoint]
    depth: int
    function: object
    awaits: bool
    tries: int = 0
    #: it was interrupted inside a call, and is stepping out of it
    stepping_back: bool = False

    def is_here(self, stack: V8Stack) -> bool:
        same = function_of(stack.calls[0]) == self.function
        # After an await the function continues on another stack.
        return same and (stack.depth == self.depth or self.awaits)

    def is_over(self, stack: V8Stack) -> bool:
        if not self.breakpoints or not self.is_here(stack) or stack.returning:
            return True
        last = max(
            breakpoint.unbindable.end
            for breakpoint in self.breakpoints
            if breakpoint.unbindable is not None
        )
        return self.tries > _MAX_STEPS or _position(stack) >= last


class StepTargets:
    """The targets of all isolates of one program."""

    def __init__(self) -> None:
        self._targets: dict[Isolate, StepTarget] = {}

    def forget(self, isolate: Isolate) -> None:
        self._targets.pop(isolate, None)

    def note(self, isolate: Isolate, hits: list[str]) -> None:
        """Start stepping if a pause of V8 is a guard of unbindable breakpoints."""
        breakpoints, stack = isolate.breakpoints.needing_steps(hits), isolate.stack
        if breakpoints and stack is not None and stack.calls:
            function = function_of(stack.calls[0])
            awaits = any(
                breakpoint.unbindable is not None and breakpoint.unbindable.awaits
                for breakpoint in breakpoints
            )
            self._targets[isolate] = StepTarget(breakpoints, stack.depth, function, awaits)

    def resume_method(self, isolate: Isolate) -> str:
        """Return the method that resumes an isolate which the user does not step."""
        target, stack = self._targets.get(isolate), isolate.stack
        if target is None or stack is None or not stack.calls:
            return RESUME
        if target.awaits and not target.is_here(stack):
            return RESUME  # V8's step outlasts the await
        target.tries += 1
        target.stepping_back = stack.depth > target.depth and not target.is_here(stack)
        if not target.stepping_back and target.is_over(stack):
            del self._targets[isolate]
            return RESUME
        return "Debugger.stepOut" if target.stepping_back else "Debugger.stepOver"

    async def arrived(self, isolate: Isolate) -> list[int]:
        """Return the target breakpoints that a pause has reached."""
        target, stack = self._targets.get(isolate), isolate.stack
        if target is None or stack is None or not stack.calls or stack.returning:
            return []
        if not target.is_here(stack):
            return []
        at, found = _position(stack), []
        for breakpoint in list(target.breakpoints):
            if (
                breakpoint.unbindable is not None
                and breakpoint.unbindable.start <= at < breakpoint.unbindable.end
            ):
                target.breakpoints.remove(breakpoint)
                found += await _hit_requests(isolate, stack.calls[0], breakpoint)
        return sorted(set(found), key=lambda id: (id < 0, id))

    def is_on_the_way(self, isolate: Isolate) -> bool:
        """Return whether an otherwise meaningless pause is a step towards a target."""
        target, stack = self._targets.get(isolate), isolate.stack
        if target is None or stack is None or not stack.calls:
            return False
        if not target.is_here(stack) and (target.awaits or stack.depth > target.depth):
            return target.stepping_back
        if target.is_over(stack):
            del self._targets[isolate]
        return True


async def _hit_requests(
    isolate: Isolate, call: dict[str, Any], breakpoint: V8Breakpoint
) -> list[int]:
    """Return the requests of a breakpoint whose conditions hold."""
    requests = list(breakpoint.requests.values())
    code = breakpoint_conditions.program(requests)
    if code is None:
        return [request.id for request in requests]
    answer = await isolate.request(
        "Debugger.evaluateOnCallFrame",
        callFrameId=call["callFrameId"],
        expression=code,
        returnByValue=True,
        silent=True,
    )
    reported_hits, isolate.reported_hits = isolate.reported_hits, []
    if breakpoint_conditions.reports_hits(requests):
        return [request.id for request in requests if request.id in reported_hits]
    return [request.id for request in requests if answer.get("result", {}).get("value")]


def _position(stack: V8Stack) -> tuple[int, int]:
    location = stack.calls[0]["location"]
    return int(location["lineNumber"]), int(location.get("columnNumber") or 0)
