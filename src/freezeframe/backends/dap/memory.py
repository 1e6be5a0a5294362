"""Memory, instructions and raw commands over DAP."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.answers import Instruction

from . import translate
from .adapter_channel import AdapterChannel
from .messages import ErrorResponse


async def read_memory(channel: AdapterChannel, address: str, count: int) -> tuple[str, bytes, int]:
    """Return the start address, the data, and the number of unreadable bytes."""
    body = await channel.request("readMemory", {"memoryReference": address, "count": count})
    try:
        data = base64.b64decode(body.get("data", ""))
    except binascii.Error:
        raise DebuggerError("the debugger sent memory that cannot be decoded.") from None
    return str(body.get("address", address)), data, int(body.get("unreadableBytes") or 0)


async def write_memory(channel: AdapterChannel, address: str, data: bytes) -> int:
    """Return the number of bytes written."""
    encoded = base64.b64encode(data).decode("ascii")
    body = await channel.request("writeMemory", {"memoryReference": address, "data": encoded})
    return int(body.get("bytesWritten", len(data)))


async def disassemble(
    channel: AdapterChannel, address: str, count: int, offset: int, pc: str | None
) -> Sequence[Instruction]:
    """Return instructions; the one at *pc* is marked."""
    arguments = {
        "memoryReference": address,
        "instructionOffset": offset,
        "instructionCount": count,
        "resolveSymbols": True,
    }
    body = await channel.request("disassemble", arguments)
    return translate.instructions(body.get("instructions") or (), pc)


async def command(channel: AdapterChannel, text: str, frame: int | None) -> str:
    """Run a raw debugger command. Raises EvaluationFailed with the debugger's message."""
    adapter = channel.adapter
    arguments: dict[str, Any] = {
        "expression": adapter.raw.prefix + text.removeprefix(adapter.raw.prefix),
        "context": adapter.raw.context,
    }
    if frame is not None:
        arguments["frameId"] = frame
    try:
        body = await channel.value_request("evaluate", arguments, slow=True)
    except ErrorResponse as error:
        brief = adapter.expressions.brief_error(error.message)
        if brief in adapter.raw.refusals:
            raise Unsupported(adapter.raw.refusals[brief]) from None
        raise EvaluationFailed(brief) from None
    answer = str(body.get("result", ""))
    failed = channel.command_error(answer) or adapter.raw.read_error(answer)
    if failed is not None:
        raise EvaluationFailed(failed)
    return answer
