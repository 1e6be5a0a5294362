"""Read the type and message of C++ exceptions, Rust panics, failed assertions and sanitizers."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace

from freezeframe.backends import gdb, native_tests, panics, sanitizers
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import quote
from freezeframe.backends.gdb import cxx_exceptions
from freezeframe.errors import DebuggerError, DebuggerTimeout
from freezeframe.model.stops import ExceptionInfo

from .memory import read_memory
from .mi_channel import MiChannel, MiError, at

#: shown for an exception whose type is unknown
UNKNOWN = "exception"


@dataclass(frozen=True, slots=True)
class CxxException:
    """An exception, with its type and all base types."""

    info: ExceptionInfo
    types: tuple[str, ...] = ()


async def thrown(channel: MiChannel, thread: int, mode: str, value_s: float) -> CxxException:
    """Return type and message, as far as gdb can read them."""
    for query in (cxx_exceptions.QUERY, cxx_exceptions.QUERY_TYPES):
        try:
            answer = await channel.cli(query, where=at(thread, 0), timeout_s=value_s)
        except DebuggerTimeout:
            continue  # a function of the program that returns the message did not return
        except DebuggerError:
            type = await _thrown_type(channel, at(thread, 0))
            return CxxException(ExceptionInfo(type, "", mode=mode))
        if (found := cxx_exceptions.read(answer)) is not None:
            types, message = found
            return CxxException(ExceptionInfo(types[0], message, mode=mode), tuple(types))
        break
    return CxxException(ExceptionInfo(UNKNOWN, "", mode=mode))


async def _thrown_type(channel: MiChannel, where: str) -> str:
    """Return the type of an exception that is thrown, in a gdb without Python."""
    for info in ("$_probe_arg1", (await _registers(channel))[1]):
        with contextlib.suppress(DebuggerError):
            output = await channel.cli(f"info symbol {info}", where=where)
            match = re.match(r"typeinfo for (.*?)(?:@+[\w.]+)?(?: \+ \d+)? in section", output)
            if match is not None:
                return match[1]
    return UNKNOWN


async def _registers(channel: MiChannel) -> tuple[str, str]:
    """Return the registers of a function's first and second argument."""
    return panics.registers(await channel.cli("show architecture"))


async def panicked(channel: MiChannel, thread: int | None) -> str | None:
    """Return the message of a Rust panic at the start of `rust_panic`; None if unreadable."""
    where = at(thread, 0)
    try:
        numbers = []
        for register in await _registers(channel):
            body = await channel.request(f"-data-evaluate-expression{where} {quote(register)}")
            numbers.append(int(str(body.get("value", "")).split()[0], 0))
        reading = panics.message(*numbers)
        query = next(reading)
        while True:
            query = reading.send(await _answer(channel, query))
    except StopIteration as end:
        message: str | None = end.value
        return message
    except (DebuggerError, ValueError, IndexError):
        return None


async def failed(channel: MiChannel, thread: int | None, function: str) -> ExceptionInfo | None:
    """Return the message of a failing assertion; None for a result that is not a failure."""
    info = ExceptionInfo(native_tests.NAME, "", mode=native_tests.NAME)
    if not native_tests.has_result_arguments(function):
        return info
    where = at(thread, 0)
    names = native_tests.registers(await channel.cli("show architecture"))
    try:
        kind = await channel.request(f"-data-evaluate-expression{where} {names[native_tests.KIND]}")
        if not native_tests.is_failure(int(str(kind.get("value", "")).split()[0], 0)):
            return None
        text = quote(f"*(char**){names[native_tests.TEXT]}")
        body = await channel.request(f"-data-evaluate-expression{where} {text}")
    except (DebuggerError, ValueError, IndexError):
        return info
    return replace(info, message=_string(str(body.get("value", ""))) or "")


async def _answer(
    channel: MiChannel, query: panics.MemoryQuery | panics.SymbolQuery
) -> bytes | str | None:
    if isinstance(query, panics.SymbolQuery):
        return await channel.cli(f"info symbol {query.address:#x}")
    return (await read_memory(channel, hex(query.address), query.count * 8))[1]


def _string(text: str) -> str | None:
    """Return the string that gdb prints after a pointer's address."""
    match = re.fullmatch(r'0x[0-9a-f]+ (?:<[^"]*> )?"(.*)"', text, re.DOTALL)
    return native_tests.unescaped(match[1]) if match else None


async def sanitized(channel: MiChannel, thread: int | None, printed: str) -> ExceptionInfo:
    """Return a sanitizer's report; *printed* is the end of the program's output."""
    where = await channel.request(f"-stack-info-frame{at(thread, 0)}")
    if str((where.get("frame") or {}).get("func", "")).endswith("__ubsan_on_report"):
        try:
            answer = await channel.cli(gdb.UNDEFINED, where=at(thread, 0))
        except MiError:
            answer = None
        return sanitizers.read_undefined(answer)
    return sanitizers.read_printed(printed)
