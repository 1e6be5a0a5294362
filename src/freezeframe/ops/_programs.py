"""What the words of `start` mean: a program as it is, or one that has to be built first."""

from __future__ import annotations

import difflib
import os
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

from freezeframe.backends import select
from freezeframe.backends.builds import find
from freezeframe.backends.builds.make import Built, make
from freezeframe.backends.builds.recipe import Recipe, Toolchain, Wish, shown_path
from freezeframe.backends.commands.line import Resolved
from freezeframe.errors import NotFound, UsageError, UserError

from . import _commands
from ._context import Context
from ._lasting import lasting

#: `-m test PACKAGE`: the tests of a package, in languages whose tests are compiled
_TESTS = "test"


@dataclass(frozen=True, slots=True)
class Meant:
    """What is to be started."""

    #: absolute, or the name of a module
    program: str
    args: tuple[str, ...]
    module: bool
    name: str
    interpreter: str | None = None
    interpreter_args: tuple[str, ...] = ()
    #: the environment and the directory that a command gives it; None: the caller's
    env: Mapping[str, str] | None = None
    cwd: str | None = None
    #: how the program is made, where it is not there yet
    recipe: Recipe | None = None
    #: of a module, where a command tells it
    language: str | None = None
    #: how it was found, where its name does not say it
    reason: str = ""
    #: what the user should know about how his words were understood
    remarks: tuple[str, ...] = ()


async def meant(
    ctx: Context,
    program: str | None,
    args: tuple[str, ...],
    *,
    module: bool,
    interpreter: str | None,
    adapter: str | None,
    break_files: tuple[str, ...] = (),
) -> Meant:
    """Return what the user wants to run. Raises NotFound or UsageError with what there is.

    *break_files* are those that he gave breakpoints in: of several programs the one of theirs is
    meant.
    """
    cwd = ctx.caller.cwd
    if program is None:
        program = _only_program(cwd, ".")
    if module:
        recipe, rest = await _tests(ctx, program, args, adapter)
        if recipe is not None:
            return Meant(recipe.source, recipe.arguments(rest), False, recipe.name, recipe=recipe)
        return Meant(program, args, True, name_of(program, module=True), interpreter)
    words = (program, *args)
    if not os.path.exists(os.path.join(cwd, program)) and program.split()[1:]:
        words = (*_commands.words_of(program), *args)
    found = await _commands.behind(ctx, words, adapter, break_files)
    if found is not None:
        return await _of_command(ctx, found, interpreter, adapter)
    program, args, interpreter = _without_runtime(ctx, program, args, interpreter, adapter)
    path = existing(program, cwd)
    name = name_of(path)
    toolchain = _toolchain(ctx, path, adapter)
    if toolchain is not None:
        recipe = await toolchain.plan(_wish(ctx, path))
        if recipe is not None:
            return Meant(path, recipe.arguments(args), False, recipe.name, recipe=recipe)
        # A project whose programs are below it.
        below = os.path.join(path, _only_program(path, program))
        return await meant(ctx, below, args, module=False, interpreter=interpreter, adapter=adapter)
    reason = ""
    if os.path.isdir(path):
        folder, path = path, _file_of(path, program)
        if path != folder:
            reason = f"the program of {program} is {os.path.relpath(path, folder)}; "
    return Meant(path, args, False, name, interpreter, reason=reason)


async def _of_command(
    ctx: Context, found: Resolved, interpreter: str | None, adapter: str | None
) -> Meant:
    """Return the program that was found behind a command."""
    program, line = found.program, found.line
    there = replace(ctx, caller=replace(ctx.caller, cwd=line.cwd, env=line.env))
    interpreter = interpreter or program.interpreter
    if program.recipe is None and not program.module and program.interpreter is None:
        # A source or a project, which the command names by its path.
        inner = await meant(
            there,
            program.program,
            program.args,
            module=False,
            interpreter=interpreter,
            adapter=adapter,
        )
    else:
        inner = Meant(
            program.program,
            program.args,
            program.module,
            program.name or name_of(program.program, module=program.module),
            interpreter,
            recipe=program.recipe,
            language=program.language,
        )
    return replace(
        inner,
        interpreter_args=program.interpreter_args,
        env={**line.env, **program.env},
        cwd=line.cwd if line.moved else None,
        remarks=(*line.remarks, *program.remarks, *inner.remarks),
    )


async def built(ctx: Context, recipe: Recipe, env: Mapping[str, str]) -> Built:
    """Build what must be built. Raises BuildFailed.

    A caller whose patience ends before the build is told so, and finds it under way, or done,
    when he asks again.
    """

    def making() -> Coroutine[Any, Any, Built]:
        return make(recipe, env=env, cwd=ctx.caller.cwd, timeout_s=ctx.config.timeouts.build_s)

    def late(waited_s: float) -> UserError:
        return UserError(
            f"{os.path.basename(recipe.source)} is still being built with {recipe.words} after "
            f"{waited_s:.0f} s; the build goes on, and the same command waits for it.",
            code="building",
            next=f"dbg start {shown_path(recipe.source, ctx.caller.cwd)}",
        )

    return await lasting(ctx, ("build", recipe.cwd, *recipe.argv), making, late=late)


def _wish(ctx: Context, path: str, *, tests: bool = False) -> Wish:
    return Wish(path, tests, ctx.caller.env, ctx.caller.cwd, ctx.config.timeouts.build_s)


def _toolchain(ctx: Context, path: str, adapter: str | None) -> Toolchain | None:
    """Return what makes a program of a path, unless it is one that a debugger takes as it is."""
    if os.path.isdir(path):
        is_package = os.path.isfile(os.path.join(path, "__main__.py"))
        return None if is_package else find.for_folder(path)
    if select.takes_source(path, name=adapter, config=ctx.config):
        return None
    return find.for_file(path)


async def _tests(
    ctx: Context, module: str, args: tuple[str, ...], adapter: str | None
) -> tuple[Recipe | None, tuple[str, ...]]:
    """Return how the tests are built that `-m test` names, and what is left for them."""
    if module != _TESTS or adapter is not None:
        return None, args
    path, rest = _path_before(ctx.caller.cwd, args)
    toolchain = find.for_tests(path)
    if toolchain is None:
        return None, args
    return await toolchain.plan(_wish(ctx, path, tests=True)), rest


def _path_before(cwd: str, args: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the file or folder that arguments begin with (the caller's own without one)."""
    first = args[0] if args else ""
    if first.endswith("..."):
        raise UsageError(
            f"{first} is several packages; one is debugged at a time.",
            next="dbg start -m test ./PACKAGE",
        )
    if first and not first.startswith("-"):
        path, rest = existing(first, cwd), args[1:]
    else:
        path, rest = cwd, args
    return path, rest[1:] if rest[:1] == ("--",) else rest


def _only_program(folder: str, called: str) -> str:
    """Return what there is to start in a folder, when that is one thing."""
    found = find.programs(folder)
    if len(found) == 1:
        return found[0]
    where = "here" if called == "." else f"in {called}"
    if found:
        first = os.path.normpath(os.path.join(called, found[0]))
        raise UsageError(
            f"there are {len(found)} programs {where}: {', '.join(found)}.",
            next=f"dbg start {found[0] if called == '.' else first}",
        )
    known = find.elsewhere(folder)
    if known is not None:
        raise UsageError(f"{called} is {known[0]}, which is not built here.", next=known[1])
    raise UsageError(
        f"`start` takes a program, and nothing {where} says which.",
        next="dbg start PROGRAM -b FILE:LINE",
    )


def _file_of(folder: str, program: str) -> str:
    """Return what runs a folder: itself where it is a package, or the file that it names."""
    if os.path.isfile(os.path.join(folder, "__main__.py")):
        return folder
    file = find.entry_file(folder)
    if file is not None:
        return file
    known = find.elsewhere(folder)
    if known is not None:
        raise NotFound(f"{program} is {known[0]}, which is not built here.", next=known[1])
    raise NotFound(f"{program} is a directory, not a program.", next="dbg start PROGRAM")


def existing(program: str, cwd: str) -> str:
    """Return the absolute path of a program. Raises NotFound with the nearest name there is."""
    path = os.path.abspath(os.path.join(cwd, os.path.expanduser(program)))
    if os.path.exists(path):
        return path
    directory = os.path.dirname(path)
    try:
        near = difflib.get_close_matches(os.path.basename(path), os.listdir(directory), 1, 0.6)
    except OSError:
        near = []
    beside = os.path.join(os.path.dirname(program), near[0]) if near else None
    raise NotFound(
        f"there is no program {program} in {cwd}.",
        next=f"dbg start {beside}" if beside else "dbg start PROGRAM",
    )


def _without_runtime(
    ctx: Context,
    program: str,
    args: tuple[str, ...],
    interpreter: str | None,
    adapter: str | None,
) -> tuple[str, tuple[str, ...], str | None]:
    """Read `start python app.py` as what was meant: app.py, run by that python."""
    is_file = os.sep not in program and os.path.exists(os.path.join(ctx.caller.cwd, program))
    native = _commands.is_native(ctx, program, adapter)
    if is_file or not args or native or not select.is_runtime(program):
        return program, args, interpreter
    return args[0], args[1:], interpreter or program


def name_of(program: str, *, module: bool = False) -> str:
    """Return a name for the session of a program."""
    name = program if module else os.path.splitext(os.path.basename(program.rstrip("/")))[0]
    return name.replace("/", "-") or "program"
