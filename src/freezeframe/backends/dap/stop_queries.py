"""Requests sent to complete a stop or an exit before it is reported."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.backends.breakpoint_hits import holds
from freezeframe.errors import DebuggerError, EvaluationFailed
from freezeframe.model.stops import Exit

from .adapter_channel import AdapterChannel
from .adapters._descriptor import AdapterQuery, ExceptionDetails, ExceptionQuery, FunctionsQuery
from .messages import ErrorResponse

log = logging.getLogger(__name__)

#: Number of preceding instructions searched for the line of the previous one.
_LOOK_BACK = 32


async def innermost(channel: AdapterChannel, thread: int | None) -> dict[str, Any] | None:
    """Return the innermost frame of a thread, as in DAP."""
    frames = await _frames(channel, thread, 1)
    return frames[0] if frames else None


async def _frames(channel: AdapterChannel, thread: int | None, count: int) -> list[dict[str, Any]]:
    if thread is None:
        return []
    body = await channel.request(
        "stackTrace", {"threadId": thread, "startFrame": 0, "levels": count}
    )
    return list(body.get("stackFrames") or [])


async def run_exception_query(
    channel: AdapterChannel, query: ExceptionQuery, thread: int | None
) -> ExceptionDetails | None:
    """Run a descriptor's exception query in a thread's frames. Return its result."""
    try:
        frames = await _frames(channel, thread, 1)
        if not frames:
            return None
        step = next(query)
        while True:
            needed = step.count if isinstance(step, FunctionsQuery) else step.frame + 1
            if needed > len(frames):
                frames = await _frames(channel, thread, needed)
            if isinstance(step, FunctionsQuery):
                names = [str(each.get("name", "")) for each in frames[: step.count]]
                answer: str | None = "\n".join(names)
            elif step.frame < len(frames):
                answer = await _answer(channel, step, frames[step.frame]["id"])
            else:
                answer = None
            step = query.send(answer)
    except StopIteration as end:
        found: ExceptionDetails | None = end.value
        return found
    except DebuggerError as error:
        log.info("the exception of a stop could not be read: %s", error)
        return None


async def run_raw_command(channel: AdapterChannel, command: str, thread: int | None) -> str | None:
    """Return the answer to a raw command in the innermost frame; None if it fails."""
    try:
        frame = await innermost(channel, thread)
    except DebuggerError as error:
        log.info("the frame of a stop could not be read: %s", error)
        return None
    return (
        None
        if frame is None
        else await _answer(channel, AdapterQuery(command, raw=True), frame["id"])
    )


async def read_exit(
    channel: AdapterChannel, code: int, last_signal: str | None, timeout_s: float
) -> Exit:
    """Return how the program ended, from its exit code and the last signal it stopped for."""
    adapter = channel.adapter
    exit = None
    query = adapter.end.question(code)
    if query is not None:
        arguments = {"expression": adapter.raw.prefix + query, "context": adapter.raw.context}
        with contextlib.suppress(DebuggerError):
            body = await channel.request("evaluate", arguments, timeout_s=timeout_s)
            exit = adapter.end.read(str(body.get("result", "")))
    if exit is None:
        signal = adapter.end.signal(code, last_signal)
        exit = Exit(signal=signal) if signal else Exit(code=code)
    return exit


async def _answer(channel: AdapterChannel, query: AdapterQuery, frame: int) -> str | None:
    if not query.raw:
        return await evaluate_text(channel, query.text, frame)
    adapter = channel.adapter
    with contextlib.suppress(DebuggerError):
        return await _evaluate(channel, adapter.raw.prefix + query.text, adapter.raw.context, frame)
    return None


async def evaluate_text(channel: AdapterChannel, expression: str, frame: int | None) -> str | None:
    """Return the text of an expression's value; None if the evaluation fails."""
    with contextlib.suppress(DebuggerError):
        return await _evaluate(channel, expression, channel.adapter.expressions.context, frame)
    return None


async def evaluate_condition(channel: AdapterChannel, condition: str, frame: int | None) -> bool:
    """Whether a condition holds. Raises EvaluationFailed with the reason."""
    expressions = channel.adapter.expressions
    try:
        return holds(await _evaluate(channel, condition, expressions.context, frame))
    except ErrorResponse as error:
        raise EvaluationFailed(expressions.brief_error(error.message)) from None


async def _evaluate(channel: AdapterChannel, text: str, context: str, frame: int | None) -> str:
    arguments: dict[str, Any] = {"expression": text, "context": context}
    if frame is not None:
        arguments["frameId"] = frame
    timeout_s = channel.config.timeouts.value_s
    if (other := await channel.reread(arguments)) is not None:
        arguments["expression"] = other
    try:
        body = await channel.request("evaluate", arguments, timeout_s=timeout_s)
    except DebuggerError:
        other = await channel.resolve(arguments)
        if other is None:
            raise
        again = {**arguments, "expression": other}
        body = await channel.request("evaluate", again, timeout_s=timeout_s)
    return str(body.get("result", ""))


async def _instructions_before(
    channel: AdapterChannel, address: str
) -> Sequence[Mapping[str, Any]]:
    arguments = {
        "memoryReference": address,
        "instructionOffset": -_LOOK_BACK,
        "instructionCount": _LOOK_BACK,
    }
    try:
        body = await channel.request("disassemble", arguments)
    except DebuggerError as error:
        log.info("the instruction before a stop could not be read: %s", error)
        return ()
    found: Sequence[Mapping[str, Any]] = body.get("instructions") or ()
    return found


async def line_before(channel: AdapterChannel, thread: int | None) -> tuple[str, int] | None:
    """Return the line of the instruction before the one where a thread is stopped.

    None if that is the same line, or unknown.
    """
    if not channel.capabilities.get("supportsDisassembleRequest"):
        return None
    try:
        frame = await innermost(channel, thread)
    except DebuggerError as error:
        log.info("the frame of a stop could not be read: %s", error)
        return None
    if frame is None or frame.get("instructionPointerReference") is None:
        return None
    here = ((frame.get("source") or {}).get("path"), frame.get("line"))
    raw = channel.adapter.raw
    if raw.line_at is not None:
        # The preceding byte is the last one of the preceding instruction.
        command = raw.line_at(int(frame["instructionPointerReference"], 0) - 1)
        try:
            answer = await _evaluate(channel, raw.prefix + command, raw.context, None)
        except DebuggerError:
            answer = ""
        previous = raw.read_line(answer)
        return None if previous == here else previous
    # An instruction without a location has that of the one before it.
    location = None
    for instruction in await _instructions_before(channel, frame["instructionPointerReference"]):
        path = (instruction.get("location") or {}).get("path")
        if path is not None and instruction.get("line") is not None:
            location = (path, instruction["line"])
    return None if location == here else location
