"""Frames and scopes as V8 gives them, in the user's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from freezeframe.backends.backend import RawFrame, RawScope
from freezeframe.model.values import ScopeKind

from . import grammar
from .scripts import Scripts, offset_of, return_before
from .values import RETURNED, Held, Values

#: receivers that say nothing about a function
_NO_CLASS = frozenset({"Object", "global", "Window", "Function", "process", "Module", "", "Array"})
_INNER = frozenset({"local", "block", "catch", "eval", "with"})
MODULE = "<module>"
ANONYMOUS = "<anonymous>"
#: where a program waits that has nothing to do
IDLE = "<event loop>"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an error's stack, in the user's terms."""

    function: str
    path: str
    line: int
    column: int
    library: bool


@dataclass(slots=True)
class Stack:
    """The frames of one stop of one isolate."""

    calls: list[dict[str, Any]]
    #: frames of those who started what runs now, long gone: (why, call)
    callers: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    #: the numbers of all of them
    ids: list[int] = field(default_factory=list)
    #: the user's code does not run at all
    idle: bool = False
    #: of an idle one: what its event loop waits for
    waits: str | None = None
    #: frames that are gone, and that only an error's stack tells of
    told: Sequence[Line] = ()
    #: the innermost function is about to return
    returning: bool = False

    @classmethod
    def of(cls, params: dict[str, Any], number: Callable[[], int]) -> Stack:
        stack = cls(list(params.get("callFrames") or ()))
        trace = params.get("asyncStackTrace")
        while trace:
            why = str(trace.get("description") or "async")
            stack.callers += [(why, call) for call in trace.get("callFrames") or ()]
            trace = trace.get("parent")
        stack.returning = bool(stack.calls) and "returnValue" in stack.calls[0]
        stack.ids = [number() for _ in range(max(1, len(stack.calls) + len(stack.callers)))]
        return stack

    @property
    def depth(self) -> int:
        return len(self.calls)

    def call(self, id: int) -> dict[str, Any] | None:
        """Return the live frame of that number; None for one that is gone or is none."""
        if id not in self.ids:
            return None
        index = self.ids.index(id)
        return self.calls[index] if index < len(self.calls) else None


def raw_frames(stack: Stack, scripts: Scripts) -> list[RawFrame]:
    """Return every frame, innermost first."""
    if stack.idle:
        return [RawFrame(stack.ids[0], IDLE, module="idle", library=True, waits=stack.waits)]
    if stack.told:
        return [
            RawFrame(id, each.function, each.path, each.line, each.column, library=each.library)
            for id, each in zip(stack.ids, stack.told, strict=False)
        ]
    found = [
        _frame(id, call, call["location"], scripts)
        for id, call in zip(stack.ids, stack.calls, strict=False)
    ]
    gone = stack.ids[len(stack.calls) :]
    for id, (_, call) in zip(gone, stack.callers, strict=False):
        frame = _frame(id, call, call, scripts)
        found.append(_renamed(frame, f"async {frame.function}"))
    return found


def _renamed(frame: RawFrame, function: str) -> RawFrame:
    return RawFrame(
        frame.id,
        function,
        frame.path,
        frame.line,
        frame.column,
        library=frame.library,
        source_reference=frame.source_reference,
    )


def _frame(id: int, call: dict[str, Any], location: dict[str, Any], scripts: Scripts) -> RawFrame:
    script = scripts.get(str(location["scriptId"]))
    spot = scripts.spot(location)
    name = function_name(call)
    if script is None:
        return RawFrame(id, name, library=True)
    path = spot.path
    reference = scripts.reference(script, spot)
    if path is None and script.url:
        path = script.url  # node:internal/timers: no file, but a name and a text
    return RawFrame(
        id,
        name,
        path,
        spot.line,
        spot.column,
        library=script.library,
        source_reference=reference,
    )


def function_name(call: dict[str, Any]) -> str:
    """Return what V8 calls a function, its class before it."""
    name = str(call.get("functionName") or "")
    if not name:
        start = call.get("functionLocation") or {}
        at_start = start.get("lineNumber") == 0 and not start.get("columnNumber")
        return MODULE if at_start and start else ANONYMOUS
    receiver = call.get("this") or {}
    kind = str(receiver.get("className") or "")
    if receiver.get("type") != "object" or kind in _NO_CLASS or "." in name or " " in name:
        return name
    return f"{kind}.{name}"


def function_of(call: dict[str, Any]) -> object:
    """Return what tells a function from all others."""
    start = call.get("functionLocation") or {}
    place = tuple(start.get(key) for key in ("scriptId", "lineNumber", "columnNumber"))
    return (function_name(call), *place)


async def find_return(stack: Stack, scripts: Scripts) -> None:
    """Put the end of a `return` where it stands: V8 gives it the place of what follows."""
    location = stack.calls[0]["location"] if stack.returning else {}
    script = scripts.get(str(location.get("scriptId")))
    column = int(location.get("columnNumber") or 0)
    if script is None or column == 0 or scripts.map_of(script) is None:
        return
    text = await scripts.text_of(script)
    offset = offset_of(text, int(location["lineNumber"]), column)
    # A function that just ends does so at its brace; so does `return r}`, as minifiers write it.
    ends = text[offset - 1 : offset] == ";" and text[offset : offset + 1] != "}"
    if ends or return_before(text, offset) is not None:
        stack.calls[0]["location"] = {**location, "columnNumber": column - 1}


async def is_debugger(stack: Stack | None, scripts: Scripts) -> bool:
    """Whether a stack stands at a `debugger` statement; True where its text is not there."""
    location = stack.calls[0]["location"] if stack is not None and stack.calls else {}
    script = scripts.get(str(location.get("scriptId")))
    if script is None:
        return True
    text = await scripts.text_of(script)
    at = offset_of(text, int(location["lineNumber"]), int(location.get("columnNumber") or 0))
    return text.startswith("debugger", at)


def raw_scopes(call: dict[str, Any], values: Values, names: Mapping[str, str]) -> list[RawScope]:
    """Return the scopes of a frame: its own variables, those around it, the module's.

    *names* are those of the source, by the names that the running code has.
    """
    inner: list[dict[str, Any]] = []
    around: list[dict[str, Any]] = []
    module: list[dict[str, Any]] = []
    outer: list[dict[str, Any]] = []
    is_module = function_name(call) == MODULE
    for scope in call.get("scopeChain") or ():
        kind = scope["type"]
        if kind in _INNER and not around and not module:
            inner.append(scope)
        elif kind in ("module", "script") or (kind == "closure" and _is_wrapper(scope)):
            module.append(scope)
        else:
            (outer if kind == "global" else around).append(scope)
    if is_module:
        # What a module defines at its top is what stands there.
        inner += [each for each in module if each["type"] == "module"]
        module = module or inner
    base = Held(call=str(call.get("callFrameId") or ""), module=is_module, names=names)
    held = replace(base, **_objects(inner), extra=tuple(_extra(call)))
    found = [RawScope("Locals", ScopeKind.LOCALS, values.hold(held))]
    hiding = _named(inner)
    for scope in around:
        name = str(scope.get("name") or "")
        label = f"Closure of {name}" if name else "Closure"
        held = replace(base, **_objects([scope]), outer=True, inner=hiding)
        found.append(RawScope(label, ScopeKind.LOCALS, values.hold(held)))
        hiding += _named([scope])
    if module:
        hiding = () if is_module else hiding
        held = replace(base, **_objects(module), module=True, outer=True, inner=hiding)
        found.append(RawScope("Module", ScopeKind.GLOBALS, values.hold(held)))
    if outer:
        held = Held(**_objects(outer))
        found.append(RawScope("Global", ScopeKind.OTHER, values.hold(held), expensive=True))
    return found


def _objects(scopes: list[dict[str, Any]]) -> dict[str, Any]:
    named = _named(scopes)
    return {"scopes": tuple(each for each, _ in named), "keys": tuple(key for _, key in named)}


def _named(scopes: list[dict[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Return for each scope V8's object, and where it stands: what it names is the same there."""
    return tuple((str(scope["object"]["objectId"]), _place(scope)) for scope in scopes)


def _place(scope: dict[str, Any]) -> str:
    start, end = scope.get("startLocation"), scope.get("endLocation")
    # What is evaluated adds to these while the program runs.
    if not start or not end or scope["type"] in ("eval", "with", "script", "global"):
        return ""
    numbers = [place[key] for place in (start, end) for key in ("lineNumber", "columnNumber")]
    return f"{start['scriptId']}:{scope['type']}:{numbers}"


def _extra(call: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    extra = []
    if "returnValue" in call:
        extra.append((RETURNED, call["returnValue"]))
    receiver = call.get("this") or {}
    if receiver.get("type") == "object" and receiver.get("className") not in ("global", "Window"):
        # The `this` of a module of CommonJS is its exports, which are there by name.
        if function_name(call) != MODULE and receiver.get("subtype") != "null":
            extra.append(("this", receiver))
    elif receiver.get("type") == "function":
        extra.append(("this", receiver))
    return extra


def _is_wrapper(scope: dict[str, Any]) -> bool:
    """The function that the runtime puts around every module of CommonJS."""
    start = scope.get("startLocation") or {}
    return start.get("lineNumber") == 0 and not start.get("columnNumber")


async def argument_names(call: dict[str, Any], scripts: Scripts) -> list[str] | None:
    """Return the names of a function's arguments, as its text has them."""
    start = call.get("functionLocation")
    script = scripts.get(str(start["scriptId"])) if start else None
    if start is None or script is None or function_name(call) == MODULE:
        return []
    text = await scripts.text_of(script)
    offset = offset_of(text, int(start["lineNumber"]), int(start.get("columnNumber") or 0))
    return grammar.parameters(text, offset)
