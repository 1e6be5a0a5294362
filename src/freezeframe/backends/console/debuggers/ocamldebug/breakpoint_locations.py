"""Resolve breakpoint locations: from lines and function names to events of the code."""

from __future__ import annotations

import os
from collections.abc import Iterable

from freezeframe.model.locations import Location

from .bytecode import BytecodeProgram, DebugEvent, Kind

#: the prefix that dune gives to a program's modules
_WRAPPED = "Dune__exe__"
#: the most functions that are tried as the first to run, besides the top-level code
_MOST_ENTRIES = 400


def shown_module(module: str) -> str:
    """Return a module's name as in the source."""
    return module.removeprefix(_WRAPPED).replace("__", ".")


def entries(program: BytecodeProgram) -> list[DebugEvent]:
    """Return the events one of which is the first of the user's code.

    A module's top-level code may begin with a call, whose function has the first event.
    """
    user_modules = [
        module for module in reversed(program.modules) if not program.is_library(module)
    ]
    events = [each for module in user_modules for each in program.events(module)]
    reachable = [each for each in events if each.kind is not Kind.NEVER]
    top = [each for each in reachable if each.function == each.module and not each.enters]
    functions = [each for each in reachable if each.enters]
    return top[:1] + functions[:_MOST_ENTRIES]


def function_start(program: BytecodeProgram, function: str) -> DebugEvent | None:
    """Return the first event of a library function."""
    module = function.partition(".")[0]
    if module not in program.modules:
        return None
    return next(
        (each for each in program.events(module) if each.enters and each.function == function), None
    )


def of(program: BytecodeProgram, location: Location) -> list[DebugEvent]:
    """Return the events to stop at for a breakpoint; none if there is no code."""
    if location.function is not None:
        return _of_function(program, location)
    assert location.file is not None
    modules = program.modules_of(location.file)
    events = [
        event
        for module in modules
        for event in program.events(module)
        if event.kind is not Kind.NEVER and event.line >= (location.line or 1)
    ]
    if not events:
        return []
    line = min(event.line for event in events)
    groups: dict[int | None, list[DebugEvent]] = {}
    for event in events:
        if event.line == line:
            owner = program.owner(event)
            groups.setdefault(owner.address if owner else None, []).append(event)
    return [event for group in groups.values() for event in _first(group)]


def _first(group: Iterable[DebugEvent]) -> list[DebugEvent]:
    """Return where a function enters a line: alternatives, none of them inside another."""
    before = [event for event in group if event.kind is Kind.BEFORE]
    if not before:
        # No event is before the line's code; after the first call is the earliest.
        return [min(group, key=lambda event: event.address)]
    return [
        event
        for event in before
        if not any(
            other.start <= event.start and event.end <= other.end and _precedes(other, event)
            for other in before
            if other is not event
        )
    ]


def _precedes(one: DebugEvent, other: DebugEvent) -> bool:
    if (one.start, one.end) != (other.start, other.end):
        return True
    return one.address < other.address


def _of_function(program: BytecodeProgram, location: Location) -> list[DebugEvent]:
    assert location.function is not None
    name = f"{location.module}.{location.function}" if location.module else location.function
    user_modules = [module for module in program.modules if not program.is_library(module)]
    for modules in (user_modules, _libraries_for(program, name)):
        found = [
            event
            for module in modules
            for start in program.events(module)
            if start.enters and _has_name(start, name)
            for event in _beginnings(program, start)
        ]
        if found:
            return found
    return []


def _beginnings(program: BytecodeProgram, start: DebugEvent) -> list[DebugEvent]:
    """Return the first events of a function; one per case if the function begins with a match."""
    if start.kind is not Kind.NEVER:
        return [start]
    inside = [
        event
        for event in program.events(start.module)
        if event.kind is Kind.BEFORE and program.owner(event) is start
    ]
    return _first(inside) if inside else []


def _libraries_for(program: BytecodeProgram, function: str) -> list[str]:
    """Return the libraries that may define a function: the named one, or Stdlib."""
    module = function.partition(".")[0]
    return [name for name in (module, f"Stdlib__{module}", "Stdlib") if name in program.modules]


def _has_name(event: DebugEvent, requested: str) -> bool:
    name = event.function.removeprefix(_WRAPPED).replace("__", ".")
    return name == requested or name.endswith(f".{requested}")


def why_none(program: BytecodeProgram, location: Location) -> str:
    """Return why a breakpoint location has no event."""
    if location.function is not None:
        return f"the program has no function {location.function}"
    name = os.path.basename(location.file or "")
    if program.modules_of(location.file or ""):
        return f"{name} has no code at line {location.line} or below"
    return f"{name} is not part of the program, or was built without `-g`"
