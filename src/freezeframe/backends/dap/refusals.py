"""Breakpoints that an adapter is never asked for, and why."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.backends.backend import BoundBreakpoint, Feature, WantedBreakpoint

from .adapters._descriptor import Adapter


def usable(
    adapter: Adapter, wanted: Sequence[WantedBreakpoint]
) -> tuple[list[WantedBreakpoint], list[BoundBreakpoint]]:
    """Separate breakpoints that can be set from those whose condition or message cannot work."""
    usable, refused = [], []
    check = adapter.breakpoints
    for want in wanted:
        wrong = check.check_condition(want.condition) if want.condition else None
        wrong = wrong or (check.check_log(want.log) if want.log is not None else None)
        if wrong is None:
            usable.append(want)
        else:
            refused.append(BoundBreakpoint(want.id, False, message=wrong, rejected=True))
    return usable, refused


def lacking(
    adapter: Adapter, wanted: Sequence[WantedBreakpoint], feature: Feature
) -> list[BoundBreakpoint]:
    """Refuse breakpoints of a kind that the adapter does not have."""
    message = f"{adapter.name} has no {feature.value}"
    return [BoundBreakpoint(w.id, False, message=message, rejected=True) for w in wanted]


def dead(wanted: WantedBreakpoint) -> BoundBreakpoint:
    """Refuse a breakpoint in a core file."""
    return BoundBreakpoint(wanted.id, False, message="the program is dead", rejected=True)
