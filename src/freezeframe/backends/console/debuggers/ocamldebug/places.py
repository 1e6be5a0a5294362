"""Where breakpoints go: from lines and names of functions to places in the code."""

from __future__ import annotations

import os
from collections.abc import Iterable

from freezeframe.model.places import Location

from .bytecode import Event, Kind, Program

#: what dune puts before the names of a program's own modules
_WRAPPED = "Dune__exe__"
#: functions that may be the first to run; of more, the module's own code is taken for the first
_MOST_ENTRIES = 400


def shown_module(module: str) -> str:
    """Return a module's name as its author writes it."""
    return module.removeprefix(_WRAPPED).replace("__", ".")


def entries(program: Program) -> list[Event]:
    """Return the events one of which is the first of the user's own code.

    A module's own code may begin with a call, and a function is what is seen of that first.
    """
    own = [module for module in reversed(program.modules) if not program.is_library(module)]
    events = [each for module in own for each in program.events(module)]
    there = [each for each in events if each.kind is not Kind.NEVER]
    top = [each for each in there if each.function == each.module and not each.enters]
    functions = [each for each in there if each.enters]
    return top[:1] + functions[:_MOST_ENTRIES]


def function_start(program: Program, function: str) -> Event | None:
    """Return where a function of a library begins."""
    module = function.partition(".")[0]
    if module not in program.modules:
        return None
    return next(
        (each for each in program.events(module) if each.enters and each.function == function), None
    )


def of(program: Program, location: Location) -> list[Event]:
    """Return where the program is to be stopped for a breakpoint; none where it has no code."""
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
    groups: dict[int | None, list[Event]] = {}
    for event in events:
        if event.line == line:
            owner = program.owner(event)
            groups.setdefault(owner.address if owner else None, []).append(event)
    return [event for group in groups.values() for event in _first(group)]


def _first(group: Iterable[Event]) -> list[Event]:
    """Return where a function comes to a line: alternatives, none of them inside another."""
    before = [event for event in group if event.kind is Kind.BEFORE]
    if not before:
        # Nothing stands before what the line does; behind the first call is as early as can be.
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


def _precedes(one: Event, other: Event) -> bool:
    if (one.start, one.end) != (other.start, other.end):
        return True
    return one.address < other.address


def _of_function(program: Program, location: Location) -> list[Event]:
    assert location.function is not None
    wanted = f"{location.module}.{location.function}" if location.module else location.function
    own = [module for module in program.modules if not program.is_library(module)]
    for modules in (own, _named(program, wanted)):
        found = [
            event
            for module in modules
            for start in program.events(module)
            if start.enters and _is_called(start, wanted)
            for event in _beginnings(program, start)
        ]
        if found:
            return found
    return []


def _beginnings(program: Program, start: Event) -> list[Event]:
    """Return where a function begins; one that begins with a match does so in each of its cases."""
    if start.kind is not Kind.NEVER:
        return [start]
    inside = [
        event
        for event in program.events(start.module)
        if event.kind is Kind.BEFORE and program.owner(event) is start
    ]
    return _first(inside) if inside else []


def _named(program: Program, function: str) -> list[str]:
    """Return the libraries that may have a function: the one named, or the one always open."""
    module = function.partition(".")[0]
    return [name for name in (module, f"Stdlib__{module}", "Stdlib") if name in program.modules]


def _is_called(event: Event, wanted: str) -> bool:
    name = event.function.removeprefix(_WRAPPED).replace("__", ".")
    return name == wanted or name.endswith(f".{wanted}")


def why_none(program: Program, location: Location) -> str:
    """Return why there is no place for a breakpoint."""
    if location.function is not None:
        return f"the program has no function {location.function}"
    name = os.path.basename(location.file or "")
    if program.modules_of(location.file or ""):
        return f"{name} has no code at line {location.line} or behind it"
    return f"{name} is not part of the program, or was built without `-g`"
