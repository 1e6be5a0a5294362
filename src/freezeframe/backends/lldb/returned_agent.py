"""Runs inside LLDB: a function's return value, if LLDB's own is wrong or not reported.

`return_registers_agent` reads the values that LLDB gets wrong. A breakpoint at the return address:
LLDB reads the value when its internal breakpoint there ends the step. If another breakpoint shares
the address, LLDB reports that one as the reason and does not report the value, but it has stored
the value in a variable: `$0` or the next free number.
"""

from typing import Any

import lldb  # type: ignore[import-not-found]
import return_registers_agent  # type: ignore[import-not-found]

EXPECT = "freezeframe-expect-returned"
RETURNED = "freezeframe-returned"
#: in place of an expression: the value cannot be read, and LLDB's own is wrong
UNKNOWN = "unknown"
#: registers of a returned integer, by architecture
_REGISTERS = {"x86_64": "$rax", "aarch64": "$x0"}
#: maximum variables that LLDB may have created before
_MOST_MADE = 100_000
#: the thread of the function to finish, its return address, the type of its value, whether it is
#: one of Rust's, and the number of the next variable
_expected: list[tuple[int, tuple[int, int], Any, bool, int]] = []
_free: list[int] = [0]


def expect(_debugger: Any, _command: str, context: Any, _result: Any, _state: Any) -> None:
    begin(context.GetThread())


def begin(thread: Any) -> None:
    """Remember the innermost function of a thread, which is about to be finished."""
    _expected.clear()
    frame, caller = thread.GetFrameAtIndex(0), thread.GetFrameAtIndex(1)
    kind = frame.GetFunction().GetType().GetFunctionReturnType()
    if not kind.IsValid() or frame.IsInlined() or not caller.IsValid():
        return
    while _free[0] < _MOST_MADE and _variable(frame, _free[0]).IsValid():
        _free[0] += 1
    rust = frame.GetCompileUnit().GetLanguage() == lldb.eLanguageTypeRust
    _expected.append((thread.GetThreadID(), _location(caller), kind, rust, _free[0]))


def report(_debugger: Any, _command: str, context: Any, result: Any, _state: Any) -> None:
    """Print an expression for the value, if the one that LLDB reports is not right."""
    thread = context.GetThread()
    expression = found(thread)
    if expression is not None:
        result.AppendMessage(expression)


def found(thread: Any) -> str | None:
    """Return an expression for the return value, or UNKNOWN; None if LLDB's own is right."""
    frame = thread.GetFrameAtIndex(0)
    here = (thread.GetThreadID(), _location(frame))
    expected = [
        (kind, rust, number)
        for id, location, kind, rust, number in _expected
        if (id, location) == here
    ]
    _expected.clear()
    if not expected:
        return None
    kind, rust, number = expected[0]
    if frame.GetThread().GetProcess().GetTarget().GetTriple().startswith("x86_64"):
        try:
            value = return_registers_agent.returned(frame, kind, rust)
        except ValueError:
            return UNKNOWN
        if value is not None:
            kept = value.Persist()
            return str(kept.GetName()) if kept.IsValid() else UNKNOWN
    if thread.GetStopReturnValue().IsValid():
        return None
    made = _variable(frame, number)
    if made.IsValid() and made.GetType().GetName() == kind.GetName():
        return f"${number}"
    machine = frame.GetThread().GetProcess().GetTarget().GetTriple().partition("-")[0]
    enumeration = kind.GetCanonicalType().GetTypeClass() == lldb.eTypeClassEnumeration
    if enumeration and not rust and machine in _REGISTERS:
        return f"({kind.GetName()}){_REGISTERS[machine]}"
    return None


def _variable(frame: Any, number: int) -> Any:
    return frame.FindValue(f"${number}", lldb.eValueTypeConstResult)


def _location(frame: Any) -> tuple[int, int]:
    return frame.GetPC(), frame.GetCFA()


def __lldb_init_module(debugger: Any, _: Any) -> None:
    for name, function in ((EXPECT, expect), (RETURNED, report)):
        debugger.HandleCommand(
            f"command script add -s current -f {__name__}.{function.__name__} {name}"
        )
