"""What a C++ exception is and says, at the moment when it is thrown or caught."""

from __future__ import annotations

import re

from freezeframe.backends.console.reader import quote
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import ExceptionInfo

from .line import Line, at

#: an exception whose type cannot be told
UNKNOWN = "exception"
#: registers of the first and second argument of a function: object and type of `__cxa_throw`
_ARGUMENTS = {"x86-64": ("$rdi", "$rsi"), "aarch64": ("$x0", "$x1"), "riscv": ("$a0", "$a1")}

#: bases between a class and std::exception
_DEEPEST = 8


async def thrown(line: Line, thread: int, mode: str, value_s: float) -> ExceptionInfo:
    """Return type and message, as far as they can be told."""
    where = at(thread, 0)
    try:
        type, said = await _by_probe(line, where)
    except DebuggerError:
        try:
            type, said = await _by_arguments(line, where)
        except DebuggerError:
            return ExceptionInfo(UNKNOWN, "", mode=mode)
    for expression in said:
        try:
            body = await line.ask(
                f"-data-evaluate-expression{where} {quote(expression)}", timeout_s=value_s
            )
        except DebuggerError:
            continue
        text = str(body.get("value", ""))
        words = re.search(r'"(.*)"$', text, re.DOTALL)
        return ExceptionInfo(type, words[1] if words else text, mode=mode)
    return ExceptionInfo(type, "", mode=mode)


async def _by_probe(line: Line, where: str) -> tuple[str, list[str]]:
    """gdb's own variable; it needs probes in the C++ library."""
    made = await line.ask(f"-var-create{where} - * $_exception")
    await line.ask(f"-var-delete {made['name']}")
    type = str(made.get("type") or UNKNOWN).rstrip(" &")
    return type, ["$_exception.what()", "$_exception"]


async def _by_arguments(line: Line, where: str) -> tuple[str, list[str]]:
    """The arguments of the function that throws, which the program stands at the beginning of."""
    machine = await line.cli("show architecture")
    object, info = next(
        (regs for name, regs in _ARGUMENTS.items() if name in machine), ("$rdi", "$rsi")
    )
    type = await _type_at(line, where, info)
    base, way = type, f"(char*){info}"
    for _ in range(_DEEPEST):
        if base == "std::exception":
            # By its place in the table of virtual functions (Itanium ABI), behind two
            # destructors: programs seldom have debug information about std::exception itself.
            call = f"((char*(*)(void*))(*(void***){object})[2])({object})"
            return type, [call, f"*({type}*){object}"]
        way = f"*(char**)({way}+2*sizeof(void*))"
        try:
            base = await _type_at(line, where, way)
        except DebuggerError:
            break
    return type, [f"*({type}*){object}"]


async def _type_at(line: Line, where: str, address: str) -> str:
    said = await line.cli(f"info symbol {address}", where=where)
    match = re.match(r"typeinfo for (.*?)(?:@+[\w.]+)?(?: \+ \d+)? in section", said)
    if match is None:
        raise DebuggerError("that is no type of C++.")
    return match[1]
