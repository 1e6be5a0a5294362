"""Runs inside LLDB: a line that has several places in one function stops once each time it is run.

What Rust's macros expand to lies in blocks of its own, and LLDB puts a breakpoint on a line into
each of them: `println!` would stop, and count, three times.
"""

from typing import Any

COMMAND = "freezeframe-once-a-pass"
#: by breakpoint and thread: the call and the address of the last hit
_last: dict[tuple[int, int], tuple[tuple[Any, ...], int]] = {}


def once(debugger: Any, command: str, _context: Any, _result: Any, _state: Any) -> None:
    """Take the numbers of breakpoints."""
    target = debugger.GetSelectedTarget()
    for word in command.split():
        made = target.FindBreakpointByID(int(word))
        places = [_code(location.GetAddress()) for location in made]
        if len(places) > len(set(places)):
            made.SetScriptCallbackFunction(f"{__name__}.is_new")


def is_new(frame: Any, location: Any, _state: Any) -> bool:
    """Whether a hit is no later part of what the last one stopped at the beginning of."""
    key = (location.GetBreakpoint().GetID(), frame.GetThread().GetThreadID())
    here = ((frame.GetCFA(), *_code(frame.GetPCAddress())), frame.GetPC())
    before, _last[key] = _last.get(key), here
    return before is None or before[0] != here[0] or here[1] <= before[1]


def _code(address: Any) -> tuple[Any, ...]:
    """Return what tells the code of a function, or of one that is inlined there, and the line."""
    line = address.GetLineEntry()
    inlined = address.GetBlock().GetContainingInlinedBlock()
    start = inlined.GetRangeStartAddress(0).GetFileAddress() if inlined.IsValid() else None
    function = address.GetFunction().GetStartAddress().GetFileAddress()
    return function, start, line.GetFileSpec().GetFilename(), line.GetLine()


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -f {__name__}.once {COMMAND}")
