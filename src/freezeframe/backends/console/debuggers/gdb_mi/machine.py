"""Memory, registers and instructions."""

from __future__ import annotations

import asyncio
import re

from freezeframe.backends.backend import RawValue
from freezeframe.backends.console.reader import Fields
from freezeframe.errors import DebuggerError
from freezeframe.model.answers import Instruction

from . import names
from .line import GdbRefused, Line, rows

#: the longest instruction of any machine that matters, in bytes
_LONGEST = 16
#: bytes before an instruction of a function without a name
_LOOK_BACK = 24

_GENERAL, _FLOAT, _VECTOR = (
    "General Purpose Registers",
    "Floating Point Registers",
    "Vector Registers",
)
_FLOATS = re.compile(r"st\d|f(ctrl|stat|tag|iseg|ioff|oseg|ooff|op)|mxcsr|fp[cs]r")
_MASKS = re.compile(r"k\d")


async def registers(line: Line, where: str) -> dict[str, list[RawValue]]:
    """Return the registers of a frame by group; vectors as their bits."""
    general, named, natural, bits = await asyncio.gather(
        line.cli("info registers", where=where),
        line.ask("-data-list-register-names"),
        line.ask(f"-data-list-register-values{where} --skip-unavailable N"),
        line.ask(f"-data-list-register-values{where} --skip-unavailable r"),
    )
    titles = [str(each) for each in rows(named.get("register-names"))]
    raw = {str(each["number"]): str(each["value"]) for each in rows(bits.get("register-values"))}
    groups: dict[str, list[RawValue]] = {_GENERAL: [], _FLOAT: [], _VECTOR: []}
    first: set[str] = set()
    for row in general.splitlines():
        words = row.split(None, 2)
        if len(words) >= 2 and not _MASKS.fullmatch(words[0]):
            first.add(words[0])
            # The raw value, then the natural one: said once, unless it says more.
            note = words[2] if len(words) > 2 else ""
            plain = not note or note == words[1] or re.fullmatch(r"-?\d+", note)
            text = words[1] if plain else note if words[1] in note else f"{words[1]} {note}"
            groups[_GENERAL].append(RawValue(words[0], text, expression=f"${words[0]}"))
    for each in rows(natural.get("register-values")):
        title, text = titles[int(each["number"])], str(each["value"])
        if title and title not in first:
            vector = text.startswith("{") or not _FLOATS.fullmatch(title)
            text = raw.get(str(each["number"]), text) if vector else text
            group = _VECTOR if vector else _FLOAT
            groups[group].append(RawValue(title, text, expression=f"${title}"))
    return groups


async def read_memory(line: Line, address: str, count: int) -> tuple[str, bytes, int]:
    """Return the address, what could be read from there on, and how many bytes could not."""
    begin = int(address, 0)
    try:
        body = await line.ask(f"-data-read-memory-bytes {begin:#x} {count}")
    except GdbRefused:
        raise DebuggerError(f"no memory at {begin:#x} can be read.", code="no-memory") from None
    data = b""
    for each in rows(body.get("memory")):
        at = int(each["begin"], 0)
        if at != begin + len(data):
            break  # a hole: what lies behind it is not what was asked for
        data += bytes.fromhex(str(each["contents"]))
    if not data:
        raise DebuggerError(f"no memory at {begin:#x} can be read.", code="no-memory")
    return f"{begin:#x}", data, count - len(data)


async def write_memory(line: Line, address: str, data: bytes) -> int:
    try:
        await line.ask(f"-data-write-memory-bytes {int(address, 0):#x} {data.hex()}")
    except GdbRefused:
        raise DebuggerError(
            f"no memory at {int(address, 0):#x} can be written.", code="no-memory"
        ) from None
    return len(data)


async def disassemble(line: Line, address: str, count: int, offset: int) -> list[Instruction]:
    """Return *count* instructions from *offset* instructions behind *address* on."""
    begin = int(address, 0)
    if offset >= 0:
        return (await _from(line, begin, count + offset))[offset:]
    known = await _before(line, begin)
    index = next(i for i, each in enumerate(known) if int(each.address, 0) == begin)
    first = max(0, index + offset)
    if first + count <= len(known):
        return known[first : first + count]
    rest = await _from(line, begin, count)
    return (known[first:index] + rest)[:count]


async def _before(line: Line, begin: int) -> list[Instruction]:
    """Return instructions of which one begins at *begin*, as many before it as can be told.

    Backwards there is no telling where an instruction begins, but from its function's start; in
    code without names, from any place whence the instructions lead to the one that is known.
    """
    try:
        known = await _listed(line, f"-a {begin:#x}", begin)
        if any(int(each.address, 0) == begin for each in known):
            return known
    except GdbRefused:
        pass
    for back in range(_LOOK_BACK, 0, -1):
        try:
            known = await _listed(line, f"-s {begin - back:#x} -e {begin + 1:#x}", begin)
        except GdbRefused:
            continue
        if int(known[-1].address, 0) == begin and "(bad)" not in {each.text for each in known}:
            return known
    return await _from(line, begin, 1)


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
    address = f"{int(str(body['address']), 0):#x}"
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
