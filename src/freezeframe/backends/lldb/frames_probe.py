"""Runs inside LLDB: a stack that it keeps from an earlier moment is looked at anew.

When a process becomes another program, LLDB can hold on to the frames of a stop of its own (in the
loader) although the program has gone on to a breakpoint: its registers are right then, not they.
"""

from typing import Any

import lldb  # type: ignore[import-not-found]

COMMAND = "freezeframe-fresh-frames"


def refresh(debugger: Any, _command: str, _context: Any, _result: Any, _state: Any) -> None:
    process = debugger.GetSelectedTarget().GetProcess()
    selected = process.GetSelectedThread()
    answer = lldb.SBCommandReturnObject()
    for thread in process:
        frame = thread.GetFrameAtIndex(0)
        counter = frame.FindRegister("pc").GetValueAsUnsigned()
        if counter and counter != frame.GetPC():
            process.SetSelectedThread(thread)
            # Writing what is there changes nothing, and makes it forget the frames.
            command = f"register write pc {counter:#x}"
            debugger.GetCommandInterpreter().HandleCommand(command, answer)
    process.SetSelectedThread(selected)


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -f {__name__}.refresh {COMMAND}")
