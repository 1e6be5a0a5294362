"""Runs inside LLDB: makes C's standard output line-buffered, as it is on a terminal.

The C library fully buffers a pipe, and a stop would show none of the output. Line buffering is a
flag of the stream, which setvbuf sets too: it is written when the libraries are loaded and the
program has not run a line. After an exec it is set for the new program.
"""

from typing import Any

import lldb  # type: ignore[import-not-found]

COMMAND = "freezeframe-output-by-line"
_LIBRARY, _ENTRY, _STDOUT = "libc.so.6", "__libc_start_main", "_IO_2_1_stdout_"
#: the upper half of the flags of every glibc stream, and the flag for line buffering
_STREAM, _BY_LINE = 0xFBAD, 0x200


def watch(debugger: Any, _command: str, _context: Any, _result: Any, _state: Any) -> None:
    """Set the breakpoint that is hit before the program's first line."""
    target = debugger.GetSelectedTarget()
    modules = lldb.SBFileSpecList()
    modules.Append(lldb.SBFileSpec(_LIBRARY))
    modules.Append(target.GetExecutable())
    made = target.BreakpointCreateByName(_ENTRY, modules, lldb.SBFileSpecList())
    made.SetScriptCallbackFunction(f"{__name__}.entered")


def entered(frame: Any, _location: Any, _state: Any) -> bool:
    """Set the flag without stopping the program."""
    process = frame.GetThread().GetProcess()
    for found in process.GetTarget().FindSymbols(_STDOUT):
        where = found.GetSymbol().GetStartAddress().GetLoadAddress(process.GetTarget())
        error = lldb.SBError()
        flags = process.ReadUnsignedFromMemory(where, 4, error)
        if error.Success() and flags >> 16 == _STREAM:
            process.WriteMemory(where, (flags | _BY_LINE).to_bytes(4, "little"), error)
    return False


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -s current -f {__name__}.watch {COMMAND}")
