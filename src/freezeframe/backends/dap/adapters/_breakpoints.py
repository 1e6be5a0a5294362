"""Breakpoints in the form in which the adapter gets them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import BreakpointRequest
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.locations import Location


@dataclass(frozen=True, slots=True)
class AdapterBreakpoint:
    """A breakpoint as sent to the adapter; the backend adds the line or the function name."""

    ids: tuple[int, ...]
    request: BreakpointRequest
    fields: dict[str, Any]


def as_dap(
    requests: Sequence[BreakpointRequest], log_channel: str | None
) -> list[AdapterBreakpoint]:
    """Return one DAP entry per breakpoint, with condition, hit condition and log message."""
    entries = []
    for request in requests:
        fields: dict[str, Any] = {}
        if request.condition is not None:
            fields["condition"] = request.condition
        if request.hit_count is not None:
            fields["hitCondition"] = request.hit_count
        if request.log is not None:
            fields["logMessage"] = request.log
        entries.append(AdapterBreakpoint((request.id,), request, fields))
    return entries


def by_location(entries: Sequence[AdapterBreakpoint]) -> Iterable[list[AdapterBreakpoint]]:
    """Return the breakpoints grouped by location, in the order of each group's first."""
    groups: dict[Location, list[AdapterBreakpoint]] = {}
    for entry in entries:
        groups.setdefault(entry.request.location, []).append(entry)
    return groups.values()


def merge(group: Sequence[AdapterBreakpoint]) -> AdapterBreakpoint:
    """Return one breakpoint that stops wherever any breakpoint of *group* would."""
    if len(group) == 1:
        return group[0]
    ids = tuple(id for entry in group for id in entry.ids)
    conditions = [entry.request.condition for entry in group]
    fields: dict[str, Any] = {}
    if all(conditions):
        fields["condition"] = " || ".join(f"({each})" for each in conditions)
    return AdapterBreakpoint(ids, replace(group[0].request, condition=None, log=None), fields)
