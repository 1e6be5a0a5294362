"""Where two runs diverge: diff."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Annotated, Any

from freezeframe.errors import NotFound, UsageError, UserError
from freezeframe.model.divergence import ProgramDiff
from freezeframe.model.history import RunDiff
from freezeframe.questions.run_comparison import CompareOptions
from freezeframe.runners import choice
from freezeframe.runners.runner import Project

from . import _commands
from ._background_work import run_in_background
from ._compared_programs import (
    RUN_S,
    ComparedCommand,
    ProgramComparison,
    command_request,
    compare_calls,
    compare_commands,
    compare_with_revision,
)
from ._context import Context
from ._kept_answers import keep_answer
from ._launch_program import LaunchRequest, prepare_launch
from ._registry import Arg, Effect, Needs, op
from .history import find

#: Divergences listed by --all.
_DIVERGENCES = 200
_LONGEST_LABEL = 30


@op(
    "diff",
    aliases=("compare",),
    group="questions",
    effect=Effect.RESUMES,
    needs=Needs.WORKSPACE,
    control=True,
    example="diff 'python app.py good.csv' 'python app.py bad.csv'",
    examples=(
        "diff --against HEAD~1 -- pytest tests/test_cart.py::test_total",
        "diff tests/test_cart.py::test_empty tests/test_cart.py::test_total",
        "diff --calls price 1 2 -- python app.py",
        "diff good bad --all",
    ),
)
async def diff(
    ctx: Context,
    runs: Annotated[
        tuple[str, ...],
        Arg("two command lines in quotes, tests, or recorded runs; with --calls two numbers"),
    ] = (),
    command: Annotated[
        tuple[str, ...], Arg("after `--`: the command, for --against and --calls", rest=True)
    ] = (),
    *,
    against: Annotated[
        str | None, Arg("run the command at this git revision and as it is now", meta="REV")
    ] = None,
    calls: Annotated[
        str | None, Arg("compare two calls of this function, by number", meta="FUNCTION")
    ] = None,
    test: Annotated[bool, Arg("they are tests, as `test` selects them")] = False,
    all: Annotated[bool, Arg("of recorded runs: every divergence, not only the first")] = False,
    timeout: Annotated[
        float | None, Arg("seconds for each run (default: 60)", short="-t", meta="SECONDS")
    ] = None,
) -> RunDiff | ProgramDiff:
    """Run two commands and show the first divergence that explains why one of them fails.

    Both are traced, Python programs from inside, others step by step; lines are matched across
    edits of the source. Where that is too much, only the functions of a Python program are traced
    that the two executed differently. The answer has the line, which of its executions it was,
    both values, the branch that parted, and how each run ended. With --against the command also
    runs in a temporary worktree of that revision. Recorded runs are compared by their stops.
    """
    seconds = RUN_S if timeout is None else timeout
    if seconds <= 0:
        raise UsageError("--timeout takes more than 0 seconds.", next="dbg help diff")
    if against is not None:
        request = command_request(command or _command_line(runs))
        return await _waited(ctx, lambda: compare_with_revision(ctx, against, request, seconds))
    if calls is not None:
        return await _calls(ctx, calls, _numbers(runs), command, seconds)
    if len(runs) != 2:
        raise UsageError(
            "diff takes two commands, two tests or two recorded runs.", next="dbg help diff"
        )
    a, b = runs
    if test or (_is_selector(ctx, a) and _is_selector(ctx, b)):
        return await _waited(ctx, lambda: _tests(ctx, a, b, seconds))
    if not _is_command(ctx, a) and not _is_command(ctx, b):
        return await _recorded(ctx, a, b, all=all)
    return await _waited(ctx, lambda: _two_commands(ctx, a, b, seconds))


def _command_line(runs: tuple[str, ...]) -> tuple[str, ...]:
    return _commands.split_command(runs[0]) if len(runs) == 1 else runs


def _numbers(runs: tuple[str, ...]) -> tuple[int, int]:
    numbers = [int(each) for each in runs or ("1", "2") if each.isdecimal() and int(each)]
    if len(numbers) != 2 or len(runs) not in (0, 2) or numbers[0] == numbers[1]:
        raise UsageError(
            "--calls takes a function and the numbers of two of its calls.",
            next="dbg diff --calls FUNCTION 1 2 -- COMMAND",
        )
    return numbers[0], numbers[1]


async def _waited(
    ctx: Context, work: Callable[[], Coroutine[Any, Any, ProgramComparison]]
) -> ProgramDiff:
    """Return the result of *work*, which continues if the caller's time limit ends first."""

    async def answered() -> ProgramDiff:
        found = await work()
        return replace(found.answer, next=await keep_answer(ctx, "diff", found.facts(), found.run))

    def late(waited_s: float) -> UserError:
        return UserError(
            f"the two runs are not compared after {waited_s:.0f} s; that continues, and the same "
            "command waits for it.",
            code="under-way",
            next=f"dbg {ctx.typed}" if ctx.typed else "dbg help diff",
        )

    return await run_in_background(ctx, ("diff", ctx.typed), answered, late=late, keep=True)


# --- what A and B are


def _is_selector(ctx: Context, text: str) -> bool:
    """Whether *text* names a test of a file: `tests/t.py::name`, `t.py:LINE`."""
    if len(text.split()) > 1 and "[" not in text:
        return False
    file, colons, _ = text.partition("::")
    return bool(colons) and os.path.isfile(os.path.join(ctx.caller.cwd, file))


def _is_command(ctx: Context, text: str) -> bool:
    """Whether *text* can only be a command, not the name of a recorded run."""
    if len(text.split()) > 1:
        return True
    path = os.path.join(ctx.caller.cwd, text)
    is_program = os.sep in text or "." in text
    return (is_program and os.path.isfile(path)) or (
        os.sep in text and shutil.which(text) is not None
    )


async def _two_commands(ctx: Context, a: str, b: str, seconds: float) -> ProgramComparison:
    made = []
    commands = [_commands.split_command(text) for text in (a, b)]
    for argv, label in zip(commands, _labels(*commands), strict=True):
        if not argv:
            raise UsageError("an empty command cannot be run.", next="dbg help diff")
        made.append(_here(ctx, label, command_request(argv)))
    same = commands[0] == commands[1]
    return await compare_commands(ctx, made[0], made[1], seconds, CompareOptions(same_input=same))


def _labels(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, str]:
    """Return names for two commands: the first argument that is different."""
    for one, other in zip(a, b, strict=False):
        if one != other and max(len(one), len(other)) <= _LONGEST_LABEL:
            return one, other
    return "the first", "the second"


def _here(ctx: Context, label: str, request: LaunchRequest) -> ComparedCommand:
    return ComparedCommand(label, request, ctx.caller.cwd, ctx.workspace.root, ctx.caller.env)


async def _tests(ctx: Context, a: str, b: str, seconds: float) -> ProgramComparison:
    from .testing import available_runner

    made = []
    for selector in (a, b):
        project = Project(ctx.caller.cwd, ctx.caller.env, (selector,))
        chosen, interpreter, there = await available_runner(
            ctx, project, choice.choose(project, None)
        )
        command = chosen.runner.command(project)
        request = LaunchRequest(
            command.argv[0],
            command.argv[1:],
            module=command.module,
            cwd=command.cwd,
            env=command.env,
            interpreter=interpreter,
        )
        label = selector.rpartition("::")[2]
        made.append(_here(there, label, request))
    names = tuple(each.label.partition("[")[0].rpartition(".")[2] for each in made)
    tests = (names[0], names[1])
    options = CompareOptions(same_input=False, tests=tests if tests[0] != tests[1] else None)
    return await compare_commands(ctx, made[0], made[1], seconds, options)


async def _calls(
    ctx: Context,
    function: str,
    numbers: tuple[int, int],
    command: tuple[str, ...],
    seconds: float,
) -> ProgramDiff:
    if command:
        target = (await prepare_launch(ctx, command_request(command))).target
    else:
        launches = ctx.workspace.launches
        name = ctx.session_name or next(reversed(launches), None)
        if name is None or name not in launches:
            raise UsageError(
                "nothing was started here yet: which command makes the calls?",
                next=f"dbg diff --calls {function} 1 2 -- COMMAND",
            )
        target = launches[name][0]
    return await _waited(ctx, lambda: compare_calls(ctx, function, numbers, target, seconds))


# --- recorded runs


async def _recorded(ctx: Context, a: str, b: str, *, all: bool) -> RunDiff:
    from freezeframe.history import divergence

    one, other = await find(ctx, a), await find(ctx, b)
    if one.id == other.id:
        raise UsageError(f"{a} and {b} are the same run.", next="dbg sessions --all")
    for name, each in ((a, one), (b, other)):
        if not each.run.stops:
            raise NotFound(
                f"run {name} has no stops to compare.",
                next="dbg start PROGRAM -b FILE:LINE",
            )
    sides = await ctx.history.compared_run(one), await ctx.history.compared_run(other)
    found = await asyncio.to_thread(divergence.compare, *sides)
    listed = found.divergences[: _DIVERGENCES if all else 1]
    return RunDiff(
        one.run,
        other.run,
        tuple(listed),
        found.equal_stops,
        found.last_equal,
        more=len(found.divergences) - len(listed),
        edited=found.edited,
        only_a=found.only_a,
        only_b=found.only_b,
        next=() if all or len(found.divergences) <= 1 else (f"diff {a} {b} --all",),
    )
