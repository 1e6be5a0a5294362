"""Runs inside LLDB: memory and disassembly."""

from typing import Any

import lldb  # type: ignore[import-not-found]
import state_agent as state  # type: ignore[import-not-found]

_PAGE = 4096


def read(process: Any, address: int, count: int) -> bytes:
    error = lldb.SBError()
    data = process.ReadMemory(address, count, error)
    state.check(error)
    return bytes(data or b"")


def read_memory(process: Any, address: int, count: int) -> str:
    """Return the readable bytes from an address on, in hexadecimal."""
    data = b""
    while len(data) < count:
        here = address + len(data)
        size = min(count - len(data), _PAGE - here % _PAGE)
        try:
            data += read(process, here, size)
        except state.Refused:
            break
    return data.hex()


def write_memory(process: Any, address: int, data: str) -> int:
    error = lldb.SBError()
    written = process.WriteMemory(address, bytes.fromhex(data), error)
    state.check(error)
    return int(written)


def disassemble(target: Any, address: int, count: int, offset: int) -> list[dict[str, Any]]:
    begin = lldb.SBAddress(address, target)
    found: list[Any] = []
    index = 0
    if offset < 0:
        # Instruction boundaries before an address are known only from its function's start.
        around = begin.GetFunction() if begin.GetFunction().IsValid() else begin.GetSymbol()
        known = list(around.GetInstructions(target)) if around.IsValid() else []
        addresses = [each.GetAddress().GetLoadAddress(target) for each in known]
        if address in addresses:
            index = max(0, addresses.index(address) + offset)
            found = known[: addresses.index(address)]
    else:
        index = offset
    found = found + list(target.ReadInstructions(begin, count + max(0, offset)))
    return [_instruction(target, each) for each in found[index : index + count]]


def _instruction(target: Any, each: Any) -> dict[str, Any]:
    where = each.GetAddress()
    text = f"{each.GetMnemonic(target)} {each.GetOperands(target)}".strip()
    comment = each.GetComment(target)
    data = each.GetData(target)
    octets = (data.GetUnsignedInt8(lldb.SBError(), i) for i in range(data.GetByteSize()))
    entry = where.GetLineEntry()
    return {
        "address": hex(where.GetLoadAddress(target)),
        "text": f"{text}  ; {comment}" if comment else text,
        "bytes": " ".join(f"{octet:02x}" for octet in octets),
        "symbol": where.GetFunction().GetName() or where.GetSymbol().GetName(),
        "path": entry.GetFileSpec().fullpath if entry.IsValid() else None,
        "line": (entry.GetLine() or None) if entry.IsValid() else None,
    }
