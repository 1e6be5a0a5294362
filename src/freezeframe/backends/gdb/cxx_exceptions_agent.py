# mypy: ignore-errors
"""Runs inside gdb: type, base types and message of a C++ exception that is thrown or caught.

By the Itanium C++ ABI: a program seldom has debug information about the types of exceptions.
"""

import json
import re

import gdb

#: object and type of an exception: arguments of the C++ library's SystemTap probe, where it has
#: one, and of the function at whose first instruction the program stopped
_THROWN = (("$_probe_arg0", "$_probe_arg1"), ("$rdi", "$rsi"), ("$x0", "$x1"), ("$a0", "$a1"))
#: types that store their message behind the virtual table pointer
_WITH_MESSAGE = ("std::runtime_error", "std::logic_error")


def freezeframe_thrown(with_message: bool = True) -> None:
    """Print the exception of the selected thread: its types, and its message or its value."""
    gdb.newest_frame().select()
    for address, info in _THROWN:
        try:
            types = _types(_word(info))
            if types:
                report = {"types": types}
                if with_message:
                    report.update(_message(types, _word(address)))
                gdb.write(json.dumps(report) + "\n")
                return
        except gdb.error:
            continue


def _word(expression: str) -> int:
    return int(gdb.parse_and_eval(f"(unsigned long)({expression})"))


def _symbol(address: int, before: str) -> str:
    """Return the rest of a symbol's name after a prefix, for the symbol at an address."""
    text = gdb.execute(f"info symbol {address:#x}", to_string=True)
    found = re.match(rf"{before} (.*?)(?:@+[\w.]+)?(?: \+ \d+)? in section", text)
    return found[1] if found is not None else ""


def _types(first: int) -> list[str]:
    """Return the names of a type and of all its base types."""
    word = _word("sizeof(void*)")
    names: list[str] = []
    waiting = [first]
    while waiting:
        info = waiting.pop(0)
        name = _symbol(info, "typeinfo for")
        if not name or name in names:
            continue
        names.append(name)
        kind = _symbol(_word(f"*(unsigned long*){info:#x}"), "vtable for")
        bases = info + 2 * word
        if "__si_class" in kind:
            waiting.append(_word(f"*(unsigned long*){bases:#x}"))
        elif "__vmi_class" in kind:
            count = _word(f"*(unsigned int*){bases + 4:#x}")
            each = (bases + 8 + 2 * word * index for index in range(count))
            waiting += [_word(f"*(unsigned long*){address:#x}") for address in each]
    return names


def _message(types: list[str], address: int) -> dict[str, str]:
    text = None
    if any(name in _WITH_MESSAGE for name in types):
        text = f"*(char**)({address:#x}+sizeof(void*))"
    elif "std::exception" in types:
        # By its slot in the virtual table, after two destructors.
        text = f"((char*(*)(void*))(*(void***){address:#x})[2])((void*){address:#x})"
    try:
        if text is not None:
            return {"message": gdb.parse_and_eval(text).string(errors="replace")}
    except gdb.error:
        pass
    try:
        return {"value": str(gdb.parse_and_eval(f"*({types[0]}*){address:#x}"))}
    except gdb.error:
        return {}
