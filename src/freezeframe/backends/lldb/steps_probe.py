"""Runs inside LLDB: a step that something else interrupted is over.

LLDB keeps it, and ends it when the program is let run: a stop that nobody asked for.
"""

from typing import Any

import lldb  # type: ignore[import-not-found]

COMMAND = "freezeframe-forget-steps"


def forget(debugger: Any, _command: str, _context: Any, _result: Any, _state: Any) -> None:
    process = debugger.GetSelectedTarget().GetProcess()
    selected = process.GetSelectedThread()
    answer = lldb.SBCommandReturnObject()
    for thread in process:
        process.SetSelectedThread(thread)
        # The first plan is the thread's own; where there is no second, LLDB only says so.
        debugger.GetCommandInterpreter().HandleCommand("thread plan discard 1", answer)
    process.SetSelectedThread(selected)


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -f {__name__}.forget {COMMAND}")
