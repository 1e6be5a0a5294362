"""Command lines given to `start` in place of a program."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from freezeframe.backends import selection
from freezeframe.backends.builds.build_cache import Built, make
from freezeframe.backends.builds.build_plan import BuildPlan
from freezeframe.backends.commands.command_line import CommandLine, Resolved
from freezeframe.backends.commands.python_environments import PythonEnvironment, environment_with
from freezeframe.backends.commands.resolve import resolve
from freezeframe.backends.native import binary_kinds
from freezeframe.backends.transport.run_command import CommandResult, run
from freezeframe.errors import BuildFailed, DebuggerTimeout, UsageError, UserError
from freezeframe.model.fast_dataclass import dataclass

from ._background_work import run_in_background
from ._context import Context

#: the condition of `app.py:14 if n > 3`
_CONDITION = re.compile(r"(?<=\d)\s+if\s.*", re.DOTALL)


async def behind(
    ctx: Context,
    args: tuple[str, ...],
    adapter: str | None,
    break_files: tuple[str, ...],
) -> Resolved | None:
    """Return the program that a command line runs; None if its first word is the program."""
    if is_native(ctx, args[0], adapter):
        return None
    line = CommandLine(args, ctx.caller.cwd, ctx.caller.env, break_files)
    return await resolve(line, _Tools(ctx))


async def python_with(ctx: Context, module: str, named: str | None) -> PythonEnvironment:
    """Return the caller's Python environment that has *module*, or the first without it.

    *named* is the interpreter that the user named.
    """
    line = CommandLine((module,), ctx.caller.cwd, ctx.caller.env)
    return await environment_with(module, line, _Tools(ctx), resolve, named=named)


def is_native(ctx: Context, word: str, adapter: str | None) -> bool:
    """Whether *word* is a binary to debug itself, although it has the name of a runtime.

    `./lua t.lua` is, if a native debugger is requested or no debugger for Lua is installed.
    """
    path = os.path.join(ctx.caller.cwd, word)
    kinds = binary_kinds(path) if os.sep in word and os.path.isfile(path) else ()
    if not kinds:
        return False
    return not selection.runs_scripts(word, name=adapter, env=ctx.caller.env, config=ctx.config)


def split_command(text: str) -> tuple[str, ...]:
    """Split a command line that was given as one string."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{text!r} is not a command line: {error}.") from None


@dataclass(frozen=True, slots=True)
class _Tools:
    """Run the preparation of a command; it continues if the caller's time limit ends first."""

    ctx: Context

    async def run(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> CommandResult:
        limit_s = self.ctx.config.timeouts.build_s

        async def running() -> CommandResult:
            try:
                return await run(argv, cwd=cwd, env=env, timeout_s=limit_s)
            except DebuggerTimeout as error:
                why = f"{error.message} See timeouts.build_s."
                raise BuildFailed(why, next="dbg config") from None

        key = ("command", cwd, *argv)
        return await run_in_background(
            self.ctx, key, running, late=_late(shlex.join(argv[-2:])), keep=True
        )

    async def build(self, recipe: BuildPlan, env: Mapping[str, str]) -> str:
        limit_s = self.ctx.config.timeouts.build_s

        def making() -> Coroutine[Any, Any, Built]:
            return make(recipe, env=env, cwd=self.ctx.caller.cwd, timeout_s=limit_s)

        key = ("build", recipe.cwd, *recipe.argv)
        return (await run_in_background(self.ctx, key, making, late=_late(recipe.display))).program


def _late(what: str) -> Any:
    def late(waited_s: float) -> UserError:
        return UserError(
            f"{what} still runs after {waited_s:.0f} s and continues; the same command waits "
            "for it.",
            code="building",
            next="dbg start …  # the same command",
        )

    return late


def files_of(ctx: Context, locations: tuple[str, ...]) -> tuple[str, ...]:
    """Return the absolute paths of the existing files of breakpoint locations."""
    without_conditions = (_CONDITION.sub("", each) for each in locations)
    files = (os.path.join(ctx.caller.cwd, each.rpartition(":")[0]) for each in without_conditions)
    return tuple(os.path.abspath(each) for each in files if os.path.isfile(each))
