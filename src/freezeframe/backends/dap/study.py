"""What is found out about a stop or an end before it is reported."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.errors import DebuggerError
from freezeframe.model.stops import Exit

from .adapters._descriptor import Ask, AskFunctions, Inquiry, Thrown
from .wire import Wire

log = logging.getLogger(__name__)

#: Instructions to look back for the line that the last one belongs to.
_LOOK_BACK = 32


async def innermost(wire: Wire, thread: int | None) -> dict[str, Any] | None:
    """Return the innermost frame of a thread, in the adapter's form."""
    frames = await _frames(wire, thread, 1)
    return frames[0] if frames else None


async def _frames(wire: Wire, thread: int | None, count: int) -> list[dict[str, Any]]:
    if thread is None:
        return []
    body = await wire.request("stackTrace", {"threadId": thread, "startFrame": 0, "levels": count})
    return list(body.get("stackFrames") or [])


async def inquire(wire: Wire, inquiry: Inquiry, thread: int | None) -> Thrown | None:
    """Put an adapter file's questions in a thread's frames; return what it makes of them."""
    try:
        frames = await _frames(wire, thread, 1)
        if not frames:
            return None
        asked = next(inquiry)
        while True:
            needed = asked.count if isinstance(asked, AskFunctions) else asked.frame + 1
            if needed > len(frames):
                frames = await _frames(wire, thread, needed)
            if isinstance(asked, AskFunctions):
                names = [str(each.get("name", "")) for each in frames[: asked.count]]
                answer: str | None = "\n".join(names)
            elif asked.frame < len(frames):
                answer = await _answer(wire, asked, frames[asked.frame]["id"])
            else:
                answer = None
            asked = inquiry.send(answer)
    except StopIteration as end:
        found: Thrown | None = end.value
        return found
    except DebuggerError as error:
        log.info("the stop could not be looked into: %s", error)
        return None


async def ask_raw(wire: Wire, command: str, thread: int | None) -> str | None:
    """Return the answer to a raw command in the innermost frame; None where there is none."""
    try:
        frame = await innermost(wire, thread)
    except DebuggerError as error:
        log.info("the frame of a stop could not be read: %s", error)
        return None
    return None if frame is None else await _answer(wire, Ask(command, raw=True), frame["id"])


async def end(wire: Wire, code: int, last_signal: str | None, timeout_s: float) -> Exit:
    """Return what is behind an exit code, given the last signal that the program stopped for."""
    adapter = wire.adapter
    exit = None
    question = adapter.end.question(code)
    if question is not None:
        arguments = {"expression": adapter.raw.prefix + question, "context": adapter.raw.context}
        with contextlib.suppress(DebuggerError):
            body = await wire.request("evaluate", arguments, timeout_s=timeout_s)
            exit = adapter.end.read(str(body.get("result", "")))
    if exit is None:
        signal = adapter.end.signal(code, last_signal)
        exit = Exit(signal=signal) if signal else Exit(code=code)
    return exit


async def _answer(wire: Wire, asked: Ask, frame: int) -> str | None:
    if not asked.raw:
        return await evaluated(wire, asked.text, frame)
    adapter = wire.adapter
    return await _evaluate(wire, adapter.raw.prefix + asked.text, adapter.raw.context, frame)


async def evaluated(wire: Wire, expression: str, frame: int | None) -> str | None:
    """Return the text of an expression's value; None where it has none."""
    return await _evaluate(wire, expression, wire.adapter.expressions.context, frame)


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
    return wire.adapter.output.log_text("".join(parts))


async def _instructions_before(wire: Wire, address: str) -> Sequence[Mapping[str, Any]]:
    arguments = {
        "memoryReference": address,
        "instructionOffset": -_LOOK_BACK,
        "instructionCount": _LOOK_BACK,
    }
    try:
        body = await wire.request("disassemble", arguments)
    except DebuggerError as error:
        log.info("the instruction before a stop could not be read: %s", error)
        return ()
    found: Sequence[Mapping[str, Any]] = body.get("instructions") or ()
    return found


async def line_before(wire: Wire, thread: int | None) -> tuple[str, int] | None:
    """Return the line of the instruction before the one where a thread stands.

    None when that is the same line, or cannot be told.
    """
    if not wire.capabilities.get("supportsDisassembleRequest"):
        return None
    try:
        frame = await innermost(wire, thread)
    except DebuggerError as error:
        log.info("the frame of a stop could not be read: %s", error)
        return None
    if frame is None or frame.get("instructionPointerReference") is None:
        return None
    here = ((frame.get("source") or {}).get("path"), frame.get("line"))
    raw = wire.adapter.raw
    if raw.line_at is not None:
        # The byte before is the last one of the instruction before.
        command = raw.line_at(int(frame["instructionPointerReference"], 0) - 1)
        told = raw.read_line(await _evaluate(wire, raw.prefix + command, raw.context, None) or "")
        return None if told == here else told
    # An instruction without a place belongs to that of the one before it.
    place = None
    for instruction in await _instructions_before(wire, frame["instructionPointerReference"]):
        path = (instruction.get("location") or {}).get("path")
        if path is not None and instruction.get("line") is not None:
            place = (path, instruction["line"])
    return None if place == here else place
