"""Runs inside LLDB: a line that has several places in one function stops once each time it is run.

LLDB puts a breakpoint on a line into each block that the line has code in. `i = 1; { int t = i; }`
has two, one right behind the other: the second is disabled. What Rust's macros expand to lies in
blocks of its own, and elsewhere: `println!` would stop, and count, three times.
"""

from typing import Any

import lldb  # type: ignore[import-not-found]

COMMAND = "freezeframe-once-a-pass"
#: pieces of one line's code that are looked back over
_MOST_ENTRIES = 64
#: by breakpoint and thread: the call and the address of the last hit
_last: dict[tuple[int, int], tuple[tuple[Any, ...], int]] = {}


def once(debugger: Any, command: str, _context: Any, _result: Any, _state: Any) -> None:
    """Take the numbers of breakpoints; of one with a minus a callback must not be set."""
    target = debugger.GetSelectedTarget()
    for word in command.split():
        number = int(word)
        made = target.FindBreakpointByID(abs(number))
        if made.GetNumLocations() < 2:
            continue
        _disable_continued(target, made)
        rest = [location.GetAddress() for location in made if location.IsEnabled()]
        places = [_code(address) for address in rest]
        rust = any(each.GetCompileUnit().GetLanguage() == lldb.eLanguageTypeRust for each in rest)
        if rust and number > 0 and len(places) > len(set(places)):
            made.SetScriptCallbackFunction(f"{__name__}.is_new")


def _disable_continued(target: Any, made: Any) -> None:
    """Disable locations that the code of the same line before them runs into."""
    starts = {location.GetAddress().GetFileAddress() for location in made}
    for location in made:
        address = location.GetAddress()
        code = _code(address)
        here = before = address.GetFileAddress()
        for _ in range(_MOST_ENTRIES):
            previous = address.GetModule().ResolveFileAddress(before - 1)
            entry = previous.GetLineEntry()
            if not entry.IsValid() or _code(previous) != code:
                break
            before = entry.GetStartAddress().GetFileAddress()
            if before in starts and before != here:
                location.SetEnabled(False)
                break


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
