"""What is found out about a stop before it is reported."""

from __future__ import annotations

import logging
import re
from typing import Any

from freezeframe.errors import DebuggerError

from .adapters._descriptor import Ask, Inquiry, Thrown
from .wire import Wire

log = logging.getLogger(__name__)

#: Instructions to look back for the line that the last one belongs to.
_LOOK_BACK = 32


async def innermost(wire: Wire, thread: int | None) -> dict[str, Any] | None:
    """Return the innermost frame of a thread, in the adapter's form."""
    if thread is None:
        return None
    body = await wire.request("stackTrace", {"threadId": thread, "startFrame": 0, "levels": 1})
    frames = body.get("stackFrames") or []
    return frames[0] if frames else None


async def inquire(wire: Wire, inquiry: Inquiry, thread: int | None) -> Thrown | None:
    """Put an adapter file's questions in the innermost frame; return what it makes of them."""
    try:
        frame = await innermost(wire, thread)
        if frame is None:
            return None
        asked = next(inquiry)
        while True:
            asked = inquiry.send(await _answer(wire, asked, frame["id"]))
    except StopIteration as end:
        found: Thrown | None = end.value
        return found
    except DebuggerError as error:
        log.info("the stop could not be looked into: %s", error)
        return None


async def _answer(wire: Wire, asked: Ask, frame: int) -> str | None:
    if not asked.raw:
        return await evaluated(wire, asked.text, frame)
    adapter = wire.adapter
    return await _evaluate(wire, adapter.raw_prefix + asked.text, adapter.raw_context, frame)


async def evaluated(wire: Wire, expression: str, frame: int | None) -> str | None:
    """Return the text of an expression's value; None where it has none."""
    return await _evaluate(wire, expression, wire.adapter.expression_context, frame)


async def _evaluate(wire: Wire, text: str, context: str, frame: int | None) -> str | None:
    arguments: dict[str, Any] = {"expression": text, "context": context}
    if frame is not None:
        arguments["frameId"] = frame
    try:
        body = await wire.request("evaluate", arguments, timeout_s=wire.config.timeouts.value_s)
    except DebuggerError:
        return None
    return str(body.get("result", ""))


async def filled(wire: Wire, message: str, frame: int | None) -> str:
    """Return a logpoint's message with the values of what stands in its braces."""
    parts = re.split(r"\{([^{}]*)\}", message)
    for index in range(1, len(parts), 2):
        value = await evaluated(wire, parts[index], frame)
        parts[index] = value if value is not None else f"<{parts[index]} has no value>"
    return wire.adapter.log_text("".join(parts))


async def line_before(wire: Wire, thread: int | None) -> tuple[str, int] | None:
    """Return the line of the instruction before the one where a thread stands.

    None when that is the same line, or cannot be told.
    """
    if not wire.capabilities.get("supportsDisassembleRequest"):
        return None
    try:
        frame = await innermost(wire, thread)
        if frame is None or frame.get("instructionPointerReference") is None:
            return None
        body = await wire.request(
            "disassemble",
            {
                "memoryReference": frame["instructionPointerReference"],
                "instructionOffset": -_LOOK_BACK,
                "instructionCount": _LOOK_BACK,
            },
        )
    except DebuggerError as error:
        log.info("the instruction before a stop could not be read: %s", error)
        return None
    # An instruction without a place belongs to that of the one before it.
    place = None
    for instruction in body.get("instructions") or ():
        path = (instruction.get("location") or {}).get("path")
        if path is not None and instruction.get("line") is not None:
            place = (path, instruction["line"])
    here = ((frame.get("source") or {}).get("path"), frame.get("line"))
    return None if place == here else place
