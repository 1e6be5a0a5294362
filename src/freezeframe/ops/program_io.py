"""Program I/O: output and input."""

from __future__ import annotations

from typing import Annotated

from freezeframe.backends.backend import Feature
from freezeframe.backends.capabilities import ProgramInput
from freezeframe.errors import UsageError
from freezeframe.model.answers import Chunk, Output, OutputAnswer
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session

from ._context import Context
from ._registry import Arg, Effect, Needs, op

_STDERR = frozenset({"stderr"})


@op(
    "output",
    aliases=("stdout",),
    group="program I/O",
    needs=Needs.SESSION,
    control=True,
    example="output --tail 20",
    examples=("output --all", "output --follow"),
)
async def output(
    ctx: Context,
    *,
    all: Annotated[bool, Arg("all output that is kept, not only new output", short="-a")] = False,
    tail: Annotated[int | None, Arg("only the last lines", short="-n", meta="N")] = None,
    since: Annotated[int | None, Arg("from this cursor on", meta="CURSOR")] = None,
    stderr: Annotated[bool, Arg("standard error only")] = False,
    peek: Annotated[bool, Arg("do not mark the output as read")] = False,
    follow: Annotated[
        bool, Arg("keep showing new output until the program ends", short="-f")
    ] = False,
    clear: Annotated[bool, Arg("delete the kept output")] = False,
) -> OutputAnswer:
    """Show what the program printed since the last `output`.

    --all and --since show earlier output again. Each line has a prefix: `| ` standard
    output, `err| ` standard error, `log| ` a logpoint, `dbg| ` the debugger.
    """
    session = ctx.session.root
    if session.backend is not None and session.live:
        session.backend.drain()
    streams = _STDERR if stderr else None
    ring = session.output
    start = since
    if start is None and not all and tail is None:
        start = ring.seen
    found = ring.read(start, streams=streams, tail_lines=tail)
    if not peek:
        ring.seen = ring.end
    if clear:
        ring.clear()
    if follow:
        await _follow(ctx, session, found, streams)
        found = Output(start=ring.end, end=ring.end)
    return OutputAnswer(found, session.name, session.focus().phase.value)


async def _follow(
    ctx: Context, session: Session, found: Output, streams: frozenset[str] | None
) -> None:
    """Stream output until the program and its children have ended."""
    if ctx.emit is None:
        raise UsageError("--follow needs a caller that can be written to.", next="dbg output")
    while True:
        if found.dropped:
            await ctx.emit(Chunk("console", f"{found.dropped} characters were dropped\n"))
        for chunk in found.chunks:
            await ctx.emit(chunk)
        if session.output.end == found.end:
            if not session.any_live:
                return
            await session.changed.wait()
        found = session.output.read(found.end, streams=streams)
        session.output.seen = session.output.end


@op(
    "input",
    aliases=("stdin", "type"),
    group="program I/O",
    effect=Effect.WRITES,
    needs=Needs.LIVE,
    feature=Feature.STDIN,
    control=True,
    example="input 'yes'",
    examples=("input --eof",),
)
async def input_(
    ctx: Context,
    text: Annotated[str | None, Arg("what to type; a newline is added", greedy=True)] = None,
    *,
    eof: Annotated[bool, Arg("end the input (after TEXT, if given)")] = False,
    newline: Annotated[bool, Arg("end TEXT with a newline")] = True,
) -> OutputAnswer:
    """Write to the program's standard input."""
    session = ctx.session.root
    backend = session.require(Feature.STDIN)
    assert isinstance(backend, ProgramInput)
    if text is None and not eof:
        raise UsageError("no input text was given.", next="dbg input TEXT")
    if text is not None:
        await backend.write_stdin(
            (text + ("\n" if newline else "")).encode("utf-8", "surrogateescape")
        )
    if eof:
        await backend.close_stdin()
    backend.drain()
    phase = session.focus().phase
    after = "continue" if phase is Phase.STOPPED else "await"
    return OutputAnswer(session.output.take_new(), session.name, phase.value, next=(after,))
