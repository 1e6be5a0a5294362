"""Runs inside LLDB: type, base types and message of a C++ exception that is thrown or caught.

By the Itanium C++ ABI on 64 bits: a program seldom has debug information about the types.
"""

import json
import re
from typing import Any

import lldb  # type: ignore[import-not-found]

COMMAND = "freezeframe-thrown"
#: offsets of the type and the object from the unwinder's header in a C++ exception
_TYPE_BEFORE_HEADER, _OBJECT_AFTER_HEADER = 80, 32
#: types that store their message behind the vtable pointer
_WITH_MESSAGE = ("std::runtime_error", "std::logic_error")
_MAX_BASES, _LONGEST, _PAGE = 16, 4096, 4096
_MANGLED = re.compile(r"\w+")


class _Unreadable(Exception):
    """The program has no such memory."""


def exception_of(process: Any, mode: str, first: int, second: int) -> dict[str, Any]:
    """Return `types`, the type first, and `message`; *first* and *second* are the arguments of the
    runtime's function for *mode*: throw or catch.
    """
    try:
        info, where = second, first
        if mode == "catch":
            info = _number(process, first - _TYPE_BEFORE_HEADER, 8)
            where = first + _OBJECT_AFTER_HEADER
        types, message = _types(process, info), ""
        if any(each in _WITH_MESSAGE for each in types):
            message = _text(process, _number(process, where + 8, 8))
    except _Unreadable:
        return {"types": [], "message": ""}
    return {"types": types, "message": message}


def thrown(_debugger: Any, command: str, context: Any, result: Any, _state: Any) -> None:
    """Take a mode and its arguments; print the exception as JSON."""
    mode, *arguments = command.split()
    found = exception_of(context.GetProcess(), mode, *map(int, arguments))
    result.AppendMessage(json.dumps(found))


def _number(process: Any, address: int, size: int) -> int:
    error = lldb.SBError()
    found = process.ReadUnsignedFromMemory(address, size, error)
    if error.Fail():
        raise _Unreadable
    return int(found)


def _text(process: Any, address: int) -> str:
    # LLDB's own function raises for a string that is not UTF-8.
    data, error = b"", lldb.SBError()
    while b"\0" not in data and len(data) < _LONGEST:
        here = address + len(data)
        read = process.ReadMemory(here, _PAGE - here % _PAGE, error)
        if error.Fail() or not read:
            break
        data += bytes(read)
    return data[:_LONGEST].partition(b"\0")[0].decode("utf-8", "replace")


def _types(process: Any, first: int) -> list[str]:
    """Return the names of a type and all its base types."""
    names: list[str] = []
    waiting = [first]
    while waiting and len(names) < _MAX_BASES:
        info = waiting.pop(0)
        try:
            name = _name(process, info)
            if name and name not in names:
                names.append(name)
                waiting += _bases(process, info)
        except _Unreadable:
            continue
    return names


def _name(process: Any, info: int) -> str:
    """Return the name of the type of a `std::type_info`; empty if there is none."""
    mangled = _text(process, _number(process, info + 8, 8)).lstrip("*")
    if not _MANGLED.fullmatch(mangled):
        return ""
    result = lldb.SBCommandReturnObject()
    interpreter = process.GetTarget().GetDebugger().GetCommandInterpreter()
    interpreter.HandleCommand(f"language cplusplus demangle _ZTS{mangled}", result)
    return str((result.GetOutput() or "").partition("typeinfo name for ")[2].strip())


def _bases(process: Any, info: int) -> list[int]:
    """Return the `std::type_info` of each direct base type."""
    table = lldb.SBAddress(_number(process, info, 8), process.GetTarget()).GetSymbol().GetName()
    if table and "__vmi_class_type_info" in table:
        count = min(_number(process, info + 20, 4), _MAX_BASES)
        return [_number(process, info + 24 + 16 * index, 8) for index in range(count)]
    # LLDB 14 does not know the vtable: the next word is a type, or has no name.
    if not table or "__si_class_type_info" in table:
        return [_number(process, info + 16, 8)]
    return []


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -s current -f {__name__}.thrown {COMMAND}")
