"""Runs inside LLDB: what it keeps of a thread, and should not, is forgotten.

A step that something else interrupted is over. LLDB keeps it, and ends it when the program is let
run: a stop that nobody asked for.

A stack is that of now. When a process becomes another program, LLDB can hold on to the frames of a
stop of its own (in the loader) although the program has gone on to a breakpoint: its registers are
right then, not they.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lldb  # type: ignore[import-not-found]

FORGET_STEPS = "freezeframe-forget-steps"
FRESH_FRAMES = "freezeframe-fresh-frames"


def forget(debugger: Any, _command: str, _context: Any, _result: Any, _state: Any) -> None:
    # The first plan is the thread's own; where there is no second, LLDB only says so.
    _tell_each(debugger, lambda thread: "thread plan discard 1")


def refresh(debugger: Any, _command: str, _context: Any, _result: Any, _state: Any) -> None:
    _tell_each(debugger, _rewriting)


def _rewriting(thread: Any) -> str | None:
    """Return what makes LLDB forget a stack that is not where the registers are."""
    frame = thread.GetFrameAtIndex(0)
    counter = frame.FindRegister("pc").GetValueAsUnsigned()
    # Writing what is there changes nothing else.
    return f"register write pc {counter:#x}" if counter and counter != frame.GetPC() else None


def _tell_each(debugger: Any, command_for: Callable[[Any], str | None]) -> None:
    """Run a command in each thread that there is one for."""
    process = debugger.GetSelectedTarget().GetProcess()
    selected = process.GetSelectedThread()
    answer = lldb.SBCommandReturnObject()
    for thread in process:
        if (command := command_for(thread)) is not None:
            process.SetSelectedThread(thread)
            debugger.GetCommandInterpreter().HandleCommand(command, answer)
    process.SetSelectedThread(selected)


def __lldb_init_module(debugger: Any, _: Any) -> None:
    for name, function in ((FORGET_STEPS, forget), (FRESH_FRAMES, refresh)):
        debugger.HandleCommand(f"command script add -f {__name__}.{function.__name__} {name}")
