"""Runs inside LLDB: breakpoints, exception filters and signals."""

import json
from typing import Any

import lldb  # type: ignore[import-not-found]
import memory_agent as memory  # type: ignore[import-not-found]
import state_agent as state  # type: ignore[import-not-found]


def break_at(location: dict[str, Any], condition: Any) -> dict[str, Any]:
    target = state.target()
    if location.get("address") is not None:
        made = _break_at_address(target, location["address"])
    elif location.get("function") is not None:
        made = target.BreakpointCreateByName(location["function"], location.get("module"))
        if not made.GetNumLocations() and not location.get("module"):
            again = _search(target, location)
            made, other = (again, made) if again.GetNumLocations() else (made, again)
            target.BreakpointDelete(other.GetID())
    else:
        made = target.BreakpointCreateByLocation(location["path"], location["line"])
    if condition:
        made.SetCondition(condition)
    if not made.GetNumLocations():
        state.State.unbound.add(made.GetID())
    options = ":line" if location.get("line") else ""
    options += f":if={condition.encode().hex()}" if condition else ""
    _, answer = state.run(f"freezeframe-once-a-pass {made.GetID()}{options}")
    for number, others in json.loads(answer).items():
        state.State.replaced.update(dict.fromkeys(others, int(number)))
    return _where(made)


def _search(target: Any, location: dict[str, Any]) -> Any:
    """Return a breakpoint at the functions that LLDB does not find by the user's name."""
    symbols = location["symbols"]
    if not symbols:
        return target.BreakpointCreateByRegex(location["generic"])
    everywhere = lldb.SBFileSpecList()
    return target.BreakpointCreateByNames(
        symbols, lldb.eFunctionNameTypeFull, everywhere, everywhere
    )


def bound() -> list[dict[str, Any]]:
    """Return breakpoints that were bound to code since the last call."""
    found = [state.target().FindBreakpointByID(number) for number in state.State.unbound]
    new = [made for made in found if made.IsValid() and made.GetNumLocations()]
    state.State.unbound -= {made.GetID() for made in new}
    return [_where(made) for made in new]


def _where(made: Any) -> dict[str, Any]:
    """Return a breakpoint's number, and its location if it is bound."""
    body: dict[str, Any] = {"number": str(made.GetID()), "bound": made.GetNumLocations() > 0}
    if body["bound"]:
        entry = made.GetLocationAtIndex(0).GetAddress().GetLineEntry()
        if entry.IsValid():
            body.update(path=entry.GetFileSpec().fullpath, line=entry.GetLine())
    return body


def _break_at_address(target: Any, address: int) -> Any:
    memory.read(state.process(), address, 1)
    return target.BreakpointCreateByAddress(address)


def unbreak(number: int) -> None:
    state.State.unbound.discard(number)
    for each in [number, *(new for new, old in state.State.replaced.items() if old == number)]:
        state.target().BreakpointDelete(each)


def filters(types: dict[str, str], handle_fatal: str) -> None:
    """Stop at these exceptions, each only for the given types, and at no others."""
    target = state.target()
    for number in state.State.filters:
        target.BreakpointDelete(number)
    state.State.filters = {}
    state.State.types = types
    plus = lldb.eLanguageTypeC_plus_plus
    for name in types:
        if name == "panic":
            made = target.BreakpointCreateByRegex("(^|::)rust_panic$")
        elif name in ("throw", "catch"):
            made = target.BreakpointCreateForException(plus, name == "catch", name == "throw")
        else:
            continue
        state.State.filters[made.GetID()] = name
    state.State.signals = handle_fatal
    signals()


def signals() -> None:
    if state.State.signals:
        state.run(state.State.signals)
    state.run("process handle SIGSTOP --stop true --notify false --pass false")
