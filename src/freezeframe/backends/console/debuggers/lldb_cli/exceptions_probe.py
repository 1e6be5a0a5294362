"""Runs inside LLDB: what a C++ exception is and says, where it is thrown or caught."""

import re
from typing import Any

import held_probe as held  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]
import machine_probe as machine  # type: ignore[import-not-found]
import values_probe as values  # type: ignore[import-not-found]

#: the way from the unwinder's header back to the type in a C++ exception's own, on 64 bits
_TYPE_BEFORE_HEADER, _OBJECT_AFTER_HEADER = 80, 32
#: types that keep what they say behind their virtual table
_SAYING = ("std::runtime_error", "std::logic_error")
_MAX_BASES, _LONGEST = 16, 4096
_MANGLED = re.compile(r"\w+")


def thrown(frame: Any, name: str) -> dict[str, Any]:
    """Return type, message and all types at the runtime's own functions, as far as can be told."""
    told: dict[str, Any] = {"type": "exception", "message": "", "mode": name, "types": []}
    try:
        first = _number(frame, "$arg1")
        if name == "catch":
            info = _pointer(first - _TYPE_BEFORE_HEADER)
            where = first + _OBJECT_AFTER_HEADER
        else:
            info, where = _number(frame, "$arg2"), first
        types = _types(info)
    except held.Refused:
        return told
    if types:
        told.update(type=types[0], types=types)
        if any(each in _SAYING for each in types):
            told["message"] = _text(_pointer(where + 8))
    return told


def is_of_type(types: list[str], wanted: str) -> bool:
    """Whether an exception is of one of the types in a list with commas."""
    names = [each.strip() for each in wanted.split(",") if each.strip()]
    return any(kind == each or kind.endswith(f"::{each}") for kind in types for each in names)


def _number(frame: Any, expression: str) -> int:
    return int(values.evaluate(frame, f"(unsigned long)({expression})").GetValueAsUnsigned())


def _pointer(address: int) -> int:
    error = lldb.SBError()
    found = held.process().ReadPointerFromMemory(address, error)
    held.check(error)
    return int(found)


def _whole(address: int) -> int:
    error = lldb.SBError()
    found = held.process().ReadUnsignedFromMemory(address, 4, error)
    held.check(error)
    return int(found)


def _text(address: int) -> str:
    # LLDB's own way to read a text raises for one that is no UTF-8.
    data = bytes.fromhex(machine.read_memory(held.process(), address, _LONGEST))
    return data.partition(b"\0")[0].decode("utf-8", "replace")


def _types(first: int) -> list[str]:
    """Return the name of a type and of every one that it inherits from."""
    names = [name for name in [_name(first)] if name]
    waiting = [first] if names else []
    while waiting and len(names) < _MAX_BASES:
        for base in _bases(waiting.pop(0)):
            name = _name(base)
            if name and name not in names:
                names.append(name)
                waiting.append(base)
    return names


def _name(info: int) -> str:
    """Return the name of the type that a `std::type_info` is of; empty where there is none."""
    try:
        mangled = _text(_pointer(info + 8)).lstrip("*")
    except held.Refused:
        return ""
    if not _MANGLED.fullmatch(mangled):
        return ""
    said = held.run(f"language cplusplus demangle _ZTS{mangled}")[1]
    return str(said.partition("typeinfo name for ")[2].strip())


def _bases(info: int) -> list[int]:
    """Return the `std::type_info` of each type that one inherits from."""
    try:
        table = lldb.SBAddress(_pointer(info), held.target()).GetSymbol().GetName() or ""
        if "__vmi_class_type_info" in table:
            bases = range(min(_whole(info + 20), _MAX_BASES))
            return [_pointer(info + 24 + 16 * index) for index in bases]
        # LLDB 14 does not know the table: what stands there is a type, or has no name.
        if "__si_class_type_info" in table or not table:
            return [_pointer(info + 16)]
    except held.Refused:
        pass
    return []
