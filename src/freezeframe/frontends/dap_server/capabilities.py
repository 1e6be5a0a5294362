"""What an editor can request: of every session, and of one whose debugger is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: what holds for every debugger, or is refused with a reason
_ALWAYS = (
    "supportsConfigurationDoneRequest",
    "supportsFunctionBreakpoints",
    "supportsConditionalBreakpoints",
    "supportsHitConditionalBreakpoints",
    "supportsLogPoints",
    "supportsEvaluateForHovers",
    "supportsSetVariable",
    "supportsSetExpression",
    "supportsRestartRequest",
    "supportsExceptionInfoRequest",
    "supportTerminateDebuggee",
    "supportsTerminateRequest",
    "supportsDelayedStackTraceLoading",
    "supportsCompletionsRequest",
    "supportsCancelRequest",
)
#: feature of a debugger, as `dbg tool` names it → what depends on it
_BY_FEATURE = {
    "watchpoints": ("supportsDataBreakpoints",),
    "memory read": ("supportsReadMemoryRequest",),
    "memory write": ("supportsWriteMemoryRequest",),
    "disassemble": ("supportsDisassembleRequest",),
    "instruction stepping": ("supportsSteppingGranularity",),
    "reverse execution": ("supportsStepBack",),
    "restart of a frame": ("supportsRestartFrame",),
    "address breakpoints": ("supportsInstructionBreakpoints",),
}


def general() -> dict[str, Any]:
    """Return the capabilities before a debugger is known."""
    return {**dict.fromkeys(_ALWAYS, True), "exceptionBreakpointFilters": []}


def of_session(can: Iterable[str], filters: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the capabilities that depend on the debugger and its exception filters."""
    supported = set(can)
    found: dict[str, Any] = {
        name: feature in supported for feature, names in _BY_FEATURE.items() for name in names
    }
    found["exceptionBreakpointFilters"] = [
        {
            "filter": each["name"],
            "label": each.get("label") or each["name"],
            "default": bool(each.get("on")),
            "supportsCondition": "exception filters by type" in supported,
        }
        for each in filters
    ]
    return found
