"""Machine level: memory, registers, disassembly; and native debugger commands."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Literal

from freezeframe.backends.backend import Feature
from freezeframe.backends.capabilities import InstructionAccess, MemoryAccess, RawCommands
from freezeframe.errors import DebuggerError, EvaluationFailed, NotFound, Unsupported, UsageError
from freezeframe.model.answers import Disassembly, Instruction, Memory, Text, Tool, Variables
from freezeframe.model.locations import CodeLine
from freezeframe.session.stop_state import StopState

from ._context import Context
from ._disassembly import register_groups
from ._registry import OPS, Arg, Effect, Needs, op

_MOST_INSTRUCTIONS = 10_000
#: Instructions of a named function that are shown when the user gives no count.
_WHOLE_FUNCTION = 200


#: pointer types: `char *`, `*mut u8`, `&str`, `Box<i32>`
_POINTER = re.compile(r"\*( ?(const|volatile|restrict|__restrict))*$|^(&|\*(mut|const) |.*\bBox<)")
_HEX = re.compile(r"0x[0-9a-fA-F]+")


async def _address(stop: StopState, text: str) -> str:
    """Return an address: a number as it is, the target of a pointer or register, or else the
    address of a value or a function."""
    try:
        int(text, 0)
    except ValueError:
        frame = await stop.current_frame()
        raw = await stop.backend.evaluate(text, stop.frame_id(frame.index))
        word = raw.text.split()[0] if raw.text else ""
        points = text.lstrip().startswith(("$", "&")) or _POINTER.search(raw.type or "")
        if points and (number := _number(word)) is not None:
            return number
        if raw.address is not None:
            return raw.address
        function = re.match(r"\{.*\} (0x[0-9a-f]+)", raw.text)
        found = function[1] if function else await _address_of(stop, text, frame.index)
        found = found or _number(word)
        if found is None:
            raise UsageError(f"{text} is {raw.text[:60]}, which is not an address.") from None
        return found
    return text


async def _address_of(stop: StopState, text: str, frame: int) -> str | None:
    """Return the address of what an expression names, with C's `&`."""
    try:
        raw = await stop.backend.evaluate(f"&({text})", stop.frame_id(frame))
    except EvaluationFailed:
        return None
    found = _HEX.search(raw.text)
    return found[0] if found is not None else None


def _number(word: str) -> str | None:
    try:
        return hex(int(word, 0))
    except ValueError:
        return None


@op(
    "memory read",
    aliases=("memory", "x", "mem"),
    group="machine",
    needs=Needs.STOPPED,
    feature=Feature.MEMORY_READ,
    example="memory read &buffer --count 64",
)
async def memory_read(
    ctx: Context,
    address: Annotated[str, Arg("an address, or an expression that has one", meta="ADDR")],
    *,
    count: Annotated[int, Arg("bytes to read", short="-n", meta="N")] = 64,
    format: Annotated[Literal["hex", "bytes", "text"], Arg("how to show them")] = "hex",
) -> Memory:
    """Read the program's memory."""
    if not 0 < count <= 1 << 20:
        raise UsageError("--count takes 1 to 1048576 bytes.")
    stop = await ctx.session.require_stopped()
    where = await _address(stop, address)
    assert isinstance(stop.backend, MemoryAccess)
    begin, data, unreadable = await stop.backend.read_memory(where, count)
    if not data:
        raise DebuggerError(f"no memory at {where} can be read.", code="no-memory")
    return Memory(begin, data, unreadable, format)


@op(
    "memory write",
    group="machine",
    effect=Effect.WRITES,
    needs=Needs.STOPPED,
    feature=Feature.MEMORY_WRITE,
    example="memory write 0x7ffe0010 'de ad be ef'",
)
async def memory_write(
    ctx: Context,
    address: Annotated[str, Arg("an address, or an expression that has one", meta="ADDR")],
    data: Annotated[tuple[str, ...], Arg("bytes in hexadecimal", meta="HEX")],
) -> Memory:
    """Write the program's memory; the answer is the memory read back."""
    try:
        raw = bytes.fromhex(" ".join(data).replace("0x", ""))
    except ValueError:
        raise UsageError(
            "the bytes are not hexadecimal.", next="dbg memory write ADDR 'de ad'"
        ) from None
    stop = await ctx.session.require_stopped()
    where = await _address(stop, address)
    assert isinstance(stop.backend, MemoryAccess)
    await stop.backend.write_memory(where, raw)
    stop.invalidate(by_user=True)
    begin, there, unreadable = await stop.backend.read_memory(where, len(raw))
    return Memory(begin, there, unreadable)


@op(
    "registers",
    aliases=("regs", "info registers"),
    group="machine",
    needs=Needs.STOPPED,
    feature=Feature.REGISTERS,
    example="registers rax rsp",
)
async def registers(
    ctx: Context,
    names: Annotated[tuple[str, ...], Arg("only these registers", meta="NAME")] = (),
) -> Variables:
    """Show the registers of the current frame: the general-purpose ones, or those named.

    A name is a register, `pc`, `sp`, `fp` or `flags`, a group (`float`, `vector`), or `all`.
    """
    stop = await ctx.session.require_stopped()
    frame = await stop.current_frame()
    scopes = await register_groups(stop, frame, names)
    if not scopes:
        raise NotFound(
            f"there are no registers {' '.join(names)}.".replace("  ", " "),
            next="dbg registers all",
        )
    return Variables(frame, tuple(scopes))


@op(
    "disassemble",
    aliases=("disasm",),
    group="machine",
    needs=Needs.STOPPED,
    feature=Feature.DISASSEMBLE,
    example="disassemble --count 20",
)
async def disassemble(
    ctx: Context,
    where: Annotated[str | None, Arg("an address or a function", meta="ADDR")] = None,
    *,
    count: Annotated[
        int | None,
        Arg("instructions to show (default: the function; 16 at an address)", short="-n", meta="N"),
    ] = None,
    source: Annotated[bool, Arg("with source lines")] = False,
) -> Disassembly:
    """Show machine instructions, by default those of the current function.

    With a count alone: from the current location on.
    """
    if count is not None and not 0 < count <= _MOST_INSTRUCTIONS:
        raise UsageError(f"--count takes 1 to {_MOST_INSTRUCTIONS}.")
    stop = await ctx.session.require_stopped()
    assert isinstance(stop.backend, InstructionAccess)
    here = (await stop.current_frame()).address
    if where is not None:
        begin, whole = await _address(stop, where), not where[:1].isdigit()
    elif here is None:
        raise NotFound("the current frame has no address.", next="dbg disassemble ADDR")
    else:
        begin, whole = here if count else await _function_start(stop, here), True
    limit = count or (_WHOLE_FUNCTION if whole else 16)
    found = [
        replace(each, current=here is not None and int(each.address, 0) == int(here, 0))
        for each in await stop.backend.disassemble(begin, limit)
    ]
    if whole and count is None:
        found = _first_function(found)
    if where is None and here is not None and not any(each.current for each in found):
        # The function is longer, or what has its name is another one.
        found = [
            replace(each, current=not index)
            for index, each in enumerate(await stop.backend.disassemble(here, limit))
        ][:16]
    lines: list[CodeLine] = []
    if source:
        for path, number in dict.fromkeys((i.path, i.line) for i in found):
            text = ctx.session.sources.line(path, number) if path and number else None
            if path is not None and number is not None and text is not None:
                lines.append(CodeLine(path, number, text))
    return Disassembly(tuple(found), source=source, lines=tuple(lines))


async def _function_start(stop: StopState, address: str) -> str:
    """Return where the function of *address* begins; *address* if that cannot be found out."""
    assert isinstance(stop.backend, InstructionAccess)
    name = (await stop.current_frame()).function
    try:
        begin = await _address(stop, name) if name else address
        return begin if int(begin, 0) <= int(address, 0) else address
    except (DebuggerError, EvaluationFailed, UsageError, ValueError):
        return address


def _first_function(instructions: list[Instruction]) -> list[Instruction]:
    """Return the instructions of the first function."""
    first = instructions[0].symbol if instructions else None
    # Some debuggers name the function with its first instruction only.
    each_named = len(instructions) > 1 and instructions[1].symbol == first is not None
    for index, each in enumerate(instructions):
        if each.symbol != first and (each_named or each.symbol is not None):
            return instructions[:index]
        # The zeros after the last function of a section are not code.
        ended = index and instructions[index - 1].text.split()[:1] in (["ret"], ["retq"])
        if ended and (each.bytes or "").startswith("00"):
            return instructions[:index]
    return instructions


@op(
    "raw",
    group="escape",
    effect=Effect.WRITES,
    needs=Needs.STOPPED,
    feature=Feature.RAW,
    example="raw 'thread backtrace all'",
)
async def raw(
    ctx: Context,
    command: Annotated[
        str,
        Arg(
            "a native command of the debugger",
            meta="COMMAND",
            greedy=True,
            code=True,
            ends_options=True,
        ),
    ],
    *,
    language: Annotated[
        str | None, Arg("refuse unless the debugger's name contains this", hidden=True)
    ] = None,
) -> Text:
    """Send a native command to the debugger."""
    stop = await ctx.session.require_stopped()
    if language is not None and language not in stop.backend.tool.name:
        raise UsageError(
            f"the debugger of this session is {stop.backend.tool}, "
            f"which has no commands of {language}; those of `dbg help` work with every debugger.",
            next="dbg help",
        )
    frame = await stop.current_frame()
    assert isinstance(stop.backend, RawCommands)
    try:
        text = await stop.backend.raw(command, stop.frame_id(frame.index))
    except EvaluationFailed as error:
        error.next = "dbg tool"
        raise
    except Unsupported as error:
        name = command.split()[0] if command.split() else ""
        error.next = error.next or (f"dbg {command}" if name in OPS else "dbg tool")
        raise
    stop.invalidate(by_user=True)
    stop.backend.drain()
    return Text(text)


@op("tool", group="escape", needs=Needs.SESSION, control=True, example="tool")
async def tool(ctx: Context) -> Tool:
    """Show which debugger is in use, why it was chosen, and what it can do."""
    session = ctx.session
    if session.backend is None:
        raise NotFound("the session has no debugger yet.", next="dbg status")
    backend = session.backend
    return Tool(
        name=backend.tool.name,
        version=backend.tool.version,
        kind=backend.tool.kind,
        reason=session.reason,
        command=backend.tool.command,
        can=tuple(feature.value for feature in Feature if feature in backend.features),
        cannot=tuple(feature.value for feature in Feature if feature not in backend.features),
        interpreter=backend.tool.interpreter,
        advertised=dict(backend.advertised),
    )
