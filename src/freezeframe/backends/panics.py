"""The message of a Rust panic, read from memory if the program has not printed it.

At `rust_panic` the first two arguments are the payload and its vtable: destructor, size,
alignment, and methods, whose names show the type of the payload (measured with Rust 1.95). The
panic hook has run by then and has formatted the message.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

_ARGUMENTS = {"x86-64": ("$rdi", "$rsi"), "aarch64": ("$x0", "$x1"), "riscv": ("$a0", "$a1")}
_DEFAULT = _ARGUMENTS["x86-64"]


def registers(architecture: str) -> tuple[str, str]:
    """Return the registers of a function's first two arguments, in gdb's syntax."""
    return next((two for name, two in _ARGUMENTS.items() if name in architecture), _DEFAULT)


_WORD = 8
#: Payload types that begin with a String, and with a `&str`.
_OWNED = ("::FormatStringPayload", "begin_panic::Payload<alloc::string::String>")
_BORROWED = ("::StaticStrPayload", "begin_panic::Payload<&str>")
#: Longer messages are not read.
_LONGEST = 16_384


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A query for *count* 64-bit words at an address."""

    address: int
    count: int


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """A query for the function at an address."""

    address: int


#: Yields queries, is sent the memory or the name (None for a failure), returns the message.
Reading = Generator[MemoryQuery | SymbolQuery, bytes | str | None, str | None]


def message(payload: int, table: int) -> Reading:
    drop, _, _, method = _numbers((yield MemoryQuery(table, 4)), 4)
    name = str((yield SymbolQuery(method)) or "")
    # A generic's method does not always name its type; its destructor does.
    name += str((yield SymbolQuery(drop)) or "") if drop else ""
    # LLDB demangles the older names only in part.
    name = name.replace("$LT$", "<").replace("$GT$", ">").replace("..", "::")
    if any(each in name for each in _OWNED):
        # capacity, address, length
        capacity, begin, length = _numbers((yield MemoryQuery(payload, 3)), 3)
        if length > capacity or capacity >> 63:
            return None
    elif any(each in name for each in _BORROWED):
        begin, length = _numbers((yield MemoryQuery(payload, 2)), 2)
    else:
        return None
    if not begin or not 0 < length <= _LONGEST:
        return None
    text = yield MemoryQuery(begin, -(-length // _WORD))
    if not isinstance(text, bytes):
        return None
    try:
        return text[:length].decode()
    except UnicodeDecodeError:
        return None


def _numbers(memory: bytes | str | None, count: int) -> list[int]:
    """Return *count* numbers; zeroes for those that could not be read."""
    data = memory if isinstance(memory, bytes) else b""
    data = data.ljust(count * _WORD, b"\0")
    return [int.from_bytes(data[at * _WORD : (at + 1) * _WORD], "little") for at in range(count)]
