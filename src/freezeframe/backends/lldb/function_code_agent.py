"""Runs inside LLDB: reads functions for the rules of `machine_code`.

`freezeframe-unset` names the variables of a frame that are not initialised yet.
"""

import json
from typing import Any

import control_flow_agent as control_flow  # type: ignore[import-not-found]
import initialization_agent as initialization  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]
import optimized_agent as optimized  # type: ignore[import-not-found]

COMMAND = "freezeframe-unset"
_STRUCTS = (lldb.eTypeClassStruct, lldb.eTypeClassClass, lldb.eTypeClassUnion)
_BARE = (lldb.eTypeClassBuiltin, lldb.eTypeClassPointer, lldb.eTypeClassEnumeration)
#: languages whose structs have no constructors
_C = (
    lldb.eLanguageTypeC,
    lldb.eLanguageTypeC89,
    lldb.eLanguageTypeC99,
    lldb.eLanguageTypeC11,
    # C17, which LLDB has had a name for since 16
    0x2C,
)
#: by module and file address of a function; None if it is too large
_flows: dict[tuple[str, int], Any] = {}


def read(target: Any, function: Any) -> Any:
    """Return the control flow of a function, by file addresses; None if it is too large."""
    start = function.GetStartAddress()
    key = (start.GetModule().GetUUIDString() or "", start.GetFileAddress())
    if key not in _flows:
        if len(_flows) > 100:
            _flows.clear()
        _flows[key] = _read(target, function)
    return _flows[key]


def _read(target: Any, function: Any) -> Any:
    start = function.GetStartAddress()
    listed = function.GetInstructions(target)
    if listed.GetSize() > control_flow.MOST_INSTRUCTIONS:
        return None
    own = start.GetLineEntry().GetFileSpec()
    # Targets of jumps are load addresses once the program runs.
    loaded = start.GetLoadAddress(target)
    slide = loaded - start.GetFileAddress() if loaded < 1 << 63 else 0
    instructions = []
    for each in listed:
        address = each.GetAddress()
        entry = address.GetLineEntry()
        line = entry.GetLine() if entry.GetFileSpec() == own else 0
        instructions.append(
            control_flow.Instruction(
                address.GetFileAddress(),
                each.GetByteSize(),
                f"{each.GetMnemonic(target)} {each.GetOperands(target)}",
                line or None,
                entry.GetStartAddress() == address,
                each.GetComment(target) or "",
            )
        )
    return control_flow.ControlFlow(instructions, slide)


def unset(debugger: Any, command: str, context: Any, result: Any, _state: Any) -> None:
    """Print the names of the frame's variables that are not initialised yet, and of its arrays of
    unknown length.

    *command*: an assignment of the user's, after which its variable is initialised.
    """
    frame = context.GetFrame()
    note_assignment(frame, command)
    names = {"unset": find_unset(debugger, frame), "unsized": find_unsized(debugger, frame)}
    result.AppendMessage(json.dumps(names))


def note_assignment(frame: Any, expression: str) -> None:
    """Note the variable that an expression of the user's has assigned a value to."""
    name, is_whole = initialization.assigned_variable(expression)
    value = frame.FindVariable(name) if name else lldb.SBValue()
    # `p[0] = 1` writes to what a pointer points to.
    if value.IsValid() and (is_whole or not value.GetType().IsPointerType()):
        initialization.assigned.add(value.GetLoadAddress())


def find_unsized(debugger: Any, frame: Any) -> list[str]:
    """Return the names of a frame's variable-length arrays.

    For the length gcc writes an expression, whose size LLDB takes for the length.
    """
    own = frame.GetVariables(False, True, False, True)
    if not any(each.GetType().IsArrayType() for each in own):
        return []
    return list(optimized.describe_frame(debugger, frame, frame.GetFrameID()).get("unsized", ()))


def find_unset(debugger: Any, frame: Any) -> list[str]:
    """Return the names of a frame's variables that are not initialised yet.

    Only for unoptimised code.
    """
    function, entry = frame.GetFunction(), frame.GetLineEntry()
    level = frame.GetFrameID()
    if frame.IsInlined() or not function.IsValid() or not entry.GetLine():
        return []
    unstored = level == 0 and _is_in_prologue(frame)
    # Outer blocks come first: the last variable of a name shadows the others.
    variables = {each.GetName(): each for each in frame.GetVariables(True, True, False, True)}
    own, arguments = [], []
    for each in variables.values():
        if unstored and each.GetValueType() == lldb.eValueTypeVariableArgument:
            arguments.append(each.GetName())
        declared = each.GetDeclaration()
        is_local = each.GetValueType() == lldb.eValueTypeVariableLocal and declared.GetLine()
        if is_local and declared.GetFileSpec() == entry.GetFileSpec():
            own.append((each, declared.GetLine()))
    if not (own or arguments) or function.GetIsOptimized():
        return []
    target = frame.GetThread().GetProcess().GetTarget()
    flow = read(target, function)
    if flow is None or optimized.describe_frame(debugger, frame, level)["lists"]:
        return []
    callee = frame.GetThread().GetFrameAtIndex(level - 1) if level else None
    address = frame.GetPCAddress().GetFileAddress()
    position = initialization.Position(
        entry.GetFileSpec().fullpath or "",
        entry.GetLine(),
        function.GetStartAddress().GetLineEntry().GetLine(),
        # The byte before a return address belongs to the call.
        address - (1 if level else 0),
        callee.GetFunctionName() if callee is not None else None,
    )
    is_c = frame.GetCompileUnit().GetLanguage() in _C
    return arguments + [
        value.GetName()
        for value, line in own
        if _has_content(value)
        and initialization.is_unset(
            initialization.Variable(
                value.GetName(), line, _is_bare(value.GetType(), is_c), value.GetLoadAddress()
            ),
            position,
            flow,
        )
    ]


def _is_in_prologue(frame: Any) -> bool:
    """Whether the arguments are not stored yet: a step may end there, in a function on one line."""
    entry = frame.GetFunction().GetStartAddress().GetLineEntry()
    start, end = (
        each.GetFileAddress() for each in (entry.GetStartAddress(), entry.GetEndAddress())
    )
    return bool(start <= frame.GetPCAddress().GetFileAddress() < end)


def _has_content(value: Any) -> bool:
    kind = value.GetType().GetCanonicalType()
    return kind.GetTypeClass() not in _STRUCTS or kind.GetByteSize() > 1 or kind.GetNumberOfFields()


def _is_bare(kind: Any, is_c: bool) -> bool:
    """Whether a declaration without a value leaves a variable of a type uninitialised."""
    kind = kind.GetCanonicalType()
    while kind.IsArrayType():
        kind = kind.GetArrayElementType().GetCanonicalType()
    return kind.GetTypeClass() in _BARE or (is_c and kind.GetTypeClass() in _STRUCTS)


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -s current -f {__name__}.unset {COMMAND}")
