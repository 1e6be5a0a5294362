"""A revision of the project in a temporary git worktree, which is removed in every case."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from freezeframe import paths
from freezeframe.backends.transport.run_command import CommandResult, run
from freezeframe.errors import LaunchFailed, NotFound, Unsupported, UserError
from freezeframe.model.fast_dataclass import dataclass

from ._context import Context
from ._launch_args import is_below

_GIT_S = 60.0
#: files that git ignores and that a run may need: what a build has put beside the sources
_GENERATED = (".so", ".pyd", "_version.py", "version.py")
_MOST_GENERATED, _LARGEST_GENERATED = 200, 50_000_000
_SKIPPED = frozenset((".venv", "venv", "node_modules", "__pycache__", ".git", "site-packages"))


@dataclass(frozen=True, slots=True)
class Worktree:
    """A checked-out revision."""

    #: the top directory of the project's repository, and of the worktree
    project: str
    top: str
    #: the abbreviated hash
    commit: str
    notes: tuple[str, ...] = ()

    def inside(self, path: str) -> str:
        """Return the path in the worktree of a path in the project; others as they are."""
        real, top = os.path.realpath(path), os.path.realpath(self.project)
        if is_below(real, (top,)):
            return os.path.normpath(os.path.join(self.top, os.path.relpath(real, top)))
        return path


@asynccontextmanager
async def worktree_of(
    ctx: Context, revision: str, tests: tuple[str, ...] = ()
) -> AsyncIterator[Worktree]:
    """Check *revision* out into a directory of its own, for as long as the context lasts.

    The project's working tree stays as it is. *tests* are files of it that the worktree gets as
    they are now, so that both versions are held against the same test. Raises NotFound if there is
    no such revision.
    """
    project = await _top(ctx)
    commit = await _git(ctx, project, "rev-parse", "--short", "--verify", f"{revision}^{{commit}}")
    if commit.status or revision.startswith("-"):
        raise NotFound(
            f"git knows no revision {revision!r}.", next="dbg diff --against HEAD -- CMD"
        )
    directory = os.path.realpath(paths.scratch())
    top = os.path.join(directory, os.path.basename(project) or "project")
    try:
        # Worktrees of a daemon that was killed are gone, and only git still lists them.
        await _git(ctx, project, "worktree", "prune")
        added = await _git(
            ctx, project, "worktree", "add", "--detach", "--force", top, commit.out.strip()
        )
        if added.status:
            raise UserError(
                f"git could not check out {revision}: {_last_line(added.err)}.",
                code="git-failed",
                next="git worktree list",
            )
        notes = await asyncio.to_thread(_complete, project, top, tests)
        yield Worktree(project, top, commit.out.strip(), notes)
    finally:
        await asyncio.shield(_removed(ctx, project, directory, top))


async def _removed(ctx: Context, project: str, directory: str, top: str) -> None:
    try:
        await _git(ctx, project, "worktree", "remove", "--force", top)
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, True)
        await _git(ctx, project, "worktree", "prune")


async def _top(ctx: Context) -> str:
    found = await _git(ctx, ctx.caller.cwd, "rev-parse", "--show-toplevel")
    if found.status:
        raise Unsupported(
            f"{ctx.caller.cwd} is in no git repository, so there is no other revision of it.",
            next="dbg diff 'COMMAND' 'OTHER COMMAND'",
        )
    return found.out.strip()


async def _git(ctx: Context, cwd: str, *arguments: str) -> CommandResult:
    env = {name: value for name, value in ctx.caller.env.items() if not name.startswith("GIT_")}
    # Hooks of the project are programs: a comparison runs none of them.
    options = ("-c", f"core.hooksPath={os.devnull}", "-c", "advice.detachedHead=false")
    try:
        return await run(("git", *options, *arguments), cwd=cwd, env=env, timeout_s=_GIT_S)
    except LaunchFailed:
        raise Unsupported(
            "git is not installed, and `--against` needs it.",
            next="dbg diff 'COMMAND' 'OTHER COMMAND'",
        ) from None


def _last_line(text: str) -> str:
    lines = [each for each in text.splitlines() if each.strip()]
    return lines[-1].strip().rstrip(".") if lines else "it said nothing"


def _complete(project: str, top: str, tests: tuple[str, ...]) -> tuple[str, ...]:
    """Copy what the revision does not have: tests of now, and what a build generated."""
    notes = []
    taken = [each for each in tests if _copied(project, top, each)]
    if taken:
        shown = ", ".join(taken[:3])
        notes.append(f"both versions ran {shown} as it is now: the revision has it differently")
    count = 0
    for folder, folders, names in os.walk(project):
        folders[:] = [each for each in folders if each not in _SKIPPED]
        for name in names:
            relative = os.path.relpath(os.path.join(folder, name), project)
            is_missing = not os.path.exists(os.path.join(top, relative))
            if name.endswith(_GENERATED) and is_missing and _copied(project, top, relative):
                count += 1
        if count >= _MOST_GENERATED:
            break
    return tuple(notes)


def _copied(project: str, top: str, relative: str) -> bool:
    """Copy a file into the worktree if it is not there already, with the same contents."""
    source, target = os.path.join(project, relative), os.path.join(top, relative)
    try:
        if not os.path.isfile(source) or os.path.getsize(source) > _LARGEST_GENERATED:
            return False
        if os.path.isfile(target):
            with open(source, "rb") as one, open(target, "rb") as other:
                if one.read() == other.read():
                    return False
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
    except OSError:
        return False
    return True
