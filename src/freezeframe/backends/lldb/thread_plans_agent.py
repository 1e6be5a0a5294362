"""Runs inside LLDB: discards state of a thread that LLDB keeps too long.

Steps: LLDB keeps a step that something else interrupted, and ends it when the program resumes: a
stop that nobody requested.

Stacks: after an exec LLDB can keep the frames of an internal stop (in the loader) although the
program has run on to a breakpoint: then the registers are right and the frames are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lldb  # type: ignore[import-not-found]

FORGET_STEPS = "freezeframe-forget-steps"
FRESH_FRAMES = "freezeframe-fresh-frames"
BREAKPOINTS_HERE = "freezeframe-breakpoints-here"


def forget(debugger: Any, _command: str, _context: Any, _result: Any, _state: Any) -> None:
    # The first plan is the thread's base plan; if there is no second, LLDB only prints an error.
    _run_in_each(debugger, lambda thread: "thread plan discard 1")


def refresh(debugger: Any, _command: str, _context: Any, _result: Any, _state: Any) -> None:
    _run_in_each(debugger, _rewriting)


def breakpoints_here(_debugger: Any, _command: str, context: Any, result: Any, _state: Any) -> None:
    """Print the numbers of the breakpoints at a thread's location."""
    counter = context.GetThread().GetFrameAtIndex(0).GetPC()
    for each in context.GetTarget().breakpoint_iter():
        location = each.FindLocationByAddress(counter)
        if each.IsEnabled() and location.IsValid() and location.IsEnabled():
            result.AppendMessage(str(each.GetID()))


def _rewriting(thread: Any) -> str | None:
    """Return the command that makes LLDB discard a stack that does not match the registers."""
    frame = thread.GetFrameAtIndex(0)
    counter = frame.FindRegister("pc").GetValueAsUnsigned()
    # Writing the present value has no other effect.
    return f"register write pc {counter:#x}" if counter and counter != frame.GetPC() else None


def _run_in_each(debugger: Any, command_for: Callable[[Any], str | None]) -> None:
    """Run a command in each thread for which there is one."""
    process = debugger.GetSelectedTarget().GetProcess()
    selected = process.GetSelectedThread()
    answer = lldb.SBCommandReturnObject()
    for thread in process:
        if (command := command_for(thread)) is not None:
            process.SetSelectedThread(thread)
            debugger.GetCommandInterpreter().HandleCommand(command, answer)
    process.SetSelectedThread(selected)


def __lldb_init_module(debugger: Any, _: Any) -> None:
    for name, function in (
        (FORGET_STEPS, forget),
        (FRESH_FRAMES, refresh),
        (BREAKPOINTS_HERE, breakpoints_here),
    ):
        debugger.HandleCommand(
            f"command script add -s current -f {__name__}.{function.__name__} {name}"
        )
