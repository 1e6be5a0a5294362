"""Runs inside LLDB: breakpoints, and what stops a program besides."""

from typing import Any

import held_probe as held  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]
import machine_probe as machine  # type: ignore[import-not-found]


def break_at(place: dict[str, Any], condition: Any) -> dict[str, Any]:
    target = held.target()
    if place.get("address") is not None:
        made = _break_at_address(target, place["address"])
    elif place.get("function") is not None:
        made = target.BreakpointCreateByName(place["function"], place.get("module"))
        if not made.GetNumLocations() and not place.get("module"):
            again = target.BreakpointCreateByRegex(place["generic"])
            made, other = (again, made) if again.GetNumLocations() else (made, again)
            target.BreakpointDelete(other.GetID())
    else:
        made = target.BreakpointCreateByLocation(place["path"], place["line"])
    if condition:
        made.SetCondition(condition)
    if not made.GetNumLocations():
        held.State.unbound.add(made.GetID())
    held.run(f"freezeframe-once-a-pass {made.GetID()}")
    return _where(made)


def bound() -> list[dict[str, Any]]:
    """Tell of breakpoints that have found their code since they were asked for last."""
    found = [held.target().FindBreakpointByID(number) for number in held.State.unbound]
    new = [made for made in found if made.IsValid() and made.GetNumLocations()]
    held.State.unbound -= {made.GetID() for made in new}
    return [_where(made) for made in new]


def _where(made: Any) -> dict[str, Any]:
    """Tell a breakpoint's number, and where it lies as far as there is code for it."""
    told: dict[str, Any] = {"number": str(made.GetID()), "bound": made.GetNumLocations() > 0}
    if told["bound"]:
        entry = made.GetLocationAtIndex(0).GetAddress().GetLineEntry()
        if entry.IsValid():
            told.update(path=entry.GetFileSpec().fullpath, line=entry.GetLine())
    return told


def _break_at_address(target: Any, address: int) -> Any:
    machine.read(held.process(), address, 1)
    return target.BreakpointCreateByAddress(address)


def unbreak(number: int) -> None:
    held.State.unbound.discard(number)
    held.target().BreakpointDelete(number)


def filters(wanted: dict[str, str], handle_fatal: str) -> None:
    """Stop at these exceptions, each with the types that it is for, and at no others."""
    target = held.target()
    for number in held.State.filters:
        target.BreakpointDelete(number)
    held.State.filters = {}
    held.State.types = wanted
    plus = lldb.eLanguageTypeC_plus_plus
    for name in wanted:
        if name == "panic":
            made = target.BreakpointCreateByRegex("(^|::)rust_panic$")
        elif name in ("throw", "catch"):
            made = target.BreakpointCreateForException(plus, name == "catch", name == "throw")
        else:
            continue
        held.State.filters[made.GetID()] = name
    held.State.signals = handle_fatal
    signals()


def signals() -> None:
    if held.State.signals:
        held.run(held.State.signals)
    held.run("process handle SIGSTOP --stop true --notify false --pass false")
