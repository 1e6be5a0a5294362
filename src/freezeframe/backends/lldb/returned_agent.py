"""Runs inside LLDB: a function's return value, if a breakpoint is at the return address.

LLDB reads the value when its internal breakpoint there ends the step. If another breakpoint shares
the address, LLDB reports that one as the reason and does not report the value, but it has stored
the value in a variable: `$0` or the next free number.
"""

from typing import Any

import lldb  # type: ignore[import-not-found]

EXPECT = "freezeframe-expect-returned"
RETURNED = "freezeframe-returned"
#: registers of a returned integer, by architecture
_REGISTERS = {"x86_64": "$rax", "aarch64": "$x0"}
#: maximum variables that LLDB may have created before
_MOST_MADE = 100_000
#: the thread of the function to finish, its return address, the type of its value, and the
#: number of the next variable
_expected: list[tuple[int, tuple[int, int], Any, int]] = []
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
    _expected.append((thread.GetThreadID(), _location(caller), kind, _free[0]))


def report(_debugger: Any, _command: str, context: Any, result: Any, _state: Any) -> None:
    """Print an expression for the value, if LLDB itself does not report it."""
    thread = context.GetThread()
    expression = found(thread)
    if expression is not None and not thread.GetStopReturnValue().IsValid():
        result.AppendMessage(expression)


def found(thread: Any) -> str | None:
    """Return an expression for the return value; None if the function has not returned."""
    frame = thread.GetFrameAtIndex(0)
    here = (thread.GetThreadID(), _location(frame))
    expected = [
        (kind, number) for id, location, kind, number in _expected if (id, location) == here
    ]
    _expected.clear()
    if not expected:
        return None
    kind, number = expected[0]
    made = _variable(frame, number)
    if made.IsValid() and made.GetType().GetName() == kind.GetName():
        return f"${number}"
    machine = frame.GetThread().GetProcess().GetTarget().GetTriple().partition("-")[0]
    rust = frame.GetCompileUnit().GetLanguage() == lldb.eLanguageTypeRust
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
