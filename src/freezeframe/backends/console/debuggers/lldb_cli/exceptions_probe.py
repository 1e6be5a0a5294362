"""Runs inside LLDB: what a C++ exception is and says, where it is thrown or caught."""

from collections.abc import Callable
from typing import Any

import lldb  # type: ignore[import-not-found]
import values_probe as values  # type: ignore[import-not-found]

#: the way from the unwinder's header back to the type in a C++ exception's own, on 64 bits
_TYPE_BEFORE_HEADER, _OBJECT_AFTER_HEADER = 80, 32
#: types that keep what they say behind their virtual table
_SAYING = ("std::runtime_error", "std::logic_error")
_MAX_BASES, _LONGEST = 16, 4096


def thrown(
    frame: Any, process: Any, name: str, run: Callable[[str], tuple[bool, str]]
) -> dict[str, Any]:
    """Return type and message at the runtime's own functions, as far as they can be told."""
    told = {"type": "exception", "message": "", "mode": "raised"}
    try:
        first = _number(frame, "$arg1")
        if name == "catch":
            info = _pointer(process, first - _TYPE_BEFORE_HEADER)
            where = first + _OBJECT_AFTER_HEADER
        else:
            info, where = _number(frame, "$arg2"), first
        types = _types(process, info, run)
    except values.Refused:
        return told
    if types:
        told["type"] = types[0]
        if any(each in _SAYING for each in types):
            told["message"] = _text(process, _pointer(process, where + 8))
    return told


def _number(frame: Any, expression: str) -> int:
    return int(values.evaluate(frame, f"(unsigned long)({expression})").GetValueAsUnsigned())


def _pointer(process: Any, address: int) -> int:
    error = lldb.SBError()
    found = process.ReadPointerFromMemory(address, error)
    if error.Fail():
        raise values.Refused(error.GetCString())
    return int(found)


def _text(process: Any, address: int) -> str:
    error = lldb.SBError()
    return process.ReadCStringFromMemory(address, _LONGEST, error) or ""


def _types(process: Any, first: int, run: Callable[[str], tuple[bool, str]]) -> list[str]:
    """Return the name of a type and of those that it inherits from, one base each."""
    names: list[str] = []
    info = first
    while info and len(names) < _MAX_BASES:
        mangled = _text(process, _pointer(process, info + 8)).lstrip("*")
        said = run(f"language cplusplus demangle _ZTS{mangled}")[1]
        name = said.partition("typeinfo name for ")[2].strip()
        if not name:
            break
        names.append(name)
        table = lldb.SBAddress(_pointer(process, info), process.GetTarget())
        single = "__si_class_type_info" in (table.GetSymbol().GetName() or "")
        info = _pointer(process, info + 16) if single else 0
    return names
