"""Convert DAP messages to our types. Pure functions: dictionaries in, values out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.backends.backend import (
    BoundBreakpoint,
    Feature,
    RawFrame,
    RawScope,
    RawValue,
    Stopped,
    Target,
)
from freezeframe.model.answers import Instruction
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, StopReason, Thread
from freezeframe.model.values import ScopeKind

from .adapters._descriptor import Adapter, AdapterBreakpoint

Body = Mapping[str, Any]

_REASONS = {
    "entry": StopReason.ENTRY,
    "breakpoint": StopReason.BREAKPOINT,
    "function breakpoint": StopReason.BREAKPOINT,
    "instruction breakpoint": StopReason.BREAKPOINT,
    "data breakpoint": StopReason.WATCHPOINT,
    "step": StopReason.STEP,
    "pause": StopReason.PAUSE,
    "exception": StopReason.EXCEPTION,
    "goto": StopReason.JUMP,
    "attach": StopReason.ATTACH,
    "signal": StopReason.SIGNAL,
}

#: Reasons for which the debugger's description adds nothing.
_PLAIN = frozenset({StopReason.BREAKPOINT, StopReason.STEP, StopReason.ENTRY, StopReason.PAUSE})

_SCOPE_HINTS = {
    "arguments": ScopeKind.ARGUMENTS,
    "locals": ScopeKind.LOCALS,
    "globals": ScopeKind.GLOBALS,
    "registers": ScopeKind.REGISTERS,
    "returnValue": ScopeKind.LOCALS,
}
_SCOPE_NAMES = {
    "local": ScopeKind.LOCALS,
    "arg": ScopeKind.ARGUMENTS,
    "global": ScopeKind.GLOBALS,
    "static": ScopeKind.GLOBALS,
    "register": ScopeKind.REGISTERS,
}

_FEATURES = {
    "supportsFunctionBreakpoints": Feature.FUNCTION_BREAKPOINTS,
    "supportsConditionalBreakpoints": Feature.CONDITIONS,
    "supportsHitConditionalBreakpoints": Feature.HIT_COUNTS,
    "supportsLogPoints": Feature.LOGPOINTS,
    "supportsInstructionBreakpoints": Feature.ADDRESS_BREAKPOINTS,
    "supportsExceptionFilterOptions": Feature.EXCEPTION_TYPES,
    "supportsDataBreakpoints": Feature.WATCHPOINTS,
    "supportsSetVariable": Feature.SET,
    "supportsSetExpression": Feature.SET,
    "supportsGotoTargetsRequest": Feature.JUMP,
    "supportsReadMemoryRequest": Feature.MEMORY_READ,
    "supportsWriteMemoryRequest": Feature.MEMORY_WRITE,
    "supportsDisassembleRequest": Feature.DISASSEMBLE,
    "supportsSteppingGranularity": Feature.INSTRUCTION_STEP,
    "supportsStepBack": Feature.STEP_BACK,
    "supportsSingleThreadExecutionRequests": Feature.SINGLE_THREAD,
    "supportsRestartRequest": Feature.RESTART,
    "supportsRestartFrame": Feature.RESTART_FRAME,
}
#: Features that every DAP adapter has, or that we emulate.
_ALWAYS = frozenset(
    {Feature.PAUSE, Feature.DETACH, Feature.RAW, Feature.HIT_COUNTS, Feature.LOGPOINTS}
)


def declared(capabilities: Body, adapter: Adapter) -> frozenset[Feature]:
    """Return the features an adapter declares, by its capabilities or in its descriptor."""
    found = {feature for flag, feature in _FEATURES.items() if capabilities.get(flag)}
    return frozenset((found | adapter.extra_features) - adapter.lacks)


def features(capabilities: Body, adapter: Adapter) -> frozenset[Feature]:
    """Return the features of the backend: the adapter's, and those emulated for it."""
    found = set(declared(capabilities, adapter))
    if capabilities.get("exceptionBreakpointFilters"):
        found.add(Feature.EXCEPTIONS)
    if adapter.exceptions.narrow is not None or adapter.exceptions.examines:
        found.add(Feature.EXCEPTION_TYPES)
    if adapter.raw.save_core is not None:
        found.add(Feature.SAVE_CORE)
    if adapter.raw.force_return is not None:
        found.add(Feature.FORCE_RETURN)
    return frozenset((found | _ALWAYS | adapter.extra_features) - adapter.lacks)


def filters(capabilities: Body) -> tuple[ExceptionFilter, ...]:
    return tuple(
        ExceptionFilter(
            name=each["filter"], label=each.get("label", ""), default=bool(each.get("default"))
        )
        for each in capabilities.get("exceptionBreakpointFilters") or ()
    )


def stopped(body: Body, ids: Mapping[int, tuple[int, ...]]) -> Stopped:
    reason = _REASONS.get(str(body.get("reason", "")), StopReason.OTHER)
    description = body.get("description")
    if reason is StopReason.OTHER and not description:
        description = body.get("reason")
    if reason in _PLAIN:
        # "breakpoint 1.1", "step over": repeats the reason.
        description = None
    # gdb 16 repeats the breakpoint for each location of a line.
    hit_ids = dict.fromkeys(body.get("hitBreakpointIds") or ())
    hit = tuple(id for i in hit_ids for id in ids.get(i, ()))
    # threadId may be 0 (js-debug) or absent (delve): no truthiness here.
    return Stopped(
        reason=reason,
        thread=body.get("threadId"),
        description=description,
        text=body.get("text"),
        breakpoints=hit,
        all_threads=bool(body.get("allThreadsStopped", False)),
    )


def thread(body: Body, adapter: Adapter) -> Thread:
    return Thread(int(body["id"]), adapter.frames.thread_name(body.get("name") or ""))


def frame(
    body: Body, adapter: Adapter, target: Target, modules: Mapping[str, str] | None = None
) -> RawFrame:
    """Return a frame; *modules* maps module ids to names."""
    source = body.get("source") or {}
    module = str(body["moduleId"]) if body.get("moduleId") is not None else None
    path = source.get("path")
    line = body.get("line") or None
    raw = RawFrame(
        id=body["id"],
        function=adapter.frames.function_name(body.get("name") or "?"),
        path=path,
        line=line,
        column=body.get("column") or None,
        module=(modules or {}).get(module, module) if module is not None else None,
        address=body.get("instructionPointerReference"),
        library=body.get("presentationHint") == "subtle"
        or source.get("presentationHint") == "deemphasize"
        or (path is None and adapter.frames.sourceless_is_library)
        or (path is not None and adapter.frames.is_library(path, target)),
        source_reference=source.get("sourceReference") or 0,
    )
    return adapter.frames.read(raw, body)


def scope(body: Body) -> RawScope:
    name = body.get("name", "")
    hint = body.get("presentationHint")
    kind = _SCOPE_HINTS.get(hint) if hint else None
    if kind is None:
        lower = name.lower()
        kind = next((k for part, k in _SCOPE_NAMES.items() if part in lower), ScopeKind.OTHER)
    return RawScope(
        name=name,
        kind=kind,
        ref=body["variablesReference"],
        expensive=bool(body.get("expensive")),
        count=_count(body),
    )


def value(body: Body, adapter: Adapter, name: str | None = None) -> RawValue:
    """Return a variable, or the result of an evaluation under *name*."""
    text = body.get("value") if "value" in body else body.get("result", "")
    label = name if name is not None else body.get("name", "")
    returned = next((p for p in adapter.values.returned_prefixes if label.startswith(p)), None)
    kind = body.get("type") or None
    raw = RawValue(
        name=label if returned is None else label.removeprefix(returned) or "returned",
        text=text or "",
        type=kind,
        ref=body.get("variablesReference") or 0,
        count=_count(body),
        expression=body.get("evaluateName") or name,
        address=body.get("memoryReference"),
        opaque=adapter.values.is_opaque(text or "", kind),
        returned=returned is not None,
    )
    return adapter.values.enrich(raw, body)


def _count(body: Body) -> int | None:
    named, indexed = body.get("namedVariables"), body.get("indexedVariables")
    return None if named is None and indexed is None else (named or 0) + (indexed or 0)


def bound(
    entries: Sequence[AdapterBreakpoint],
    body: Body,
    adapter: Adapter,
    ids: dict[int, tuple[int, ...]],
) -> list[BoundBreakpoint]:
    """Return how each requested breakpoint was bound; adds the adapter's ids to *ids*.

    An adapter may answer with fewer entries than requested (js-debug, for breakpoints that it
    has already): the missing ones count as not verified.
    """
    answers = body.get("breakpoints") or []
    result = []
    for index, entry in enumerate(entries):
        answer = answers[index] if index < len(answers) else {}
        if answer.get("id") is not None:
            ids[answer["id"]] = entry.ids
        for id in entry.ids:
            result.append(adapter.breakpoints.check_bound(entry.request, bound_one(id, answer)))
    return result


def bound_one(id: int, answer: Body) -> BoundBreakpoint:
    return BoundBreakpoint(
        id=id,
        verified=bool(answer.get("verified")),
        path=(answer.get("source") or {}).get("path"),
        line=answer.get("line"),
        message=answer.get("message"),
        rejected=answer.get("reason") == "failed",
    )


def exception(body: Body, adapter: Adapter) -> ExceptionInfo:
    if adapter.exceptions.read is not None:
        return adapter.exceptions.read(body)
    details = body.get("details") or {}
    return ExceptionInfo(
        type=details.get("fullTypeName") or body.get("exceptionId") or "exception",
        message=details.get("message") or body.get("description") or "",
        raw_traceback=details.get("stackTrace") or "",
        mode=body.get("breakMode"),
    )


def instructions(bodies: Sequence[Body], current: str | None) -> list[Instruction]:
    """Return instructions; one without a location has that of the one before, as DAP specifies."""
    pc = int(current, 0) if current is not None else None
    found: list[Instruction] = []
    path: str | None = None
    line: int | None = None
    for body in bodies:
        if body.get("presentationHint") == "invalid" or body["address"].startswith("-"):
            continue
        location = body.get("location") or {}
        path = location.get("path") or path
        line = body.get("line") or line
        address = int(body["address"], 0)
        symbol = (body.get("symbol") or "").strip() or None
        text = " ".join(body.get("instruction", "").split())
        found.append(
            Instruction(
                address=f"{address:#x}",
                text=text.removesuffix(f" ; {symbol}"),
                bytes=body.get("instructionBytes"),
                symbol=symbol,
                path=path,
                line=line,
                current=address == pc,
            )
        )
    return found
