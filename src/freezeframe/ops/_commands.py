"""Command lines that `start` is given in place of a program."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freezeframe.backends import select
from freezeframe.backends.builds.make import Built, make
from freezeframe.backends.builds.recipe import Recipe
from freezeframe.backends.commands.line import CommandLine, Resolved
from freezeframe.backends.commands.resolve import resolve
from freezeframe.backends.native import binary_kinds
from freezeframe.backends.transport.run import Ran, run
from freezeframe.errors import BuildFailed, DebuggerTimeout, UsageError, UserError

from ._context import Context
from ._lasting import lasting

#: the condition of `app.py:14 if n > 3`
_BEHIND_PLACE = re.compile(r"(?<=\d)\s+if\s.*", re.DOTALL)


async def behind(
    ctx: Context,
    words: tuple[str, ...],
    adapter: str | None,
    break_files: tuple[str, ...],
) -> Resolved | None:
    """Return the program behind a command line; None where its first word is a program itself."""
    if is_native(ctx, words[0], adapter):
        return None
    line = CommandLine(words, ctx.caller.cwd, ctx.caller.env, break_files)
    return await resolve(line, _Tools(ctx))


def is_native(ctx: Context, word: str, adapter: str | None) -> bool:
    """Whether a word is a binary to be debugged itself, although it is called like a runtime.

    `./lua t.lua` is one where a debugger of binaries is named, or none of its language is here.
    """
    path = os.path.join(ctx.caller.cwd, word)
    kinds = binary_kinds(path) if os.sep in word and os.path.isfile(path) else ()
    if not kinds:
        return False
    return not select.runs_scripts(word, name=adapter, env=ctx.caller.env, config=ctx.config)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a command line that was given as one."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{text!r} is no command line: {error}.") from None


@dataclass(frozen=True, slots=True)
class _Tools:
    """Runs what a command prepares. A caller whose patience ends finds it under way."""

    ctx: Context

    async def run(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> Ran:
        limit_s = self.ctx.config.timeouts.build_s

        async def running() -> Ran:
            try:
                return await run(argv, cwd=cwd, env=env, timeout_s=limit_s)
            except DebuggerTimeout as error:
                why = f"{error.message} See timeouts.build_s."
                raise BuildFailed(why, next="dbg config") from None

        key = ("command", cwd, *argv)
        return await lasting(self.ctx, key, running, late=_late(shlex.join(argv[-2:])), keep=True)

    async def build(self, recipe: Recipe, env: Mapping[str, str]) -> str:
        limit_s = self.ctx.config.timeouts.build_s

        def making() -> Coroutine[Any, Any, Built]:
            return make(recipe, env=env, cwd=self.ctx.caller.cwd, timeout_s=limit_s)

        key = ("build", recipe.cwd, *recipe.argv)
        return (await lasting(self.ctx, key, making, late=_late(recipe.words))).program


def _late(what: str) -> Any:
    def late(waited_s: float) -> UserError:
        return UserError(
            f"{what} still runs after {waited_s:.0f} s; it goes on, and the same command waits "
            "for it.",
            code="building",
            next="dbg start …  # the same command",
        )

    return late


def files_of(ctx: Context, locations: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files that breakpoints were given in, absolute, of those that are there."""
    places = (_BEHIND_PLACE.sub("", each) for each in locations)
    files = (os.path.join(ctx.caller.cwd, each.rpartition(":")[0]) for each in places)
    return tuple(os.path.abspath(each) for each in files if os.path.isfile(each))
