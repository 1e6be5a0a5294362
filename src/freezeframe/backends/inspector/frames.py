"""Convert V8's frames and scopes to those of the debugger interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from freezeframe import files
from freezeframe.backends.backend import RawFrame, RawScope
from freezeframe.backends.javascript import js_scanner
from freezeframe.model.values import ScopeKind

from .scripts import Scripts, offset_of, return_before
from .sourcemaps import SourceMap
from .variables import RETURNED, Held, V8Variables

#: receivers that say nothing about a function
_NO_CLASS = frozenset({"Object", "global", "Window", "Function", "process", "Module", "", "Array"})
_INNER = frozenset({"local", "block", "catch", "eval", "with"})
MODULE = "<module>"
ANONYMOUS = "<anonymous>"
#: the frame of a program that waits in its event loop
IDLE = "<event loop>"
#: size limit of a script that is searched for functions, in characters
_MAX_SIZE = 1_000_000


@dataclass(frozen=True, slots=True)
class StackLine:
    """One line of an error's stack, mapped to its source."""

    function: str
    path: str
    line: int
    column: int
    library: bool


@dataclass(slots=True)
class V8Stack:
    """The frames of one stop of one isolate."""

    calls: list[dict[str, Any]]
    #: async callers of the running code, which have returned: (why, call)
    callers: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    #: the ids of all frames
    ids: list[int] = field(default_factory=list)
    #: whether no code of the user runs
    idle: bool = False
    #: of an idle isolate: what its event loop waits for
    waits: str | None = None
    #: frames that have unwound, and that only an error's stack lists
    unwound: Sequence[StackLine] = ()
    #: whether the innermost function is about to return
    returning: bool = False
    #: what it returns, where what the function before it returned is shown in its frame
    own_return: dict[str, Any] | None = None

    @classmethod
    def of(cls, params: dict[str, Any], number: Callable[[], int]) -> V8Stack:
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
        """Return the live frame of that id; None for one that has returned or does not exist."""
        if id not in self.ids:
            return None
        index = self.ids.index(id)
        return self.calls[index] if index < len(self.calls) else None


def raw_frames(stack: V8Stack, scripts: Scripts) -> list[RawFrame]:
    """Return every frame, innermost first."""
    if stack.idle:
        return [RawFrame(stack.ids[0], IDLE, module="idle", library=True, waits=stack.waits)]
    if stack.unwound:
        return [
            RawFrame(id, each.function, each.path, each.line, each.column, library=each.library)
            for id, each in zip(stack.ids, stack.unwound, strict=False)
        ]
    found = [
        _frame(id, call, call["location"], scripts)
        for id, call in zip(stack.ids, stack.calls, strict=False)
    ]
    caller_ids = stack.ids[len(stack.calls) :]
    for id, (_, call) in zip(caller_ids, stack.callers, strict=False):
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
    position = scripts.position(location)
    name = function_name(call)
    if script is None or scripts.is_added(script, location):
        return RawFrame(id, name, library=True)
    start = call.get("functionLocation")
    if name == ANONYMOUS and start and scripts.is_added(script, start):
        # The function that a compiler puts around a module, such as that of tsx.
        name = MODULE
    written = _source_name(call, scripts.map_of(script))
    if written is not None:
        name = name.removesuffix(str(call["functionName"])) + written
    path = position.path
    reference = scripts.reference(script, position)
    if path is None and script.url:
        path = script.url  # node:internal/timers: not a file, but it has a name and a text
    return RawFrame(
        id,
        name,
        path,
        position.line,
        position.column,
        library=script.library,
        source_reference=reference,
    )


def _source_name(call: dict[str, Any], source_map: SourceMap | None) -> str | None:
    """Return the name that the source has for a minified function; None if it is not known."""
    start, name = call.get("functionLocation"), str(call.get("functionName") or "")
    if source_map is None or not start or not name:
        return None
    line, column = int(start["lineNumber"]), int(start.get("columnNumber") or 0)
    # V8 names where the parameters begin: behind the name, or behind `name=`.
    for gap in (0, 1):
        found = source_map.names.get((line, column - len(name) - gap))
        if found is not None:
            return found
    return None


def function_name(call: dict[str, Any]) -> str:
    """Return V8's name of a function, with its class before it."""
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
    """Return a key that identifies a function."""
    start = call.get("functionLocation") or {}
    location = tuple(start.get(key) for key in ("scriptId", "lineNumber", "columnNumber"))
    return (function_name(call), *location)


async def is_in_module(
    location: tuple[str, int, int], scripts: Scripts, *, is_source: bool = False
) -> bool:
    """Return whether a location is in the body of a module, and in no function of its text.

    *location* is a path, a line and a column (from 0): of a script, or of a source that a script
    was generated from. False where the text is not available.
    """
    path, line, column = location
    loaded = [] if is_source else scripts.at_path(path)[-1:]
    try:
        text = await scripts.text_of(loaded[0]) if loaded else files.read_text(path)
    except OSError:
        return False
    if len(text) > _MAX_SIZE:
        return False
    return js_scanner.innermost(text, offset_of(text, line, column)) is None


async def find_modules(stack: V8Stack, scripts: Scripts) -> None:
    """Find module bodies among the unnamed async callers, for which V8 has no function location."""
    for _, call in stack.callers:
        script = scripts.get(str(call.get("scriptId")))
        if call.get("functionName") or script is None or script.library or script.path is None:
            continue
        location = (script.path, int(call["lineNumber"]), int(call.get("columnNumber") or 0))
        if await is_in_module(location, scripts):
            call["functionLocation"] = {"scriptId": script.id, "lineNumber": 0, "columnNumber": 0}


async def find_return(stack: V8Stack, scripts: Scripts) -> None:
    """Move the end of a `return` back to the statement: V8 has it at the position of what
    follows."""
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


def has_entered(stack: V8Stack, scripts: Scripts, depth: int) -> bool:
    """Return whether a function of the user is among the frames deeper than *depth*."""
    entered = stack.calls[: max(0, stack.depth - depth)]
    found = [scripts.get(str(call["location"]["scriptId"])) for call in entered]
    return any(script is not None and not script.library for script in found)


async def is_debugger(stack: V8Stack | None, scripts: Scripts) -> bool:
    """Return whether a stack is at a `debugger` statement; True where its text is not available."""
    location = stack.calls[0]["location"] if stack is not None and stack.calls else {}
    script = scripts.get(str(location.get("scriptId")))
    if script is None:
        return True
    text = await scripts.text_of(script)
    at = offset_of(text, int(location["lineNumber"]), int(location.get("columnNumber") or 0))
    return text.startswith("debugger", at)


def raw_scopes(
    call: dict[str, Any],
    values: V8Variables,
    names: Mapping[str, str],
    uninitialized: frozenset[str],
) -> list[RawScope]:
    """Return the scopes of a frame: its own variables, those around it, the module's.

    *names* are those of the source, by the names of the running code; *uninitialized* are the
    frame's variables that it cannot read yet.
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
        # The top-level variables of a module are the locals of its frame.
        inner += [each for each in module if each["type"] == "module"]
        module = module or inner
    base = Held(call=str(call.get("callFrameId") or ""), module=is_module, names=names)
    frame_base = replace(base, uninitialized=uninitialized)
    held = replace(frame_base, **_objects(inner), extra=tuple(_extra(call)))
    found = [RawScope("Locals", ScopeKind.LOCALS, values.hold(held))]
    inner_names = _named(inner)
    for scope in around:
        name = str(scope.get("name") or "")
        label = f"Closure of {name}" if name else "Closure"
        held = replace(base, **_objects([scope]), outer=True, inner=inner_names)
        found.append(RawScope(label, ScopeKind.LOCALS, values.hold(held)))
        inner_names += _named([scope])
    if module:
        inner_names = () if is_module else inner_names
        held = replace(
            frame_base if is_module else base,
            **_objects(module),
            module=True,
            outer=True,
            inner=inner_names,
        )
        found.append(RawScope("Module", ScopeKind.GLOBALS, values.hold(held)))
    if outer:
        held = Held(**_objects(outer))
        found.append(RawScope("Global", ScopeKind.OTHER, values.hold(held), expensive=True))
    return found


def _objects(scopes: list[dict[str, Any]]) -> dict[str, Any]:
    named = _named(scopes)
    return {"scopes": tuple(each for each, _ in named), "keys": tuple(key for _, key in named)}


def _named(scopes: list[dict[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Return the object of each scope, and a key of its position: it names the same variables
    there."""
    return tuple((str(scope["object"]["objectId"]), _position_key(scope)) for scope in scopes)


def _position_key(scope: dict[str, Any]) -> str:
    start, end = scope.get("startLocation"), scope.get("endLocation")
    # Evaluated code adds variables to these while the program runs.
    if not start or not end or scope["type"] in ("eval", "with", "script", "global"):
        return ""
    numbers = [location[key] for location in (start, end) for key in ("lineNumber", "columnNumber")]
    return f"{start['scriptId']}:{scope['type']}:{numbers}"


def _extra(call: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    extra = []
    if "returnValue" in call:
        extra.append((RETURNED, call["returnValue"]))
    receiver = call.get("this") or {}
    if receiver.get("type") == "object" and receiver.get("className") not in ("global", "Window"):
        # The `this` of a CommonJS module is its exports, which are listed by name.
        if function_name(call) != MODULE and receiver.get("subtype") != "null":
            extra.append(("this", receiver))
    elif receiver.get("type") == "function":
        extra.append(("this", receiver))
    return extra


def _is_wrapper(scope: dict[str, Any]) -> bool:
    """Return whether a scope is the function that the runtime puts around every CommonJS module."""
    start = scope.get("startLocation") or {}
    return start.get("lineNumber") == 0 and not start.get("columnNumber")


async def argument_names(call: dict[str, Any], scripts: Scripts) -> list[str] | None:
    """Return the names of a function's parameters, from its text."""
    start = call.get("functionLocation")
    script = scripts.get(str(start["scriptId"])) if start else None
    if start is None or script is None or function_name(call) == MODULE:
        return []
    text = await scripts.text_of(script)
    offset = offset_of(text, int(start["lineNumber"]), int(start.get("columnNumber") or 0))
    return js_scanner.parameters(text, offset)
