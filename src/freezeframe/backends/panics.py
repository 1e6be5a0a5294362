"""What a Rust panic says, read from memory where the program has not written it.

At `rust_panic` the first two arguments are the payload and its table of functions: a destructor,
the size, the alignment, and methods, whose names say what the payload is (measured with Rust
1.95). The panic hook, which has run by then, has made a formatted message text.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

_ARGUMENTS = {"x86-64": ("$rdi", "$rsi"), "aarch64": ("$x0", "$x1"), "riscv": ("$a0", "$a1")}
_DEFAULT = _ARGUMENTS["x86-64"]


def registers(architecture: str) -> tuple[str, str]:
    """Return the registers of a function's first two arguments, in gdb's words."""
    return next((two for name, two in _ARGUMENTS.items() if name in architecture), _DEFAULT)


_WORD = 8
#: payloads that begin with a String, and with a `&str`
_OWNED = ("::FormatStringPayload", "begin_panic::Payload<alloc::string::String>")
_BORROWED = ("::StaticStrPayload", "begin_panic::Payload<&str>")
#: no longer message is read
_LONGEST = 16_384


@dataclass(frozen=True, slots=True)
class Words:
    """A question for so many words of 64 bits at an address."""

    address: int
    count: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A question for the function at an address."""

    address: int


#: Yields questions, is sent the memory or the name (None for a failure), returns the message.
Reading = Generator[Words | Symbol, bytes | str | None, str | None]


def message(payload: int, table: int) -> Reading:
    drop, _, _, method = _numbers((yield Words(table, 4)), 4)
    name = str((yield Symbol(method)) or "")
    # A generic's method does not always name its type; what destroys it does.
    name += str((yield Symbol(drop)) or "") if drop else ""
    # LLDB leaves the older names half as they are.
    name = name.replace("$LT$", "<").replace("$GT$", ">").replace("..", "::")
    if any(each in name for each in _OWNED):
        # room, address, length
        room, begin, length = _numbers((yield Words(payload, 3)), 3)
        if length > room or room >> 63:
            return None
    elif any(each in name for each in _BORROWED):
        begin, length = _numbers((yield Words(payload, 2)), 2)
    else:
        return None
    if not begin or not 0 < length <= _LONGEST:
        return None
    text = yield Words(begin, -(-length // _WORD))
    if not isinstance(text, bytes):
        return None
    try:
        return text[:length].decode()
    except UnicodeDecodeError:
        return None


def _numbers(memory: bytes | str | None, count: int) -> list[int]:
    """Return so many words; zeroes where they could not be read."""
    data = memory if isinstance(memory, bytes) else b""
    data = data.ljust(count * _WORD, b"\0")
    return [int.from_bytes(data[at * _WORD : (at + 1) * _WORD], "little") for at in range(count)]
