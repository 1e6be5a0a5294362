"""A copy of the project's sources with a patch applied; the project itself is never changed."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from freezeframe import paths
from freezeframe.backends.backend import Launch
from freezeframe.backends.selection import DebuggerChoice
from freezeframe.backends.transport.run_command import run
from freezeframe.errors import LaunchFailed, Unsupported, UsageError
from freezeframe.questions.trials import guarded_source, replaced_function

from ._compared_programs import paths_inside
from ._context import Context
from ._launch_args import is_below
from ._launch_program import LaunchRequest, prepare_launch
from ._suggestions import quoted
from ._worktrees import Worktree

_PATCH_S = 20.0
#: directories that a copy has as links, and those that it does not have
_LINKED = frozenset((".venv", "venv", "node_modules", "vendor"))
_LEFT_OUT = frozenset((".git", "__pycache__", ".cache", ".mypy_cache", ".pytest_cache", "target"))
_MOST_BYTES = 300_000_000


#: Changes a copy of the sources. Raises UsageError if that cannot be done.
Edit = Callable[[Worktree], Awaitable[None]]


@asynccontextmanager
async def changed_target(
    ctx: Context, target: Launch, choice: DebuggerChoice, edit: Edit
) -> AsyncIterator[tuple[Launch, DebuggerChoice, Worktree]]:
    """Return the program in a changed copy of its sources, as long as the context lasts.

    A program that was built from its source is built again there.
    """
    root = _root(ctx, target)
    directory = os.path.realpath(paths.scratch())
    top = os.path.join(directory, os.path.basename(root) or "project")
    tree = Worktree(root, top, "")
    try:
        await asyncio.to_thread(_copy, root, top)
        await edit(tree)
        there, debugger = await _inside(ctx, tree, target, choice)
        yield there, debugger, tree
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, directory, True))


def _root(ctx: Context, target: Launch) -> str:
    """Return the directory of the project: the workspace, if the program runs in it."""
    root = os.path.realpath(ctx.workspace.root)
    cwd = os.path.realpath(target.cwd)
    return root if is_below(cwd, (root,)) else cwd


def _copy(root: str, top: str) -> None:
    size = 0
    for folder, folders, names in os.walk(root):
        there = os.path.normpath(os.path.join(top, os.path.relpath(folder, root)))
        os.makedirs(there, exist_ok=True)
        for name in [each for each in folders if each in _LINKED]:
            os.symlink(os.path.join(folder, name), os.path.join(there, name))
        folders[:] = [each for each in folders if each not in _LINKED | _LEFT_OUT]
        for name in names:
            source = os.path.join(folder, name)
            if not os.path.isfile(source):
                continue  # a socket, or a link to nothing
            size += os.path.getsize(source)
            if size > _MOST_BYTES:
                raise Unsupported(
                    f"{root} has more than {_MOST_BYTES // 1_000_000} MB: too much for a copy.",
                    next="dbg try 'NAME = VALUE'",
                )
            shutil.copy2(source, os.path.join(there, name))


def with_patch(ctx: Context, patch: str) -> Edit:
    """Return the edit that applies a unified diff."""

    async def edit(tree: Worktree) -> None:
        await _apply(ctx, patch, tree.top)

    return edit


def with_statement(path: str, line: int, hit: int, statement: str) -> Edit:
    """Return the edit that executes a statement before a line, at one hit of it."""

    async def edit(tree: Worktree) -> None:
        there = tree.inside(path)
        if there == path:
            raise UsageError(f"{path} is not in this project.", next="dbg try 'NAME = VALUE'")
        with open(there, encoding="utf-8") as file:
            source = file.read()
        changed = guarded_source(path, source, line, hit, statement)
        if changed is None:
            raise UsageError(f"`{statement}` cannot stand before line {line}.", next="dbg source")
        with open(there, "w", encoding="utf-8") as file:
            file.write(changed)

    return edit


def with_function(ctx: Context, path: str, name: str, file: str) -> Edit:
    """Return the edit that replaces a function of the Python source *path* by that of a file."""

    async def edit(tree: Worktree) -> None:
        given = os.path.join(ctx.caller.cwd, file)
        if not os.path.isfile(given):
            raise UsageError(f"there is no file {file}.", next="dbg try 'FUNCTION = @FILE'")
        there = tree.inside(path)
        if there == path:
            raise UsageError(f"{path} is not in this project.", next="dbg try 'NAME = VALUE'")
        with open(there, encoding="utf-8") as source, open(given, encoding="utf-8") as new:
            changed = replaced_function(source.read(), name, new.read())
        if changed is None:
            shown = os.path.basename(path)
            raise UsageError(
                f"{file} holds neither the function {name} of {shown} alone nor a body for it.",
                next="dbg source",
            )
        with open(there, "w", encoding="utf-8") as source:
            source.write(changed)

    return edit


async def _apply(ctx: Context, patch: str, top: str) -> None:
    path = os.path.join(ctx.caller.cwd, patch)
    if not os.path.isfile(path):
        raise UsageError(f"there is no patch {patch}.", next="git diff > FILE")
    error = ""
    for strip in ("-p1", "-p0"):
        command = ("git", "apply", strip, os.path.abspath(path))
        env = {**ctx.caller.env, "GIT_CEILING_DIRECTORIES": os.path.dirname(top)}
        try:
            result = await run(command, cwd=top, env=env, timeout_s=_PATCH_S)
        except LaunchFailed:
            raise Unsupported(
                "git is not installed, and it applies patches.", next="dbg try 'NAME = VALUE'"
            ) from None
        if result.status == 0:
            return
        error = error or result.err.strip().partition("\n")[0]
    raise UsageError(f"{patch} does not apply: {error}.", next=f"git apply --check {quoted(patch)}")


async def _inside(
    ctx: Context, tree: Worktree, target: Launch, choice: DebuggerChoice
) -> tuple[Launch, DebuggerChoice]:
    """Return the target in the copy, built there if it was built."""
    if target.recipe is not None:
        caller = replace(ctx.caller, cwd=tree.inside(ctx.caller.cwd))
        there = replace(ctx, caller=caller)
        source = tree.inside(target.recipe.source)
        ready = await prepare_launch(there, LaunchRequest(source, target.args))
        return ready.target, ready.choice
    inside: Callable[[str], str] = tree.inside
    program = target.program if target.module else inside(target.program)
    if not target.module and program == target.program:
        raise Unsupported(
            f"{os.path.basename(program)} is not built from the sources of this project.",
            next="dbg try 'NAME = VALUE'",
        )
    args = tuple(inside(each) if os.path.isabs(each) else each for each in target.args)
    env = paths_inside(tree, target.env)
    return replace(target, program=program, args=args, cwd=inside(target.cwd), env=env), choice
