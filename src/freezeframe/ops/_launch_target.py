"""Resolve the arguments of `start`: an existing program, or one to build first."""

from __future__ import annotations

import difflib
import os
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import Any

from freezeframe.backends import selection
from freezeframe.backends.builds import toolchains
from freezeframe.backends.builds.build_cache import Built, make
from freezeframe.backends.builds.build_plan import BuildPlan, BuildRequest, Toolchain, shown_path
from freezeframe.backends.commands.command_line import Resolved
from freezeframe.errors import NotFound, UsageError, UserError
from freezeframe.model.fast_dataclass import dataclass

from . import _commands
from ._background_work import run_in_background
from ._context import Context

#: `-m test PACKAGE`: the tests of a package, in languages whose tests are compiled
_TESTS = "test"


@dataclass(frozen=True, slots=True)
class LaunchTarget:
    """The program to start."""

    #: absolute, or the name of a module
    program: str
    args: tuple[str, ...]
    module: bool
    name: str
    interpreter: str | None = None
    interpreter_args: tuple[str, ...] = ()
    #: the environment and directory that a command sets; None: the caller's
    env: Mapping[str, str] | None = None
    cwd: str | None = None
    #: how to build the program, if it has to be built
    recipe: BuildPlan | None = None
    #: of a module, if a command names it
    language: str | None = None
    #: how the program was found, if its name does not say so
    reason: str = ""
    #: notes for the user about how the arguments were interpreted
    remarks: tuple[str, ...] = ()
    #: it is ours and runs a command as its child
    runs_command: bool = False


async def resolve_launch_target(
    ctx: Context,
    program: str | None,
    args: tuple[str, ...],
    *,
    module: bool,
    interpreter: str | None,
    adapter: str | None,
    break_files: tuple[str, ...] = (),
) -> LaunchTarget:
    """Return the program to run. Raises NotFound or UsageError with the candidates.

    *break_files* are the files of the requested breakpoints: of several programs, the one that
    contains them is chosen.
    """
    cwd = ctx.caller.cwd
    if program is None:
        program = _only_program(cwd, ".")
    if module:
        recipe, rest = await _tests(ctx, program, args, adapter)
        if recipe is not None:
            return LaunchTarget(
                recipe.source, recipe.arguments(rest), False, recipe.name, recipe=recipe
            )
        return LaunchTarget(program, args, True, name_of(program, module=True), interpreter)
    command = (program, *args)
    if not os.path.exists(os.path.join(cwd, program)) and program.split()[1:]:
        command = (*_commands.split_command(program), *args)
    found = await _commands.behind(ctx, command, adapter, break_files)
    if found is not None:
        return await _of_command(ctx, found, interpreter, adapter)
    program, args, interpreter = _without_runtime(ctx, program, args, interpreter, adapter)
    path = existing(program, cwd)
    name = name_of(path)
    toolchain = _toolchain(ctx, path, adapter)
    if toolchain is not None:
        recipe = await toolchain.plan(_build_request(ctx, path))
        if recipe is not None:
            return LaunchTarget(path, recipe.arguments(args), False, recipe.name, recipe=recipe)
        # A project whose programs are below it.
        below = os.path.join(path, _only_program(path, program))
        return await resolve_launch_target(
            ctx, below, args, module=False, interpreter=interpreter, adapter=adapter
        )
    reason = ""
    if os.path.isdir(path):
        folder, path = path, _file_of(path, program)
        if path != folder:
            reason = f"the program of {program} is {os.path.relpath(path, folder)}; "
    return LaunchTarget(path, args, False, name, interpreter, reason=reason)


async def _of_command(
    ctx: Context, found: Resolved, interpreter: str | None, adapter: str | None
) -> LaunchTarget:
    """Return the program that a command line runs."""
    program, line = found.program, found.line
    there = replace(ctx, caller=replace(ctx.caller, cwd=line.cwd, env=line.env))
    interpreter = interpreter or program.interpreter
    if program.recipe is None and not program.module and program.interpreter is None:
        # A source or a project, which the command names by its path.
        inner = await resolve_launch_target(
            there,
            program.program,
            program.args,
            module=False,
            interpreter=interpreter,
            adapter=adapter,
        )
    else:
        inner = LaunchTarget(
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
        runs_command=program.runs_command,
    )


async def built(ctx: Context, recipe: BuildPlan, env: Mapping[str, str]) -> Built:
    """Build the program. Raises BuildFailed.

    If the caller's time limit ends first, an error says so; the same command then finds the build
    in progress or done.
    """

    def making() -> Coroutine[Any, Any, Built]:
        return make(recipe, env=env, cwd=ctx.caller.cwd, timeout_s=ctx.config.timeouts.build_s)

    def late(waited_s: float) -> UserError:
        return UserError(
            f"{os.path.basename(recipe.source)} is still being built with {recipe.display} after "
            f"{waited_s:.0f} s; the build continues, and the same command waits for it.",
            code="building",
            next=f"dbg start {shown_path(recipe.source, ctx.caller.cwd)}",
        )

    return await run_in_background(ctx, ("build", recipe.cwd, *recipe.argv), making, late=late)


def _build_request(ctx: Context, path: str, *, tests: bool = False) -> BuildRequest:
    return BuildRequest(path, tests, ctx.caller.env, ctx.caller.cwd, ctx.config.timeouts.build_s)


def _toolchain(ctx: Context, path: str, adapter: str | None) -> Toolchain | None:
    """Return the toolchain that builds a path; None if a debugger takes the path as it is."""
    if os.path.isdir(path):
        is_package = os.path.isfile(os.path.join(path, "__main__.py"))
        return None if is_package else toolchains.for_folder(path)
    if selection.takes_source(path, name=adapter, config=ctx.config):
        return None
    return toolchains.for_file(path)


async def _tests(
    ctx: Context, module: str, args: tuple[str, ...], adapter: str | None
) -> tuple[BuildPlan | None, tuple[str, ...]]:
    """Return the build plan for the tests that `-m test` names, and their arguments."""
    if module != _TESTS or adapter is not None:
        return None, args
    path, rest = _path_before(ctx.caller.cwd, args)
    toolchain = toolchains.for_tests(path)
    if toolchain is None:
        return None, args
    return await toolchain.plan(_build_request(ctx, path, tests=True)), rest


def _path_before(cwd: str, args: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the file or directory that *args* begin with (default: *cwd*), and the rest."""
    first = args[0] if args else ""
    if first.endswith("..."):
        raise UsageError(
            f"{first} names several packages; only one can be debugged at a time.",
            next="dbg start -m test ./PACKAGE",
        )
    if first and not first.startswith("-"):
        path, rest = existing(first, cwd), args[1:]
    else:
        path, rest = cwd, args
    return path, rest[1:] if rest[:1] == ("--",) else rest


def _only_program(folder: str, called: str) -> str:
    """Return the only program in a directory. Raises UsageError if there is not exactly one."""
    found = toolchains.programs(folder)
    if len(found) == 1:
        return found[0]
    where = "here" if called == "." else f"in {called}"
    if found:
        first = os.path.normpath(os.path.join(called, found[0]))
        raise UsageError(
            f"there are {len(found)} programs {where}: {', '.join(found)}.",
            next=f"dbg start {found[0] if called == '.' else first}",
        )
    known = toolchains.elsewhere(folder)
    if known is not None:
        raise UsageError(f"{called} is {known[0]}, which is not built here.", next=known[1])
    raise UsageError(
        f"`start` takes a program, and nothing {where} says which one.",
        next="dbg start PROGRAM -b FILE:LINE",
    )


def _file_of(folder: str, program: str) -> str:
    """Return the file that runs a directory: the directory itself if it is a package."""
    if os.path.isfile(os.path.join(folder, "__main__.py")):
        return folder
    file = toolchains.entry_file(folder)
    if file is not None:
        return file
    known = toolchains.elsewhere(folder)
    if known is not None:
        raise NotFound(f"{program} is {known[0]}, which is not built here.", next=known[1])
    raise NotFound(f"{program} is a directory, not a program.", next="dbg start PROGRAM")


def existing(program: str, cwd: str) -> str:
    """Return the absolute path of a program. Raises NotFound with the nearest name."""
    if program == "-":
        raise UsageError(
            "dbg reads no program from its standard input: write it to a file.",
            next="dbg start FILE",
        )
    path = os.path.abspath(os.path.join(cwd, os.path.expanduser(program)))
    if os.path.exists(path):
        return path
    file, colon, line = program.rpartition(":")
    if colon and line.isdecimal() and os.path.isfile(os.path.join(cwd, os.path.expanduser(file))):
        raise UsageError(
            f"{program} is a line of {file}, not a program.",
            next=f"dbg start {file} -b {program}",
        )
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
    """Interpret `start python app.py` as app.py, run by that python."""
    is_file = os.sep not in program and os.path.exists(os.path.join(ctx.caller.cwd, program))
    native = _commands.is_native(ctx, program, adapter)
    if is_file or not args or native or not selection.is_runtime(program):
        return program, args, interpreter
    return args[0], args[1:], interpreter or program


def name_of(program: str, *, module: bool = False) -> str:
    """Return a name for the session of a program."""
    name = program if module else os.path.splitext(os.path.basename(program.rstrip("/")))[0]
    return name.replace("/", "-") or "program"
