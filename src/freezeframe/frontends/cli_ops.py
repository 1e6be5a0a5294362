"""Operations about the command line itself: help, version, skill, mcp, completion, batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from freezeframe import __version__
from freezeframe.errors import FreezeframeError, UsageError
from freezeframe.model.answers import Batch, BatchItem, StopReport, Text
from freezeframe.ops._context import Context
from freezeframe.ops._registry import Arg, Effect, op
from freezeframe.ops._skill import command_on_path, skill_text

from . import help as pages
from .parser import parse
from .tokenizer import split

if TYPE_CHECKING:
    from .request_handler import RequestHandler


@op("help", group="admin", control=True, example="help break", examples=("help breakpoints",))
async def help_(
    ctx: Context,
    command: Annotated[
        tuple[str, ...], Arg("a command or a group of commands", meta="COMMAND", complete="command")
    ] = (),
) -> Text:
    """Explain a command, a group of commands, or how to begin."""
    return Text(pages.page(list(command)) if command else pages.overview(), whole=True)


@op("version", group="admin", control=True, aliases=("--version",), example="version")
async def version(ctx: Context) -> Text:
    """Show the version of Freezeframe."""
    return Text(f"freezeframe {__version__}\n")


@op("skill", group="admin", control=True, example="skill")
async def skill(ctx: Context) -> Text:
    """Print instructions for agents, for the installed version."""
    return Text(skill_text(command_on_path(ctx.caller.env)), whole=True)


@op(
    "mcp",
    group="admin",
    control=True,
    effect=Effect.RESUMES,
    example="mcp",
    examples=("mcp --tools all", "mcp --http 8765"),
)
async def mcp(
    ctx: Context,
    *,
    tools: Annotated[
        Literal["default", "all"], Arg("a few tools, or one for every command")
    ] = "default",
    http: Annotated[
        int | None, Arg("serve HTTP on this port of the loopback, with a token", meta="PORT")
    ] = None,
    structured: Annotated[bool, Arg("answers as data too, for programs; models read text")] = False,
    conformance: Annotated[
        bool, Arg("with the tools that the protocol's conformance suite calls", hidden=True)
    ] = False,
) -> Text:
    """Serve the Model Context Protocol; an agent host starts it: `dbg setup HOST`.

    Sessions are shared with the command line. Over HTTP the token is FREEZEFRAME_MCP_TOKEN, or a
    new one that is shown.
    """
    raise UsageError("`mcp` runs only as its own process.", next="dbg help mcp")


@op(
    "dap",
    group="admin",
    control=True,
    effect=Effect.RESUMES,
    example="dap",
    examples=("dap --port 0",),
)
async def dap(
    ctx: Context,
    *,
    port: Annotated[
        int | None,
        Arg("serve editors on this port of the loopback; 0: a free one, which is printed"),
    ] = None,
) -> Text:
    """Serve the Debug Adapter Protocol; an editor starts it: `dbg setup EDITOR --dap`.

    `attach` with {"session": "app"} joins a session of an agent, and the editor sees each of its
    stops; `launch` starts a program. Other users of the machine cannot connect to the port.
    """
    raise UsageError("`dap` runs only as its own process.", next="dbg help dap")


@op("show", group="inspect", control=True, example="show", examples=("show app",))
async def show(
    ctx: Context,
    name: Annotated[
        str | None, Arg("the session (default: the current one)", complete="session")
    ] = None,
) -> Text:
    """Follow a session live in the terminal, read-only: source, variables, stack, output, commands.

    The key q ends it. What it shows stays new for the agent.
    """
    raise UsageError("`show` runs only at a terminal.", next="dbg context")


@op("completion", group="admin", control=True, example="completion bash")
async def completion_(
    ctx: Context,
    shell: Annotated[Literal["bash", "zsh", "fish"], Arg("the shell to complete in")],
) -> Text:
    """Print a script that completes `dbg` in your shell."""
    from . import completion

    return Text(completion.script(shell), whole=True)


@op(
    "batch",
    group="admin",
    effect=Effect.RESUMES,
    example="batch 'break app.py:3' continue locals",
    examples=("batch --keep-going next locals next locals",),
)
async def batch(
    ctx: Context,
    lines: Annotated[
        tuple[str, ...], Arg("one command each, quoted; none: from standard input", meta="COMMAND")
    ] = (),
    *,
    keep_going: Annotated[bool, Arg("continue after a command that failed", short="-k")] = False,
) -> Batch:
    """Run several commands in one call; they share one budget.

    Stops at the first failure, and at a program that still runs when its time is up.
    """
    raise UsageError("`batch` is for the command line.", next="dbg help batch")


async def run_batch(front: RequestHandler, ctx: Context, arguments: dict[str, Any]) -> Batch:
    """Run the commands of a batch in order."""
    lines = list(arguments.get("lines", ()))
    if not lines:
        lines = await _from_stdin(ctx)
    keep_going = bool(arguments.get("keep_going", False))
    items: list[BatchItem] = []
    for index, line in enumerate(lines):
        item = await _run_one(front, ctx, line)
        items.append(item)
        if (not item.ok or _runs_on(item.answer)) and not keep_going:
            return Batch(tuple(items), tuple(lines[index + 1 :]))
    return Batch(tuple(items))


def _runs_on(answer: object) -> bool:
    return (
        isinstance(answer, StopReport) and answer.state == "running" and answer.waited_s is not None
    )


async def _from_stdin(ctx: Context) -> list[str]:
    if ctx.caller.read_stdin is None:
        raise UsageError("there is no command to run.", next="dbg batch next locals")
    text = (await ctx.caller.read_stdin()).decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise UsageError("there is no command to run.", next="dbg batch next locals")
    return found


async def _run_one(front: RequestHandler, ctx: Context, line: str) -> BatchItem:
    try:
        tokens = split(line)
        if tokens and tokens[0] == "batch":
            raise UsageError("a batch cannot contain a batch.")
        parsed = parse(tokens)
        answer = await front.answer(parsed, front.sub_context(ctx, parsed.globals.session, line))
    except FreezeframeError as error:
        return BatchItem(
            line,
            ok=False,
            error_code=error.error_code,
            error=error.message,
            next=error.next,
            exit_status=error.exit_status,
        )
    return BatchItem(line, ok=True, answer=answer)
