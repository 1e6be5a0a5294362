"""Runs inside LLDB: state kept between commands, and accessors that all of them use."""

from typing import Any

import lldb  # type: ignore[import-not-found]


class Refused(Exception):
    """LLDB refused a request; carries LLDB's message."""


class State:
    """State kept between commands."""

    debugger: Any = None
    #: the report of the current stop
    stop: dict[str, Any] = {}
    #: numbers of breakpoints that are not bound yet
    unbound: set[int] = set()
    #: by number of a breakpoint on an address: the breakpoint on a line that it replaces
    replaced: dict[int, int] = {}
    #: filter by number of its breakpoint, and the types that each filter is for
    filters: dict[int, str] = {}
    types: dict[str, str] = {}
    signals = ""
    #: thread and address of a breakpoint that a step ended at, which LLDB has not counted as hit
    ahead: Any = None
    #: threads that stopped together with another one and are still to be reported
    waiting: list[int] = []
    #: threads that were reported, with their location then
    reported: set[tuple[int, int, int]] = set()
    #: watchpoints by the number reported for them, and the last number
    last_watch = 0
    watched: dict[int, Any] = {}


def target() -> Any:
    return State.debugger.GetSelectedTarget()


def process() -> Any:
    return target().GetProcess()


def run(command: str) -> tuple[bool, str]:
    result = lldb.SBCommandReturnObject()
    State.debugger.GetCommandInterpreter().HandleCommand(command, result)
    output = (result.GetOutput() or "") + (result.GetError() or "")
    return bool(result.Succeeded()), output


def thread(number: int) -> Any:
    found = process().GetThreadByID(number)
    if not found.IsValid():
        raise Refused("there is no such thread")
    return found


def check(error: Any) -> None:
    if error.Fail():
        raise Refused(error.GetCString() or "LLDB gave no reason")
