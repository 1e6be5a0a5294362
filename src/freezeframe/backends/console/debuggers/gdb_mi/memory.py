"""Read and write memory, list registers, disassemble."""

from __future__ import annotations

import asyncio
import re

from freezeframe.backends.backend import RawValue
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields
from freezeframe.errors import DebuggerError
from freezeframe.model.answers import Instruction

from . import frame_names
from .mi_channel import MiChannel, MiError, rows

#: length in bytes of the longest instruction on any supported processor
_LONGEST = 16
#: bytes to search backward for an instruction in code without symbols
_LOOK_BACK = 24

_GENERAL, _FLOAT, _VECTOR = (
    "General Purpose Registers",
    "Floating Point Registers",
    "Vector Registers",
)
_FLOATS = re.compile(r"st\d|f(ctrl|stat|tag|iseg|ioff|oseg|ooff|op)|mxcsr|fp[cs]r")
_MASKS = re.compile(r"k\d")


async def registers(channel: MiChannel, where: str) -> dict[str, list[RawValue]]:
    """Return the registers of a frame by group; vectors as raw bits."""
    general, named, natural, bits = await asyncio.gather(
        channel.cli("info registers", where=where),
        channel.request("-data-list-register-names"),
        channel.request(f"-data-list-register-values{where} --skip-unavailable N"),
        channel.request(f"-data-list-register-values{where} --skip-unavailable r"),
    )
    titles = [str(each) for each in rows(named.get("register-names"))]
    raw = {str(each["number"]): str(each["value"]) for each in rows(bits.get("register-values"))}
    groups: dict[str, list[RawValue]] = {_GENERAL: [], _FLOAT: [], _VECTOR: []}
    first: set[str] = set()
    for row in general.splitlines():
        columns = row.split(None, 2)
        if len(columns) >= 2 and not _MASKS.fullmatch(columns[0]):
            first.add(columns[0])
            # Raw value, then natural value: both are shown only if they differ.
            note = columns[2] if len(columns) > 2 else ""
            plain = not note or note == columns[1] or re.fullmatch(r"-?\d+", note)
            text = columns[1] if plain else note if columns[1] in note else f"{columns[1]} {note}"
            groups[_GENERAL].append(RawValue(columns[0], text, expression=f"${columns[0]}"))
    for each in rows(natural.get("register-values")):
        title, text = titles[int(each["number"])], str(each["value"])
        if title and title not in first:
            vector = text.startswith("{") or not _FLOATS.fullmatch(title)
            text = raw.get(str(each["number"]), text) if vector else text
            group = _VECTOR if vector else _FLOAT
            groups[group].append(RawValue(title, text, expression=f"${title}"))
    return groups


async def read_memory(channel: MiChannel, address: str, count: int) -> tuple[str, bytes, int]:
    """Return the address, the bytes read from there, and the number of unreadable bytes."""
    begin = int(address, 0)
    try:
        body = await channel.request(f"-data-read-memory-bytes {begin:#x} {count}")
    except MiError:
        raise DebuggerError(f"no memory at {begin:#x} can be read.", code="no-memory") from None
    data = b""
    for each in rows(body.get("memory")):
        at = int(each["begin"], 0)
        if at != begin + len(data):
            break  # a hole: the bytes after it are not contiguous
        data += bytes.fromhex(str(each["contents"]))
    if not data:
        raise DebuggerError(f"no memory at {begin:#x} can be read.", code="no-memory")
    return f"{begin:#x}", data, count - len(data)


async def write_memory(channel: MiChannel, address: str, data: bytes) -> int:
    try:
        await channel.request(f"-data-write-memory-bytes {int(address, 0):#x} {data.hex()}")
    except MiError:
        raise DebuggerError(
            f"no memory at {int(address, 0):#x} can be written.", code="no-memory"
        ) from None
    return len(data)


async def disassemble(
    channel: MiChannel, address: str, count: int, offset: int
) -> list[Instruction]:
    """Return *count* instructions, starting *offset* instructions after *address*."""
    begin = int(address, 0)
    if offset >= 0:
        return (await _from(channel, begin, count + offset))[offset:]
    known = await _before(channel, begin)
    index = next(i for i, each in enumerate(known) if int(each.address, 0) == begin)
    first = max(0, index + offset)
    if first + count <= len(known):
        return known[first : first + count]
    rest = await _from(channel, begin, count)
    return (known[first:index] + rest)[:count]


async def _before(channel: MiChannel, begin: int) -> list[Instruction]:
    """Return a list with the instruction at *begin* and those that can be found before it.

    Decoding must start at an instruction boundary: the start of the function or, in code without
    symbols, any address from which decoding reaches *begin*.
    """
    try:
        known = await _listed(channel, f"-a {begin:#x}", begin)
        if any(int(each.address, 0) == begin for each in known):
            return known
    except MiError:
        pass
    for back in range(_LOOK_BACK, 0, -1):
        try:
            known = await _listed(channel, f"-s {begin - back:#x} -e {begin + 1:#x}", begin)
        except MiError:
            continue
        reached = bool(known) and int(known[-1].address, 0) == begin
        if reached and "(bad)" not in {each.text for each in known}:
            return known
    return await _from(channel, begin, 1)


async def _from(channel: MiChannel, begin: int, count: int) -> list[Instruction]:
    size = count * _LONGEST
    while True:
        try:
            found = await _listed(channel, f"-s {begin:#x} -e {begin + size:#x}", begin)
            return found[:count]
        except MiError:
            # The mapped memory ends before the requested range.
            size //= 2
            if size < _LONGEST:
                raise


async def _listed(channel: MiChannel, where: str, current: int) -> list[Instruction]:
    body = await channel.request(f"-data-disassemble {where} -- 5")
    found = []
    for each in rows(body.get("asm_insns")):
        if "line_asm_insn" in each:
            for inner in rows(each["line_asm_insn"]):
                found.append(_instruction(inner, each, current))
        else:
            found.append(_instruction(each, {}, current))
    # gdb groups instructions by source line; sort them by address.
    return sorted(found, key=lambda instruction: int(instruction.address, 0))


def _instruction(body: Fields, source: Fields, current: int) -> Instruction:
    address = f"{int(str(body['address']), 0):#x}"
    symbol = body.get("func-name")
    if symbol is not None:
        symbol = frame_names.function_name(str(symbol))
    line = source.get("line")
    return Instruction(
        address,
        str(body.get("inst", "")).replace("\t", " "),
        body.get("opcodes"),
        symbol,
        frame_names.source_path(source),
        int(line) if line else None,
        int(address, 0) == current,
    )
