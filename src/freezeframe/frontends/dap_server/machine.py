"""Memory and instructions, for native programs."""

from __future__ import annotations

import base64
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .connection import Body

Call = Callable[..., Awaitable[dict[str, Any]]]


def _address(arguments: Mapping[str, Any]) -> str:
    """Return the address of a reference and an offset in bytes."""
    reference, offset = str(arguments["memoryReference"]), int(arguments.get("offset") or 0)
    try:
        return hex(int(reference, 0) + offset)
    except ValueError:  # an expression
        return f"{reference} + {offset}" if offset else reference


async def read_memory(call: Call, arguments: Mapping[str, Any]) -> Body:
    address, count = _address(arguments), int(arguments.get("count") or 0)
    if count <= 0:
        return {"address": address, "data": ""}
    answer = await call("memory_read", {"address": address, "count": count})
    found: Body = {"address": answer["address"], "data": answer.get("data", "")}
    if answer.get("unreadable"):
        found["unreadableBytes"] = answer["unreadable"]
    return found


async def write_memory(call: Call, arguments: Mapping[str, Any]) -> Body:
    data = base64.b64decode(str(arguments.get("data") or ""))
    await call("memory_write", {"address": _address(arguments), "data": [data.hex(" ")]})
    return {"bytesWritten": len(data)}


async def disassemble(call: Call, arguments: Mapping[str, Any]) -> list[Body]:
    """Return exactly as many instructions as were requested; those before are not known."""
    count = int(arguments["instructionCount"])
    skip = int(arguments.get("instructionOffset") or 0)
    total = max(1, count + skip)
    where = {"where": _address(arguments), "count": total, "source": True}
    listed = [_instruction(each) for each in (await call("disassemble", where))["instructions"]]
    begin = listed[max(0, skip) :]
    before = [_invalid()] * min(count, max(0, -skip))
    found = (before + begin)[:count]
    return found + [_invalid()] * (count - len(found))


def _instruction(found: Mapping[str, Any]) -> Body:
    shown: Body = {"address": found["address"], "instruction": found.get("text", "")}
    for name, field in (("instructionBytes", "bytes"), ("symbol", "symbol"), ("line", "line")):
        if found.get(field) is not None:
            shown[name] = found[field]
    if found.get("path"):
        path = found["path"]
        shown["location"] = {"name": os.path.basename(path), "path": path}
    return shown


def _invalid() -> Body:
    return {"address": "0x0", "instruction": "??", "presentationHint": "invalid"}
