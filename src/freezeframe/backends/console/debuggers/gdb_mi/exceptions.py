"""What a C++ exception is and says, when it is thrown or caught; what a Rust panic says."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from freezeframe.backends import native_tests, panics
from freezeframe.backends.console.reader import quote
from freezeframe.backends.gdb.texts import tidy
from freezeframe.errors import DebuggerError
from freezeframe.model.stops import ExceptionInfo

from .line import Line, at
from .machine import read_memory

#: an exception whose type cannot be told
UNKNOWN = "exception"
#: the same where the library has probes, which stand for the first and second of what they tell
_TOLD = ("$_probe_arg0", "$_probe_arg1")
#: bases between a class and std::exception
_DEEPEST = 8
#: they keep what they say behind their virtual table
_SAYING = frozenset({"std::runtime_error", "std::logic_error"})


@dataclass(frozen=True, slots=True)
class Thrown:
    """An exception, and its type with every one that it inherits from."""

    info: ExceptionInfo
    types: tuple[str, ...] = ()


async def thrown(line: Line, thread: int, mode: str, value_s: float, python: bool) -> Thrown:
    """Return type and message, as far as they can be told."""
    where = at(thread, 0)
    try:
        if not python:
            raise DebuggerError("gdb has no Python.")
        types, object = await _by_probe(line, where)
    except DebuggerError:
        try:
            types, object = await _by_arguments(line, where)
        except DebuggerError:
            return Thrown(ExceptionInfo(UNKNOWN, "", mode=mode))
    message = await _message(line, where, types, object, value_s)
    return Thrown(ExceptionInfo(types[0], message, mode=mode), tuple(types))


async def _by_probe(line: Line, where: str) -> tuple[list[str], str]:
    """gdb's own variable; it needs probes in the C++ library."""
    said = await line.cli("python freezeframe_thrown()", where=where)
    address, *types = said.strip().split("\x1f")
    if not types:
        raise DebuggerError("gdb knows no exception here.")
    return types, address


async def _by_arguments(line: Line, where: str) -> tuple[list[str], str]:
    """What the C++ library tells where it throws and catches, whose types gdb need not know.

    Else the arguments of the function that throws, which the program stands at the beginning of.
    """
    object, info = _TOLD
    try:
        types = [await _type_at(line, where, info)]
    except DebuggerError:
        # object and type of `__cxa_throw`
        object, info = await _registers(line)
        types = [await _type_at(line, where, info)]
    way = f"(char*){info}"
    while types[-1] != "std::exception" and len(types) < _DEEPEST:
        way = f"*(char**)({way}+2*sizeof(void*))"
        try:
            types.append(await _type_at(line, where, way))
        except DebuggerError:
            break
    return types, object


async def _registers(line: Line) -> tuple[str, str]:
    """Return the registers of the first and second argument of a function."""
    return panics.registers(await line.cli("show architecture"))


async def panicked(line: Line, thread: int | None) -> str | None:
    """Return what a Rust panic says, where `rust_panic` begins; None where it cannot be told."""
    where = at(thread, 0)
    try:
        numbers = []
        for register in await _registers(line):
            body = await line.ask(f"-data-evaluate-expression{where} {quote(register)}")
            numbers.append(int(str(body.get("value", "")).split()[0], 0))
        reading = panics.message(*numbers)
        asked = next(reading)
        while True:
            asked = reading.send(await _answer(line, asked))
    except StopIteration as end:
        said: str | None = end.value
        return said
    except (DebuggerError, ValueError, IndexError):
        return None


async def failed(line: Line, thread: int | None, function: str) -> ExceptionInfo | None:
    """Return what a failing assertion says; None for a result that is no failure."""
    told = ExceptionInfo(native_tests.NAME, "", mode=native_tests.NAME)
    if not native_tests.tells_results(function):
        return told
    where = at(thread, 0)
    names = native_tests.registers(await line.cli("show architecture"))
    try:
        kind = await line.ask(f"-data-evaluate-expression{where} {names[native_tests.KIND]}")
        if not native_tests.is_failure(int(str(kind.get("value", "")).split()[0], 0)):
            return None
        text = quote(f"*(char**){names[native_tests.TEXT]}")
        said = await line.ask(f"-data-evaluate-expression{where} {text}")
    except (DebuggerError, ValueError, IndexError):
        return told
    return replace(told, message=_words(str(said.get("value", ""))) or "")


async def _answer(line: Line, asked: panics.Words | panics.Symbol) -> bytes | str | None:
    if isinstance(asked, panics.Symbol):
        return await line.cli(f"info symbol {asked.address:#x}")
    return (await read_memory(line, hex(asked.address), asked.count * 8))[1]


async def _type_at(line: Line, where: str, address: str) -> str:
    said = await line.cli(f"info symbol {address}", where=where)
    match = re.match(r"typeinfo for (.*?)(?:@+[\w.]+)?(?: \+ \d+)? in section", said)
    if match is None:
        raise DebuggerError("that is no type of C++.")
    return match[1]


async def _message(line: Line, where: str, types: list[str], object: str, value_s: float) -> str:
    ways = [f"*({types[0]}*){object}"]
    if _SAYING & set(types):
        ways.insert(0, f"*(char**)((char*){object}+sizeof(void*))")
    elif "std::exception" in types:
        # By its place in the table of virtual functions (Itanium ABI), behind two destructors:
        # programs seldom have debug information about std::exception itself.
        ways.insert(0, f"((char*(*)(void*))(*(void***){object})[2])({object})")
    for way in ways:
        try:
            body = await line.ask(
                f"-data-evaluate-expression{where} {quote(way)}", timeout_s=value_s
            )
        except DebuggerError:
            continue
        text = str(body.get("value", ""))
        return _words(text) or tidy(text)
    return ""


def _words(text: str) -> str | None:
    """Return the string behind a pointer's address."""
    words = re.fullmatch(r'0x[0-9a-f]+ (?:<[^"]*> )?"(.*)"', text, re.DOTALL)
    return words[1].replace('\\"', '"') if words else None
