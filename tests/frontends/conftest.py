"""A small vocabulary that has one of everything an operation can declare."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest

from freezeframe.model.locations import Location
from freezeframe.ops._registry import Arg, Effect, Flag, Needs, Registry


@dataclass(frozen=True)
class Answer:
    text: str


class Format(StrEnum):
    HEX = "hex"
    BINARY = "binary"
    ADDRESS = "address"


def _declare() -> Registry:
    ops = Registry()
    op = ops.op

    @op(
        "start",
        aliases=("launch", "run PROGRAM"),
        group="sessions",
        effect=Effect.RESUMES,
        needs=Needs.WORKSPACE,
        example="start app.py -b app.py:42",
        examples=("start -m pytest tests/ -x",),
    )
    async def start(
        ctx: Any,
        program: Annotated[str | None, Arg("the program to run", complete="file")] = None,
        *,
        args: Annotated[tuple[str, ...], Arg("words for the program", rest=True)] = (),
        breaks: Annotated[tuple[Location, ...], Arg("stop here", short="-b", name="break")] = (),
        module: Annotated[
            str | None,
            Arg("run a module", short="-m", meta="MODULE", ends_options=True),
        ] = None,
        cwd: Annotated[str | None, Arg("run it there", complete="directory", meta="DIR")] = None,
        stop_on_entry: Annotated[bool, Arg("stop at its first line", short="-e")] = False,
        wait: Annotated[bool, Arg("wait for the stop", short="-W")] = True,
        child: Annotated[Literal["follow", "ignore"], Arg("child processes")] = "follow",
    ) -> Answer:
        """Run a program to its first stop.

        The answer is the stop report.
        """

    @op("continue", aliases=("c", "run"), group="execution", example="continue")
    async def continue_(
        ctx: Any,
        *,
        count: Annotated[int, Arg("stops", meta="N")] = 1,
        timeout: Annotated[float | None, Arg("wait so long", meta="SECONDS")] = None,
    ) -> Answer:
        """Run to the next stop."""

    @op("next", aliases=("n",), group="execution", needs=Needs.STOPPED, example="next --count 3")
    async def next_(
        ctx: Any, *, count: Annotated[int, Arg("steps", meta="N", bare=True)] = 1
    ) -> Answer:
        """Run to the next line."""

    @op(
        "breakpoint add",
        aliases=("break", "b"),
        group="breakpoints",
        effect=Effect.WRITES,
        example="break app.py:42 -c 'n > 3'",
    )
    async def breakpoint_add(
        ctx: Any,
        where: Annotated[Location | None, Arg("file:line or a function")] = None,
        *,
        condition: Annotated[
            str | None, Arg("stop only when true", short="-c", also=("--if",), meta="EXPR")
        ] = None,
        temporary: Annotated[bool, Flag("remove it after the first hit", short="-t")] = False,
        disabled: Annotated[bool, Flag("do not stop yet", short="-d")] = False,
    ) -> Answer:
        """Stop the program when it reaches a place."""

    @op("breakpoint list", aliases=("breaks",), group="breakpoints", example="breaks")
    async def breakpoint_list(ctx: Any) -> Answer:
        """Show the breakpoints."""

    @op("breakpoint remove", group="breakpoints", example="breakpoint remove 2 3")
    async def breakpoint_remove(
        ctx: Any,
        ids: Annotated[list[int], Arg("numbers of breakpoints", meta="ID", complete="breakpoint")],
    ) -> Answer:
        """Remove breakpoints."""

    @op("watch", group="watchpoints", example="watch total")
    async def watch(
        ctx: Any, expression: Annotated[str, Arg("an expression", greedy=True)]
    ) -> Answer:
        """Stop when a value changes."""

    @op("watch list", group="watchpoints", example="watch list")
    async def watch_list(ctx: Any) -> Answer:
        """Show the watchpoints."""

    @op("print", aliases=("p",), group="inspect", example="print total / 2")
    async def print_(
        ctx: Any,
        expression: Annotated[str, Arg("an expression", greedy=True, meta="EXPR")],
        *,
        format: Annotated[Format | None, Arg("how to show it")] = None,
        depth: Annotated[int, Arg("levels to open")] = 1,
    ) -> Answer:
        """Show a value."""

    @op("frame", group="inspect", needs=Needs.STOPPED, example="frame 2")
    async def frame(ctx: Any, number: Annotated[int | None, Arg("its number")] = None) -> Answer:
        """Show or select a frame."""

    @op("backtrace", aliases=("bt",), group="inspect", example="backtrace --locals")
    async def backtrace(
        ctx: Any,
        *,
        limit: Annotated[int, Arg("frames to show")] = 20,
        locals: Annotated[bool, Flag("their variables too")] = False,
    ) -> Answer:
        """Show the calls that led here."""

    @op("locals", group="inspect", example="locals")
    async def locals_(ctx: Any) -> Answer:
        """Show the variables of the frame."""

    @op("raw", group="escape", feature="raw commands", example="raw thread list")
    async def raw(
        ctx: Any,
        command: Annotated[str, Arg("words for the debugger", greedy=True, ends_options=True)],
    ) -> Answer:
        """Say something in the debugger's own language."""

    @op("version", aliases=("--version",), group="admin", example="version", hidden=True)
    async def version(ctx: Any) -> Answer:
        """Show the version."""

    return ops


@pytest.fixture(scope="session")
def ops() -> Registry:
    return _declare()
