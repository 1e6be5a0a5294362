"""Runs inside LLDB: what is kept between commands, and what all of them start from."""

from typing import Any

import lldb  # type: ignore[import-not-found]


class Refused(Exception):
    """What LLDB says against what it was asked."""


class State:
    """What is kept between commands."""

    debugger: Any = None
    #: what was told of the current stop
    stop: dict[str, Any] = {}
    #: the numbers of breakpoints that there was no code for
    unbound: set[int] = set()
    #: the numbers of the breakpoints behind exception filters, and the types that these are for
    filters: dict[int, str] = {}
    types: dict[str, str] = {}
    signals = ""
    #: the thread and the address of a breakpoint that a step came to, which LLDB has not seen hit
    ahead: Any = None
    #: threads that stopped at the same moment as another one, and are to be told of
    waiting: list[int] = []
    #: threads that were told of, and where they stood then
    told: set[tuple[int, int, int]] = set()
    #: watchpoints by the numbers that they are told by, and the last one of those
    last_watch = 0
    watched: dict[int, Any] = {}


def target() -> Any:
    return State.debugger.GetSelectedTarget()


def process() -> Any:
    return target().GetProcess()


def run(command: str) -> tuple[bool, str]:
    result = lldb.SBCommandReturnObject()
    State.debugger.GetCommandInterpreter().HandleCommand(command, result)
    said = (result.GetOutput() or "") + (result.GetError() or "")
    return bool(result.Succeeded()), said


def thread(number: int) -> Any:
    found = process().GetThreadByID(number)
    if not found.IsValid():
        raise Refused("there is no such thread")
    return found


def check(error: Any) -> None:
    if error.Fail():
        raise Refused(error.GetCString() or "LLDB gave no reason")
