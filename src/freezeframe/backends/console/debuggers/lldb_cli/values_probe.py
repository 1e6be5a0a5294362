"""Runs inside LLDB: values, as what is asked at its prompt by a program wants them."""

import re
from typing import Any

import held_probe as held  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]

_DYNAMIC = lldb.eDynamicDontRunTarget
#: names, members and elements: what LLDB reads without its compiler
_PATH = re.compile(r"[*&]*[A-Za-z_][\w:]*(?:(?:\.|->)[A-Za-z_]\w*|\[\d+\])*")
#: what can be put before a member without parentheses
_SIMPLE = re.compile(r"[\w$:.\[\]]+(?:->[\w$:.\[\]]+)*")
#: members of a struct in a message, characters of one text
_FEW, _LONGEST = 12, 60_000
_NO_RESULT = 0x1001

#: what was shown at this stop, by thread, frame and expression
shown: dict[tuple[int, int, str], Any] = {}
#: by thread and frame: paths of members that the compiler left nowhere
gone: dict[tuple[int, int], set[str]] = {}


def text_of(value: Any) -> str:
    error = value.GetError()
    if error.Fail():
        return f"<error: {error.GetCString() or 'unknown'}>"
    text, summary = value.GetValue(), value.GetSummary()
    if text and summary:
        text = f"{text} {summary}"
    return (text or summary or value.GetDisplayTypeName() or "")[:_LONGEST]


def short(value: Any) -> str:
    """Return what a list of arguments shows of a value."""
    failed = value.GetError().Fail()
    return text_of(value) if failed else (value.GetSummary() or text_of(value))[:_LONGEST]


def brief(value: Any, depth: int = 1) -> str:
    """Return a value on one line with what is in it, for a message."""
    if value.GetValue() or value.GetSummary() or value.GetError().Fail() or not depth:
        return text_of(value)
    count = value.GetNumChildren(_FEW + 1)
    inside = [value.GetChildAtIndex(index) for index in range(min(count, _FEW))]
    parts = [_named(child) + brief(child, depth - 1) for child in inside]
    return "{" + ", ".join([*parts, *(["..."] if count > _FEW else [])]) + "}"


def _named(child: Any) -> str:
    name = child.GetName() or ""
    return "" if not name or name.startswith("[") else f"{name}:"


def told(value: Any, at: tuple[int, int], name: str, expression: str) -> dict[str, Any]:
    """Return what is to be known of a value, and keep it: it may be opened."""
    if expression in gone.get(at, ()):
        return {"name": name, "text": "<error: optimized out>", "ref": 0, "expression": expression}
    opens = value.GetError().Success() and value.MightHaveChildren()
    if opens:
        shown.setdefault((*at, expression), value)
    address = value.GetLoadAddress()
    kind = value.GetType()
    return {
        "name": name,
        "text": text_of(value),
        "type": value.GetDisplayTypeName() or None,
        "ref": 1 if opens else 0,
        "count": kind.GetByteSize() // (kind.GetArrayElementType().GetByteSize() or 1)
        if opens and kind.IsArrayType()
        else None,
        "expression": expression,
        "address": None if address == lldb.LLDB_INVALID_ADDRESS else hex(address),
    }


def frame_of(process: Any, thread: int, level: int) -> Any:
    frame = process.GetThreadByID(thread).GetFrameAtIndex(level)
    if not frame.IsValid():
        raise held.Refused("there is no such frame")
    return frame


def variables(frame: Any, at: tuple[int, int], kind: str) -> list[dict[str, Any]]:
    if kind == "registers":
        return [told(each, at, each.GetName(), each.GetName()) for each in frame.GetRegisters()]
    statics = kind == "globals"
    found = frame.GetVariables(not statics, not statics, statics, not statics, _DYNAMIC)
    # Outer blocks come first: of several of one name the last is meant.
    names = {value.GetName(): value for value in found if value.GetName()}
    return [
        {**told(value, at, name, name), "declared": value.GetDeclaration().GetLine() or None}
        for name, value in names.items()
    ]


def arguments(frame: Any) -> list[Any]:
    return [v for v in frame.GetVariables(True, False, False, True, _DYNAMIC) if v.GetName()]


def children(
    frame: Any, at: tuple[int, int], expression: str, start: int, count: Any
) -> list[dict[str, Any]]:
    value = shown.get((*at, expression))
    if value is None:
        value = evaluate(frame, expression)
    end = value.GetNumChildren() if count is None else start + count
    end = min(end, value.GetNumChildren(end))
    found: list[dict[str, Any]] = []
    for index in range(start, end):
        found += _child(value, index, at, expression)
    return found


def _child(parent: Any, index: int, at: tuple[int, int], expression: str) -> list[dict[str, Any]]:
    value = parent.GetChildAtIndex(index, _DYNAMIC, False)
    name = value.GetName() or ""
    if not name:
        # A struct or union that the user gave no name: its members are those of what it is in.
        inside = range(value.GetNumChildren(_FEW * 8))
        return [each for i in inside for each in _child(value, i, at, expression)]
    if parent.GetType().IsPointerType() and len(expression) > 0 and name.startswith("*"):
        return [told(value, at, f"*{expression}", f"*{_bound(expression)}")]
    if name.startswith("["):
        way = f"{_bound(expression)}{name}"
    elif not parent.IsSynthetic() and index < parent.GetType().GetNumberOfDirectBaseClasses():
        way = f"static_cast<{name} &>({expression})"
    elif _is_register_set(parent):
        way = f"${name}"
    else:
        pointer = parent.GetType().IsPointerType()
        way = f"{_bound(expression)}{'->' if pointer else '.'}{name}"
    return [told(value, at, name, way)]


def _is_register_set(value: Any) -> bool:
    return bool(value.GetValueType() == lldb.eValueTypeRegisterSet)


def _bound(expression: str) -> str:
    return expression if _SIMPLE.fullmatch(expression) else f"({expression})"


def evaluate(frame: Any, expression: str) -> Any:
    """Return what an expression comes to. Raises Refused."""
    if _PATH.fullmatch(expression):
        # Elements of containers, which the compiler knows nothing of.
        value = frame.GetValueForVariablePath(expression, _DYNAMIC)
        if value.IsValid() and value.GetError().Success():
            return value
    options = lldb.SBExpressionOptions()
    options.SetIgnoreBreakpoints(True)
    options.SetUnwindOnError(True)
    options.SetTryAllThreads(True)
    options.SetFetchDynamicValue(_DYNAMIC)
    options.SetSuppressPersistentResult(not expression.lstrip().startswith("auto "))
    options.SetTimeoutInMicroSeconds(0)
    value = frame.EvaluateExpression(expression, options)
    error = value.GetError()
    if error.Fail() and error.GetError() != _NO_RESULT:
        raise held.Refused(error.GetCString() or "it could not be evaluated")
    return value


def result(value: Any, at: tuple[int, int], expression: str) -> dict[str, Any]:
    if value.GetError().Fail():  # a statement
        return {"name": expression, "text": "", "ref": 0}
    return told(value, at, expression, expression)


def is_true(value: Any) -> bool:
    try:
        return float(value.GetValue()) != 0
    except (TypeError, ValueError):
        return bool(value.GetValueAsUnsigned(1 if value.GetSummary() else 0) != 0)
