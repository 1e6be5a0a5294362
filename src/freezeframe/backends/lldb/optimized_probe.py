"""Runs inside LLDB: what it does not tell of optimised code.

Of a struct that the compiler has split up, members that are nowhere any more are zeros to LLDB.
Where a variable lies, only the text of `image lookup` says.
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
#: the place of what does not lie in memory, or not as a whole
_NOT_IN_MEMORY = re.compile(r"-> DW_OP_reg|_stack_value|_piece")
#: members within members that are looked at
_DEEPEST = 4


def optimized(debugger: Any, command: str, context: Any, result: Any, _state: Any) -> None:
    """Take the first frame, a count and perhaps a thread.

    Tell of each frame its unit, whether its variables are in several places, and the paths of
    members that are nowhere.
    """
    first, count, *named = map(int, command.split())
    thread = context.GetThread()
    if named:
        # The adapter may have another one selected by now.
        thread = context.GetProcess().GetThreadByID(named[0])
    told = []
    for level in range(first, min(first + count, thread.GetNumFrames())):
        told.append(told_of(debugger, thread.GetFrameAtIndex(level), level))
    result.AppendMessage(json.dumps(told))


def told_of(debugger: Any, frame: Any, level: int) -> dict[str, Any]:
    """Tell how the code of one frame was made."""
    unit = frame.GetCompileUnit()
    told: dict[str, Any] = {"unit": unit.GetFileSpec().fullpath if unit.IsValid() else None}
    if not unit.IsValid() or not frame.GetFunction().IsValid():
        return {**told, "lists": False, "gone": []}
    # The byte before where a call returns to belongs to the call.
    address = frame.GetPC() - (1 if level and not frame.IsInlined() else 0)
    answer = lldb.SBCommandReturnObject()
    debugger.GetCommandInterpreter().HandleCommand(
        f"image lookup --verbose --address {address:#x}", answer
    )
    places = dict(_VARIABLE.findall(answer.GetOutput() or ""))
    named = {value.GetName(): value for value in frame.GetVariables(True, True, False, True)}
    gone: list[str] = []
    for name, place in places.items():
        value = named.get(name)
        if value is not None and "DW_OP_piece" in place:
            missing = _missing(place)
            if missing:
                gone += _members(value.GetType(), 0, missing, name, _DEEPEST)
    return {
        **told,
        "lists": any(
            _is_optimized(named[name], place)
            for name, place in places.items()
            if name in named and not frame.IsInlined()
        ),
        "gone": gone,
    }


def _is_optimized(value: Any, place: str) -> bool:
    """Whether only optimised code has a variable at such a place: one of several, or none.

    rustc hands a struct over by its address, as it does what a closure captures, and lists the
    places of that, also where it optimises nothing. The variable itself is in memory then.
    """
    is_argument = value.GetValueType() == lldb.eValueTypeVariableArgument
    if is_argument and value.GetType().GetCanonicalType().GetTypeClass() not in _STRUCTS:
        return ") -> " in place or place == "<empty>"
    return ") -> " in place and _NOT_IN_MEMORY.search(place) is not None


def _missing(place: str) -> list[tuple[int, int]]:
    """Return the bytes of a variable that no piece of it has a place for: begin and end."""
    # Of a list the part that holds here: `[0x10, 0x20) -> DW_OP_…`.
    place = place.rpartition(") -> ")[2]
    found, at, begin = [], 0, 0
    for match in _PIECE.finditer(place):
        size = int(match[1], 0)
        if not place[begin : match.start()].strip(", "):
            found.append((at, at + size))
        at, begin = at + size, match.end()
    return found


def _members(
    kind: Any, base: int, missing: list[tuple[int, int]], path: str, depth: int
) -> list[str]:
    """Return the paths of members that lie in missing bytes as a whole."""
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
    debugger.HandleCommand(f"command script add -f {__name__}.optimized {COMMAND}")
