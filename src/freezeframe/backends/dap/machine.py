"""Memory, instructions and raw commands over DAP."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from freezeframe.errors import DebuggerError, EvaluationFailed
from freezeframe.model.answers import Instruction

from . import translate
from .messages import Refused
from .valuing import ask_value
from .wire import Wire


async def read_memory(wire: Wire, address: str, count: int) -> tuple[str, bytes, int]:
    """Return where it begins, what is there, and how many bytes could not be read."""
    body = await wire.request("readMemory", {"memoryReference": address, "count": count})
    try:
        data = base64.b64decode(body.get("data", ""))
    except binascii.Error:
        raise DebuggerError("the debugger sent memory that cannot be decoded.") from None
    return str(body.get("address", address)), data, int(body.get("unreadableBytes") or 0)


async def write_memory(wire: Wire, address: str, data: bytes) -> int:
    """Return how many bytes were written."""
    encoded = base64.b64encode(data).decode("ascii")
    body = await wire.request("writeMemory", {"memoryReference": address, "data": encoded})
    return int(body.get("bytesWritten", len(data)))


async def disassemble(
    wire: Wire, address: str, count: int, offset: int, pc: str | None
) -> Sequence[Instruction]:
    """Return instructions; the one at *pc* is marked."""
    arguments = {
        "memoryReference": address,
        "instructionOffset": offset,
        "instructionCount": count,
        "resolveSymbols": True,
    }
    raw = wire.adapter.raw
    try:
        body = await wire.request("disassemble", arguments)
    except Refused:
        if raw.disassemble is None:
            raise
        text = await command(wire, raw.disassemble(address, count), None)
        return translate.instructions(raw.read_disassembly(text), pc)
    return translate.instructions(body.get("instructions") or (), pc)


async def command(wire: Wire, words: str, frame: int | None) -> str:
    """Run a command of the debugger's own language. Raises EvaluationFailed in its words."""
    adapter = wire.adapter
    arguments: dict[str, Any] = {
        "expression": adapter.raw.prefix + words,
        "context": adapter.raw.context,
    }
    if frame is not None:
        arguments["frameId"] = frame
    try:
        body = await ask_value(wire, "evaluate", arguments, slow=True)
    except Refused as error:
        raise EvaluationFailed(adapter.expressions.brief_error(error.message)) from None
    text = str(body.get("result", ""))
    failed = adapter.raw.failure(text)
    if failed is not None:
        raise EvaluationFailed(failed)
    return text
