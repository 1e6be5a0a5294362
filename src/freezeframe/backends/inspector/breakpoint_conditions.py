"""Conditions, hit counts and logpoints as one expression that V8 evaluates where it would stop.

The program does not stop for a hit whose condition is false, so a line that is hit a million times
stays fast. Reports go through a function that the inspector puts into each global scope, in order
with all other events.
"""

from __future__ import annotations

import json
from collections.abc import Sequence, Set

from freezeframe.backends.backend import BreakpointRequest
from freezeframe.backends.breakpoint_hits import (
    HitCondition,
    LogExpression,
    counter_name,
    read_log,
)
from freezeframe.backends.javascript.initialization import guarded

#: the function's name: the inspector creates it, so it exists in every context
BINDING = "__freezeframe__"
#: a property of the function that reports why a condition could not be evaluated, and returns true
FAILED = f"{BINDING}.f"
#: creates that property
FAILED_CODE = (
    f"{FAILED}=(failed,e)=>{{{BINDING}(JSON.stringify({{failed,why:String(e)}}));return true}}"
)


def program(
    requests: Sequence[BreakpointRequest], uninitialized: Set[str] = frozenset()
) -> str | None:
    """Return the condition that these breakpoints share at one location; None to stop always.

    Code that reads one of the *uninitialized* variables fails as the program's own code would
    there.
    """
    if all(w.condition is None and w.hit_count is None and w.log is None for w in requests):
        return None
    if len(requests) == 1 and requests[0].log is None:
        # V8 compiles the condition at every hit, so the usual case must be short.
        return _guarded(requests[0], _test(requests[0]), uninitialized)
    steps = "".join(_step(request, uninitialized) for request in requests)
    # Arrow functions, so that `this` and `arguments` are the program's.
    return (
        f"(()=>{{const __h=[];{steps}"
        f"if(__h.length){BINDING}(JSON.stringify({{hit:__h}}));return __h.length>0}})()"
    )


def reports_hits(requests: Sequence[BreakpointRequest]) -> bool:
    """Return whether the condition reports which of its breakpoints are hit."""
    return program(requests) is not None and not (len(requests) == 1 and requests[0].log is None)


def _test(request: BreakpointRequest) -> str:
    """Return an expression that is true where a breakpoint is hit."""
    condition = f"(\n{request.condition}\n)" if request.condition is not None else ""
    if request.hit_count is None:
        return condition or "true"
    counter = f"{BINDING}.{counter_name(request)}"
    hit_condition = HitCondition.parse(request.hit_count)
    is_hit = hit_condition.expression(f"({counter}=({counter}||0)+1)")
    return f"({condition}&&{is_hit})" if condition else is_hit


def _guarded(request: BreakpointRequest, test: str, uninitialized: Set[str]) -> str:
    """Return a statement of that value; one that fails stops, and reports the reason."""
    if request.condition is None:
        return test
    # Without the agent the reason is not reported.
    test = guarded(test, uninitialized)
    return f"try{{{test}}}catch(e){{{FAILED}?{FAILED}({request.id},e):1}}"


def _step(request: BreakpointRequest, uninitialized: Set[str]) -> str:
    failure = f"JSON.stringify({{failed:{request.id},why:String(__e)}})"
    checked = guarded(f"__p={_test(request)}", uninitialized)
    test = f"let __p;try{{{checked}}}catch(__e){{__p=true;{BINDING}({failure})}}"
    then = f"__h.push({request.id})"
    if request.log is not None:
        text = _message(request.log, uninitialized)
        then = f"{BINDING}(JSON.stringify({{log:{request.id},text:{text}}}))"
    return f"{{{test}if(__p){then};}}"


def _message(text: str, uninitialized: Set[str]) -> str:
    """Return an expression for a logpoint's message."""
    parts = []
    for part in log_parts(text):
        if isinstance(part, str):
            parts.append(json.dumps(part))
            continue
        shown = f"(v=>{BINDING}.log?{BINDING}.log(v):String(v))"
        code = guarded(f"return {shown}(\n{part.code}\n)", uninitialized)
        parts.append(f"(()=>{{try{{{code}}}catch(__e){{return'<'+__e+'>'}}}})()")
    return "+".join(parts) or '""'


def log_parts(message: str) -> list[str | LogExpression]:
    """Return a log message as text and JavaScript expressions. Raises ValueError."""
    return read_log(message, quotes="\"'`")


def codes(request: BreakpointRequest) -> list[str]:
    """Return every expression of the user in a breakpoint, to be checked before it is set."""
    found = [request.condition] if request.condition is not None else []
    if request.log is not None:
        found += [each.code for each in log_parts(request.log) if isinstance(each, LogExpression)]
    return found
