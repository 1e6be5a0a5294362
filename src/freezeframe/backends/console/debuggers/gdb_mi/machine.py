"""Memory and instructions."""

from __future__ import annotations

from freezeframe.backends.console.reader import Fields
from freezeframe.errors import DebuggerError
from freezeframe.model.answers import Instruction

from . import names
from .line import GdbRefused, Line, rows

#: the longest instruction of any machine that matters, in bytes
_LONGEST = 16


async def read_memory(line: Line, address: str, count: int) -> tuple[str, bytes, int]:
    """Return the address, what could be read from there on, and how many bytes could not."""
    begin = int(address, 0)
    body = await line.ask(f"-data-read-memory-bytes {begin:#x} {count}")
    data = b""
    for each in rows(body.get("memory")):
        at = int(each["begin"], 0)
        if at != begin + len(data):
            break  # a hole: what lies behind it is not what was asked for
        data += bytes.fromhex(str(each["contents"]))
    if not data:
        raise DebuggerError(f"Cannot access memory at address {begin:#x}.")
    return f"{begin:#x}", data, count - len(data)


async def write_memory(line: Line, address: str, data: bytes) -> int:
    await line.ask(f"-data-write-memory-bytes {int(address, 0):#x} {data.hex()}")
    return len(data)


async def disassemble(line: Line, address: str, count: int, offset: int) -> list[Instruction]:
    """Return *count* instructions from *offset* instructions behind *address* on."""
    begin = int(address, 0)
    if offset < 0:
        # Backwards there is no telling where an instruction begins, but from its function's start.
        known = await _listed(line, f"-a {begin:#x}", begin)
        index = next((i for i, each in enumerate(known) if int(each.address, 0) == begin), 0)
        first = max(0, index + offset)
        if first + count <= len(known):
            return known[first : first + count]
        return (
            known[first:]
            + (await _from(line, begin, count))[len(known) - index :][: count - len(known[first:])]
        )
    return (await _from(line, begin, count + offset))[offset:]


async def _from(line: Line, begin: int, count: int) -> list[Instruction]:
    size = count * _LONGEST
    while True:
        try:
            found = await _listed(line, f"-s {begin:#x} -e {begin + size:#x}", begin)
            return found[:count]
        except GdbRefused:
            # The end of what is mapped lies before the end of what was asked for.
            size //= 2
            if size < _LONGEST:
                raise


async def _listed(line: Line, where: str, current: int) -> list[Instruction]:
    body = await line.ask(f"-data-disassemble {where} -- 5")
    found = []
    for each in rows(body.get("asm_insns")):
        if "line_asm_insn" in each:
            for inner in rows(each["line_asm_insn"]):
                found.append(_instruction(inner, each, current))
        else:
            found.append(_instruction(each, {}, current))
    # Lines of source come in the order of the source; instructions are wanted in theirs.
    return sorted(found, key=lambda instruction: int(instruction.address, 0))


def _instruction(body: Fields, source: Fields, current: int) -> Instruction:
    address = str(body["address"])
    symbol = body.get("func-name")
    if symbol is not None:
        symbol = names.function_name(str(symbol))
    line = source.get("line")
    return Instruction(
        address,
        str(body.get("inst", "")).replace("\t", " "),
        body.get("opcodes"),
        symbol,
        names.place(source),
        int(line) if line else None,
        int(address, 0) == current,
    )
