"""Runs inside LLDB: describes optimised code.

LLDB shows members of a split-up struct that have no location as zeros. Only the text of
`image lookup` gives the location of a variable.
"""

import json
import re
from typing import Any

import lldb  # type: ignore[import-not-found]

COMMAND = "freezeframe-optimized"
_VARIABLE = re.compile(
    r'Variable: id = \{0x[0-9a-f]+\}, name = "([^"]+)", .*?, location = (.*?)(?:, decl = .*)?$',
    re.MULTILINE,
)
_PIECE = re.compile(r"DW_OP_piece (0x[0-9a-f]+|\d+)")
_STRUCTS = (lldb.eTypeClassStruct, lldb.eTypeClassClass, lldb.eTypeClassUnion)
#: locations of a variable that is not in memory, or only partly
_NOT_IN_MEMORY = re.compile(r"-> DW_OP_reg|_stack_value|_piece")
#: maximum depth of nested members
_DEEPEST = 4


def optimized(debugger: Any, command: str, context: Any, result: Any, _state: Any) -> None:
    """Take the first frame, a count and optionally a thread.

    Print for each frame its unit, whether its variables have several locations, and the paths of
    members without a location.
    """
    first, count, *named = map(int, command.split())
    thread = context.GetThread()
    if named:
        # The adapter may have selected another thread by now.
        thread = context.GetProcess().GetThreadByID(named[0])
    frames = []
    for level in range(first, min(first + count, thread.GetNumFrames())):
        frames.append(describe_frame(debugger, thread.GetFrameAtIndex(level), level))
    result.AppendMessage(json.dumps(frames))


def describe_frame(debugger: Any, frame: Any, level: int) -> dict[str, Any]:
    """Describe how the code of one frame was compiled."""
    unit = frame.GetCompileUnit()
    code: dict[str, Any] = {"unit": unit.GetFileSpec().fullpath if unit.IsValid() else None}
    if not unit.IsValid() or not frame.GetFunction().IsValid():
        return {**code, "lists": False, "gone": []}
    # The byte before a return address belongs to the call.
    address = frame.GetPC() - (1 if level and not frame.IsInlined() else 0)
    locations = _locations(debugger, address, (code["unit"], frame.GetFunction().GetName()))
    named = {value.GetName(): value for value in frame.GetVariables(True, True, False, True)}
    gone: list[str] = []
    for name, location in locations.items():
        value = named.get(name)
        if value is not None and "DW_OP_piece" in location:
            missing = _missing(location)
            if missing:
                gone += _members(value.GetType(), 0, missing, name, _DEEPEST)
    return {
        **code,
        "lists": any(
            _is_optimized(named[name], location)
            for name, location in locations.items()
            if name in named and not frame.IsInlined()
        ),
        "gone": gone,
        # A fixed one is at its location itself; clang has a variable for the length.
        "unsized": [
            name
            for name, location in locations.items()
            if name in named
            and location.endswith("DW_OP_deref")
            and named[name].GetType().IsArrayType()
            and "__vla_expr" not in str(sorted(locations))
        ],
    }


#: by address, and the unit and function there: the locations of the variables
_known: dict[Any, dict[str, str]] = {}


def _locations(debugger: Any, address: int, function: Any) -> dict[str, str]:
    """Return how the compiler describes the locations of the variables at an address."""
    if (address, function) not in _known:
        if len(_known) > 1000:
            _known.clear()
        answer = lldb.SBCommandReturnObject()
        debugger.GetCommandInterpreter().HandleCommand(
            f"image lookup --verbose --address {address:#x}", answer
        )
        _known[address, function] = dict(_VARIABLE.findall(answer.GetOutput() or ""))
    return _known[address, function]


def _is_optimized(value: Any, location: str) -> bool:
    """Whether only optimised code has a variable at such a location: one of several, or none.

    rustc passes structs, and the captures of closures, by address and writes location lists for
    them without optimisation too. The variable itself is in memory then.
    """
    is_argument = value.GetValueType() == lldb.eValueTypeVariableArgument
    if is_argument and value.GetType().GetCanonicalType().GetTypeClass() not in _STRUCTS:
        return ") -> " in location or location == "<empty>"
    return ") -> " in location and _NOT_IN_MEMORY.search(location) is not None


def _missing(location: str) -> list[tuple[int, int]]:
    """Return the byte ranges of a variable for which no piece has a location."""
    # Of a location list, the entry that applies here: `[0x10, 0x20) -> DW_OP_…`.
    location = location.rpartition(") -> ")[2]
    found, at, begin = [], 0, 0
    for match in _PIECE.finditer(location):
        size = int(match[1], 0)
        if not location[begin : match.start()].strip(", "):
            found.append((at, at + size))
        at, begin = at + size, match.end()
    return found


def _members(
    kind: Any, base: int, missing: list[tuple[int, int]], path: str, depth: int
) -> list[str]:
    """Return the paths of members that lie completely in missing bytes."""
    kind = kind.GetCanonicalType()
    begin, end = base, base + kind.GetByteSize()
    if any(low <= begin and end <= high for low, high in missing):
        return [path]
    if not depth or not any(low < end and begin < high for low, high in missing):
        return []
    found = []
    for index in range(kind.GetNumberOfFields()):
        field = kind.GetFieldAtIndex(index)
        if field.GetName():
            within = f"{path}.{field.GetName()}"
            offset = base + field.GetOffsetInBytes()
            found += _members(field.GetType(), offset, missing, within, depth - 1)
    return found


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -s current -f {__name__}.optimized {COMMAND}")
