"""The messages of the inspector protocol that we use, and the required shape of each.

The other side is not trusted: a message that does not fit is never passed on. A shape is a type, a
dict of shapes (a key that ends in `?` may be missing), a list with the shape of its elements, a
tuple with one shape per element, or a frozenset of shapes of which one must fit.
"""

from __future__ import annotations

from typing import Any

Shape = Any

#: larger numbers are not exact in JavaScript
_MAX_INT = 1 << 53

LOCATION: Shape = {"scriptId": str, "lineNumber": int, "columnNumber?": int}
_EXACT: Shape = {"scriptId": str, "lineNumber": int, "columnNumber": int, "type?": str}
REMOTE: Shape = {
    "type": str,
    "subtype?": str,
    "className?": str,
    "description?": str,
    "unserializableValue?": str,
    "objectId?": str,
}
_SCOPE: Shape = {
    "type": str,
    "object": {"objectId": str},
    "name?": str,
    "startLocation?": _EXACT,
    "endLocation?": _EXACT,
}
_CALL: Shape = {
    "callFrameId": str,
    "functionName?": str,
    "functionLocation?": LOCATION,
    "location": LOCATION,
    "scopeChain?": [_SCOPE],
    "this?": REMOTE,
    "returnValue?": REMOTE,
    "canBeRestarted?": bool,
}
_OLD_CALL: Shape = {"functionName?": str, "scriptId": str, "lineNumber": int, "columnNumber?": int}
_TRACE: dict[str, Shape] = {"description?": str, "callFrames": [_OLD_CALL]}
_TRACE["parent?"] = _TRACE
_REASON: Shape = {"reason": str, "auxData?": {"scriptId?": str}}
_DATA: Shape = {
    **{key if key.endswith("?") else f"{key}?": shape for key, shape in REMOTE.items()},
    "scriptId?": str,
    "reasons?": [_REASON],
}

EVENTS: dict[str, Shape] = {
    "Debugger.scriptParsed": {
        "scriptId": str,
        "url?": str,
        "sourceMapURL?": str,
        "executionContextId?": int,
    },
    "Debugger.paused": {
        "callFrames": [_CALL],
        "reason": str,
        "data?": _DATA,
        "hitBreakpoints?": [str],
        "asyncStackTrace?": _TRACE,
    },
    "Debugger.breakpointResolved": {
        "breakpointId": str,
        "location?": LOCATION,
        "resolvedLocations?": [LOCATION],
    },
    "Runtime.bindingCalled": {"name": str, "payload": str},
    "NodeWorker.attachedToWorker": {
        "sessionId": str,
        "workerInfo?": {"title?": str, "url?": str},
    },
    "NodeWorker.detachedFromWorker": {"sessionId": str},
    "NodeWorker.receivedMessageFromWorker": {"sessionId": str, "message": str},
}

_EVALUATED: Shape = {
    "result": REMOTE,
    "exceptionDetails?": {"text?": str, "exception?": REMOTE},
}
_PROPERTY: Shape = {"name": str, "value?": REMOTE}
_SET: Shape = {"breakpointId": str}
RESULTS: dict[str, Shape] = {
    "Runtime.evaluate": _EVALUATED,
    "Runtime.callFunctionOn": _EVALUATED,
    "Debugger.evaluateOnCallFrame": _EVALUATED,
    "Runtime.getProperties": {
        "result?": [_PROPERTY],
        "internalProperties?": [_PROPERTY],
        "privateProperties?": [_PROPERTY],
    },
    "Debugger.setBreakpointByUrl": {**_SET, "locations?": [LOCATION]},
    "Debugger.setBreakpoint": {**_SET, "actualLocation": LOCATION},
    "Debugger.setInstrumentationBreakpoint": _SET,
    "Debugger.setBreakpointOnFunctionCall": _SET,
    "Debugger.getPossibleBreakpoints": {"locations?": [_EXACT]},
    "Debugger.getScriptSource": {"scriptSource": str},
}

#: the answers of `values_agent.js`: one value, the children of a value, an error
ONE: Shape = (str, str, int, frozenset({int, None}))
ROWS: Shape = [(str, str, str, frozenset({str, None}), int, frozenset({int, None}), int)]
ERROR: Shape = (str, str, str, [str])


def fits(value: object, shape: Shape) -> bool:
    """Return whether a JSON value has a shape. Never raises."""
    try:
        return _fits(value, shape)
    except RecursionError:
        return False


def _fits(value: object, shape: Shape) -> bool:
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MAX_INT
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            (key in value and _fits(value[key], each))
            if not key.endswith("?")
            else (key[:-1] not in value or _fits(value[key[:-1]], each))
            for key, each in shape.items()
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(each, shape[0]) for each in value)
    if isinstance(shape, tuple):
        return (
            isinstance(value, list)
            and len(value) == len(shape)
            and all(_fits(each, one) for each, one in zip(value, shape, strict=True))
        )
    if isinstance(shape, frozenset):
        return any(_fits(value, each) for each in shape)
    if shape is None:
        return value is None
    return isinstance(value, shape)
