"""Breakpoints that are rejected without a request to the adapter."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.backends.backend import BoundBreakpoint, BreakpointRequest, Feature

from .adapters._descriptor import Adapter


def usable(
    adapter: Adapter, requests: Sequence[BreakpointRequest]
) -> tuple[list[BreakpointRequest], list[BoundBreakpoint]]:
    """Separate breakpoints that can be set from those whose condition or message cannot work."""
    usable, refused = [], []
    check = adapter.breakpoints
    for request in requests:
        problem = check.check_condition(request.condition) if request.condition else None
        problem = problem or (check.check_log(request.log) if request.log is not None else None)
        if problem is None:
            usable.append(request)
        else:
            refused.append(BoundBreakpoint(request.id, False, message=problem, rejected=True))
    return usable, refused


def lacking(
    adapter: Adapter, requests: Sequence[BreakpointRequest], feature: Feature
) -> list[BoundBreakpoint]:
    """Refuse breakpoints of a kind that the adapter does not have."""
    message = f"{adapter.name} has no {feature.value}"
    return [BoundBreakpoint(r.id, False, message=message, rejected=True) for r in requests]


def in_core_file(request: BreakpointRequest) -> BoundBreakpoint:
    """Refuse a breakpoint in a core file."""
    return BoundBreakpoint(request.id, False, message="the program is dead", rejected=True)
