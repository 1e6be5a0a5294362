"""The message of a Rust panic, queried at its stop by raw commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass

from freezeframe.backends import panics
from freezeframe.model.stops import ExceptionInfo

from ._exception_query import AdapterQuery, ExceptionDetails, ExceptionQuery


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands that read a function's arguments, machine words in memory, and a symbol."""

    argument: Callable[[str, int], AdapterQuery]
    read_memory: Callable[[int, int], str]
    symbol: Callable[[int], str]
    #: a raw command; the argument registers depend on its answer
    machine: str | None = None


def examine(commands: Commands) -> ExceptionQuery:
    machine = ((yield AdapterQuery(commands.machine, raw=True)) or "") if commands.machine else ""
    arguments = []
    for index in range(2):
        answer = yield commands.argument(machine, index)
        found = re.search(r"(?<![\w$])(0x[0-9a-f]+|\d+)\b", answer or "")
        if found is None:
            return None
        arguments.append(int(found[1], 0))
    message = yield from _put(commands, panics.message(*arguments))
    return ExceptionDetails(ExceptionInfo("panic", message)) if message is not None else None


def _put(
    commands: Commands, reading: panics.Reading
) -> Generator[AdapterQuery, str | None, str | None]:
    try:
        query = next(reading)
        while True:
            if isinstance(query, panics.SymbolQuery):
                query = reading.send((yield AdapterQuery(commands.symbol(query.address), raw=True)))
            else:
                answer = yield AdapterQuery(
                    commands.read_memory(query.address, query.count), raw=True
                )
                query = reading.send(_memory(answer or ""))
    except StopIteration as end:
        message: str | None = end.value
        return message


def _memory(text: str) -> bytes:
    """Parse `0x5563f5577800: 0x00005563f55284a0 0x0000000000000020` and more such lines."""
    # gdb may print warnings between an address and its words.
    lines = re.findall(r":((?:\s+0x[0-9a-f]{1,16})+)\s*$", text, re.M)
    numbers = [int(number, 16) for line in lines for number in line.split()]
    return b"".join(number.to_bytes(8, "little") for number in numbers)
