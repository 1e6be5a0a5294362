"""Runs inside LLDB: a breakpoint on a line stops once per execution, where the line begins.

LLDB may bind it to code that runs only while a panic unwinds, or too early (`control_flow_agent`).
Such a breakpoint is replaced by breakpoints on addresses, whose numbers are printed.

LLDB sets a breakpoint on a line in each block that has code of the line. `i = 1; { int t = i; }`
has two, adjacent ones: the second is disabled. Expansions of Rust's macros lie in separate blocks
elsewhere: `println!` would stop, and count, three times.
"""

import json
import sys
from typing import Any

import control_flow_agent as control_flow  # type: ignore[import-not-found]
import function_code_agent as function_code  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]

COMMAND = "freezeframe-once-a-pass"
#: maximum line entries of one line to search backward
_MOST_ENTRIES = 64
#: by breakpoint and thread: the call and the address of the last hit
_last: dict[tuple[int, int], tuple[tuple[Any, ...], int]] = {}
#: by breakpoint: the file address and the number of each breakpoint that replaces its locations
_replaced: dict[int, dict[int, int]] = {}
_originals: dict[int, int] = {}
#: by breakpoint: the condition that is evaluated here
_conditions: dict[int, str] = {}


def once(debugger: Any, command: str, _context: Any, result: Any, _state: Any) -> None:
    """Take breakpoint numbers; `:line` marks those on a line, `:hooked` those with a callback,
    `:if=` a condition, packed.

    Print the numbers of the breakpoints that replace one, by its number. Those of a breakpoint
    that was removed are removed too: CodeLLDB has a callback of its own in place of `is_requested`.
    """
    target = debugger.GetSelectedTarget()
    for gone in [each for each in _replaced if not target.FindBreakpointByID(each).IsValid()]:
        for other in _replaced.pop(gone).values():
            target.BreakpointDelete(other)
            _originals.pop(other, None)
    replaced = {}
    for word in command.split():
        number, *options = word.split(":")
        made = target.FindBreakpointByID(int(number))
        if others := _replace(target, made, "line" in options):
            replaced[number] = others
        condition = next((each for each in options if each.startswith("if=")), None)
        _conditions.pop(made.GetID(), None)
        text = "" if condition is None else bytes.fromhex(condition[3:]).decode()
        if text and _evaluates_here(made, text):
            _evaluate_here(target, made, text)
        if made.GetNumLocations() < 2:
            continue
        _disable_continued(made)
        rest = [location.GetAddress() for location in made if location.IsEnabled()]
        codes = [_code(address) for address in rest]
        rust = any(each.GetCompileUnit().GetLanguage() == lldb.eLanguageTypeRust for each in rest)
        if rust and "hooked" not in options and len(codes) > len(set(codes)):
            made.SetScriptCallbackFunction(f"{__name__}.is_new")
    result.AppendMessage(json.dumps(replaced))


def _replace(target: Any, made: Any, on_line: bool) -> list[int]:
    """Move locations of a breakpoint to where the line, or the function's code, begins.

    Return the new breakpoints.
    """
    by_function: dict[int, list[Any]] = {}
    for location in made:
        address = location.GetAddress()
        inlined = address.GetBlock().GetContainingInlinedBlock().IsValid()
        if address.GetFunction().IsValid() and not inlined and location.IsEnabled():
            start = address.GetFunction().GetStartAddress().GetFileAddress()
            by_function.setdefault(start, []).append(location)
    for locations in by_function.values():
        _move(target, made, locations, on_line)
    numbers = list(_replaced.get(made.GetID(), {}).values())
    for number in numbers:
        target.FindBreakpointByID(number).SetCondition(made.GetCondition())
    return numbers


def _move(target: Any, made: Any, locations: list[Any], on_line: bool) -> None:
    """Move the locations of a breakpoint in one function."""
    address = locations[0].GetAddress()
    entry = address.GetLineEntry()
    flow = function_code.read(target, address.GetFunction())
    given = {each.GetAddress().GetFileAddress(): each for each in locations}
    if (
        flow is None
        or not entry.IsValid()
        or any(flow.lines.get(at) != entry.GetLine() for at in given)
    ):
        return  # code of another file
    line, path = entry.GetLine(), entry.GetFileSpec().fullpath or ""
    text = "".join(control_flow.source_lines(path, line, line)) if on_line else ""
    starts = control_flow.starts(flow, line, list(given), text) if on_line else ()
    right = [_behind_prologue(address.GetFunction(), at) for at in starts or given]
    for at, location in given.items():
        if right and at not in right:
            location.SetEnabled(False)
    known = _replaced.setdefault(made.GetID(), {})
    for at in right:
        if at not in given and at not in known:
            new = target.BreakpointCreateBySBAddress(address.GetModule().ResolveFileAddress(at))
            new.SetScriptCallbackFunction(f"{__name__}.is_requested")
            known[at] = new.GetID()
            _originals[new.GetID()] = made.GetID()


def _behind_prologue(function: Any, at: int) -> int:
    """Return where a function on a single line begins, once its arguments are stored.

    LLDB ends a prologue where the next line begins.
    """
    start = function.GetStartAddress()
    entry = start.GetLineEntry()
    behind = entry.GetEndAddress()
    inside = behind.GetFileAddress() < function.GetEndAddress().GetFileAddress()
    if at != start.GetFileAddress() or not inside:
        return at
    same = behind.GetLineEntry().GetLine() == entry.GetLine()
    return int(behind.GetFileAddress()) if same else at


def is_requested(frame: Any, location: Any, _state: Any) -> bool:
    """Whether the breakpoint that another one replaces is still set, and its condition holds."""
    number = _originals.get(location.GetBreakpoint().GetID(), 0)
    original = frame.GetThread().GetProcess().GetTarget().FindBreakpointByID(number)
    return bool(original.IsValid() and original.IsEnabled() and _holds(frame, number))


def _evaluates_here(made: Any, condition: str) -> bool:
    """Whether a condition is one of Rust, or compares a string of C++."""
    languages = {each.GetAddress().GetCompileUnit().GetLanguage() for each in made}
    return lldb.eLanguageTypeRust in languages or ('"' in condition and "str" not in condition)


def _evaluate_here(target: Any, made: Any, condition: str) -> None:
    """Evaluate a condition that LLDB cannot."""
    _conditions[made.GetID()] = condition
    for number in (made.GetID(), *_replaced.get(made.GetID(), {}).values()):
        target.FindBreakpointByID(number).SetCondition("")
    made.SetScriptCallbackFunction(f"{__name__}.is_new")


def _holds(frame: Any, number: int) -> bool:
    """Whether a breakpoint's condition holds. One that cannot be evaluated does, with a message."""
    condition = _conditions.get(number)
    if condition is None:
        return True
    expressions = sys.modules["expressions_agent"]
    try:
        value = expressions.evaluate(frame, condition)
        if isinstance(value, bool):
            return value
        reason = "it is neither true nor false"
    except ValueError as error:
        reason = str(error)
    value = frame.EvaluateExpression(condition)
    if value.GetError().Success():
        return bool(value.GetValueAsUnsigned() != 0)
    print(f"error: stopped due to an error evaluating condition {condition}: {reason}")
    return True


def _disable_continued(made: Any) -> None:
    """Disable locations that are reached from an earlier location of the same line."""
    # Those that were moved already do not stop the program.
    enabled = [location for location in made if location.IsEnabled()]
    starts = {location.GetAddress().GetFileAddress() for location in enabled}
    for location in enabled:
        address = location.GetAddress()
        code = _code(address)
        here = before = address.GetFileAddress()
        for _ in range(_MOST_ENTRIES):
            previous = address.GetModule().ResolveFileAddress(before - 1)
            entry = previous.GetLineEntry()
            if not entry.IsValid() or _code(previous) != code:
                break
            before = entry.GetStartAddress().GetFileAddress()
            if before in starts and before != here:
                location.SetEnabled(False)
                break


def is_new(frame: Any, location: Any, _state: Any) -> bool:
    """Whether a hit begins a new execution of the line."""
    key = (location.GetBreakpoint().GetID(), frame.GetThread().GetThreadID())
    here = ((frame.GetCFA(), *_code(frame.GetPCAddress())), frame.GetPC())
    before, _last[key] = _last.get(key), here
    first = before is None or before[0] != here[0] or here[1] <= before[1]
    return first and _holds(frame, location.GetBreakpoint().GetID())


def _code(address: Any) -> tuple[Any, ...]:
    """Return a key for the function, or inlined function, and line of an address."""
    line = address.GetLineEntry()
    inlined = address.GetBlock().GetContainingInlinedBlock()
    start = inlined.GetRangeStartAddress(0).GetFileAddress() if inlined.IsValid() else None
    function = address.GetFunction().GetStartAddress().GetFileAddress()
    return function, start, line.GetFileSpec().GetFilename(), line.GetLine()


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -s current -f {__name__}.once {COMMAND}")
