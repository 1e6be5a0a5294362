"""What a Rust panic says, asked at its stop by raw commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass

from freezeframe.backends import panics
from freezeframe.model.stops import ExceptionInfo

from ._inquiry import Ask, Inquiry, Thrown


@dataclass(frozen=True, slots=True)
class Commands:
    """How a debugger is asked for a function's arguments, words of memory, and a name."""

    argument: Callable[[str, int], Ask]
    words: Callable[[int, int], str]
    symbol: Callable[[int], str]
    #: what the registers of arguments depend on
    machine: str | None = None


def examine(commands: Commands) -> Inquiry:
    machine = ((yield Ask(commands.machine, raw=True)) or "") if commands.machine else ""
    arguments = []
    for index in range(2):
        told = yield commands.argument(machine, index)
        found = re.search(r"(?<![\w$])(0x[0-9a-f]+|\d+)\b", told or "")
        if found is None:
            return None
        arguments.append(int(found[1], 0))
    message = yield from _put(commands, panics.message(*arguments))
    return Thrown(ExceptionInfo("panic", message)) if message is not None else None


def _put(commands: Commands, reading: panics.Reading) -> Generator[Ask, str | None, str | None]:
    try:
        asked = next(reading)
        while True:
            if isinstance(asked, panics.Symbol):
                asked = reading.send((yield Ask(commands.symbol(asked.address), raw=True)))
            else:
                told = yield Ask(commands.words(asked.address, asked.count), raw=True)
                asked = reading.send(_memory(told or ""))
    except StopIteration as end:
        message: str | None = end.value
        return message


def _memory(text: str) -> bytes:
    """Read `0x5563f5577800: 0x00005563f55284a0 0x0000000000000020`, and more such lines."""
    # gdb may put warnings between an address and its words.
    lines = re.findall(r":((?:\s+0x[0-9a-f]{1,16})+)\s*$", text, re.M)
    numbers = [int(word, 16) for line in lines for word in line.split()]
    return b"".join(number.to_bytes(8, "little") for number in numbers)
