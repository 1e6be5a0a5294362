"""Runs inside LLDB: values and expressions."""

import re
import sys
from typing import Any

import lldb  # type: ignore[import-not-found]
import state_agent as state  # type: ignore[import-not-found]

_DYNAMIC = lldb.eDynamicDontRunTarget
#: names, members and elements: evaluated without LLDB's compiler
_PATH = re.compile(r"[*&]*[A-Za-z_][\w:]*(?:(?:\.|->)[A-Za-z_]\w*|\[\d+\])*")
#: names and members: the same in C and in Rust
_MEMBERS = re.compile(r"[A-Za-z_][\w:]*(?:(?:\.|->)[A-Za-z_]\w*)*")
#: expressions that need no parentheses before a member access
_SIMPLE = re.compile(r"[\w$:.\[\]]+(?:->[\w$:.\[\]]+)*")
#: members of a struct in a message, characters of one value
_FEW, _LONGEST = 12, 60_000
_NO_RESULT = 0x1001
_UNSET, _UNSIZED = "<not initialised yet>", "<array of unknown length>"

#: values shown at this stop, by thread, frame and expression
shown: dict[tuple[int, int, str], Any] = {}
#: by thread and frame: paths of members without a location
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
    """Return a value's text for a list of arguments."""
    failed = value.GetError().Fail()
    return text_of(value) if failed else (value.GetSummary() or text_of(value))[:_LONGEST]


def brief(value: Any, depth: int = 1) -> str:
    """Return a value and its members on one line, for a message."""
    if value.GetValue() or value.GetSummary() or value.GetError().Fail() or not depth:
        return text_of(value)
    count = value.GetNumChildren(_FEW + 1)
    inside = [value.GetChildAtIndex(index) for index in range(min(count, _FEW))]
    parts = [_named(child) + brief(child, depth - 1) for child in inside]
    return "{" + ", ".join([*parts, *(["..."] if count > _FEW else [])]) + "}"


def _named(child: Any) -> str:
    name = child.GetName() or ""
    return "" if not name or name.startswith("[") else f"{name}:"


def describe(value: Any, at: tuple[int, int], name: str, expression: str) -> dict[str, Any]:
    """Describe a value, and keep it: it may be expanded."""
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
        raise state.Refused("there is no such frame")
    return frame


def variables(frame: Any, at: tuple[int, int], kind: str) -> list[dict[str, Any]]:
    if kind == "registers":
        return [describe(each, at, each.GetName(), each.GetName()) for each in frame.GetRegisters()]
    statics = kind == "globals"
    found = frame.GetVariables(not statics, not statics, statics, not statics, _DYNAMIC)
    # Outer blocks come first: the last variable of a name shadows the others.
    names = {value.GetName(): value for value in found if value.GetName()}
    unset = () if statics else _function_code().find_unset(state.State.debugger, frame)
    unsized = () if statics else _function_code().find_unsized(state.State.debugger, frame)
    return [
        {
            **(
                _unset(value)
                if name in unset
                else without_elements(value)
                if name in unsized
                else describe(value, at, name, name)
            ),
            "declared": value.GetDeclaration().GetLine() or None,
        }
        for name, value in names.items()
    ]


def _unset(value: Any, text: str = _UNSET) -> dict[str, Any]:
    name, kind = value.GetName(), value.GetDisplayTypeName() or None
    return {"name": name, "text": text, "type": kind, "ref": 0, "expression": name}


def is_unsized(frame: Any, name: str) -> bool:
    """Whether a variable is an array whose length LLDB does not read."""
    return name in _function_code().find_unsized(state.State.debugger, frame)


def without_elements(value: Any) -> dict[str, Any]:
    """Describe an array whose length LLDB does not read."""
    return _unset(value, _UNSIZED)


def _function_code() -> Any:
    # It is loaded after this file.
    import function_code_agent as function_code  # type: ignore[import-not-found]

    return function_code


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
        # Members of an anonymous struct or union are members of the enclosing one.
        inside = range(value.GetNumChildren(_FEW * 8))
        return [each for i in inside for each in _child(value, i, at, expression)]
    if parent.GetType().IsPointerType() and len(expression) > 0 and name.startswith("*"):
        return [describe(value, at, f"*{expression}", f"*{_parenthesized(expression)}")]
    if name.startswith("key "):  # an entry of a map
        way = f"{_parenthesized(expression)}[{name.removeprefix('key ')}]"
    elif name.startswith("["):
        way = f"{_parenthesized(expression)}{name}"
    elif not parent.IsSynthetic() and index < parent.GetType().GetNumberOfDirectBaseClasses():
        way = f"static_cast<{name} &>({expression})"
    elif _is_register_set(parent):
        way = f"${name}"
    else:
        pointer = parent.GetType().IsPointerType()
        way = f"{_parenthesized(expression)}{'->' if pointer else '.'}{name}"
    return [describe(value, at, name, way)]


def _is_register_set(value: Any) -> bool:
    return bool(value.GetValueType() == lldb.eValueTypeRegisterSet)


def _parenthesized(expression: str) -> str:
    return expression if _SIMPLE.fullmatch(expression) else f"({expression})"


def evaluate(frame: Any, expression: str) -> Any:
    """Return the value of an expression. Raises Refused."""
    is_rust = sys.modules["expressions_agent"].is_rust(frame)
    # LLDB would apply the operators of C, to the address of a reference.
    if is_rust and not _MEMBERS.fullmatch(expression):
        first = _read(frame, expression, only_known=True)
        if first is not None:
            return first
    if _PATH.fullmatch(expression):
        # Also finds elements of containers, which the compiler does not know.
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
    _function_code().note_assignment(frame, expression)
    error = value.GetError()
    if error.Fail() and error.GetError() != _NO_RESULT:
        if (found := _read(frame, expression)) is not None:
            return found
        raise state.Refused(error.GetCString() or "it could not be evaluated")
    return value


def followed(frame: Any, value: Any) -> Any:
    """Return the target of a reference of Rust, any other value as it is."""
    expressions = sys.modules["expressions_agent"]
    is_string = value.GetSummary() is not None
    if is_string or not expressions.is_rust(frame) or not value.GetType().IsPointerType():
        return value
    target = value.Dereference()
    return target if target.GetError().Success() else value


def _read(frame: Any, expression: str, *, only_known: bool = False) -> Any:
    """Return the value of an expression that LLDB refuses or misreads; None if it cannot be read.

    With *only_known* LLDB has not been asked yet about names that are no variables.
    """
    expressions = sys.modules["expressions_agent"]
    try:
        if (assignment := expressions.assignment(frame, expression)) is not None:
            return frame.EvaluateExpression(assignment)
        value = expressions.evaluate(frame, expression)
        is_of_lldb = isinstance(value, lldb.SBValue)
        return value if is_of_lldb else frame.EvaluateExpression(expressions.as_lldb(value))
    except expressions.NotEvaluated as error:
        if only_known and isinstance(error, expressions.UnknownName):
            return None
        raise state.Refused(str(error)) from None
    except ValueError:
        return None


def result(value: Any, at: tuple[int, int], expression: str) -> dict[str, Any]:
    if value.GetError().Fail():  # a statement
        return {"name": expression, "text": "", "ref": 0}
    return describe(value, at, expression, expression)


def is_true(value: Any) -> bool:
    try:
        return float(value.GetValue()) != 0
    except (TypeError, ValueError):
        return bool(value.GetValueAsUnsigned(1 if value.GetSummary() else 0) != 0)
