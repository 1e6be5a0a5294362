"""Making ourselves known to the programs that agents live in: `setup HOST`, `skill install`."""

from __future__ import annotations

import asyncio
import difflib
from typing import Annotated

from freezeframe.errors import NotFound
from freezeframe.model.answers import Check, FileChange, FileChanges, Setup, SetupStep

from . import _hosts
from ._context import Context
from ._hosts import HOSTS, Ground, Host
from ._registry import Arg, Effect, op

DryRun = Annotated[bool, Arg("show what would change, and change nothing")]
InProject = Annotated[bool, Arg("in the files of this project, not in the user's own")]


@op(
    "skill install",
    group="house",
    control=True,
    effect=Effect.WRITES,
    example="skill install",
    examples=("skill install --host claude --project",),
)
async def skill_install(
    ctx: Context,
    *,
    host: Annotated[
        tuple[str, ...], Arg("only for this one (default: those that are here)", meta="HOST")
    ] = (),
    project: InProject = False,
    dry_run: DryRun = False,
) -> FileChanges:
    """Put a short SKILL.md where agents' hosts look; all it says is to run `dbg skill`."""
    ground = _ground(ctx)
    if host:
        chosen = [known(name) for name in host]
    else:
        chosen = [
            each
            for each in HOSTS.values()
            if ground.skill(each, project=project) and ground.uses(each)
        ]
        if not chosen:
            raise NotFound(
                "no host that takes skills is here.", next="dbg skill install --host HOST"
            )
    changes: dict[str, FileChange] = {}
    for each in chosen:
        # Hosts share folders.
        path = ground.skill(each, project=project)
        if path is None or path not in changes:
            change = _hosts.with_skill(each, ground, project=project, dry_run=dry_run)
            changes[change.path] = change
    return FileChanges(tuple(changes.values()), next=() if dry_run else ("doctor hosts",))


async def set_up(ctx: Context, host: Host, *, project: bool, dry_run: bool) -> FileChanges:
    """Put us among a host's MCP servers. Raises UserError."""
    ground = _ground(ctx)
    change = await asyncio.to_thread(
        _hosts.configured, host, ground, project=project, dry_run=dry_run
    )
    if dry_run and change.state != "unchanged":
        where = " --project" if project else ""
        return FileChanges((change,), next=(f"setup {host.name}{where}",))
    note = f"{host.title} reads it when it starts next" if change.state == "written" else None
    skill = ground.skill(host, project=project)
    where = " --project" if project else ""
    missing = skill is not None and _hosts.skill_state(skill) != "current"
    after = (f"skill install --host {host.name}{where}",) if missing else ("doctor hosts",)
    return FileChanges((change,), note, after)


def known(name: str) -> Host:
    """Return the host of that name. Raises NotFound."""
    if name in HOSTS:
        return HOSTS[name]
    near = difflib.get_close_matches(name, HOSTS, n=1, cutoff=0.5)
    hint = f"the nearest is {near[0]}" if near else f"there are {', '.join(HOSTS)}"
    raise NotFound(
        f"there is no host {name}; {hint}.",
        next=f"dbg skill install --host {(near or ['HOST'])[0]}",
    )


async def missing(ctx: Context) -> list[Setup]:
    """Return the hosts that are here and do not know us."""
    return await asyncio.to_thread(_missing, _ground(ctx))


def _missing(ground: Ground) -> list[Setup]:
    found = []
    for host in HOSTS.values():
        if ground.uses(host) and not any(e.state == "works" for e in _entries(host, ground)):
            step = SetupStep(f"dbg setup {host.name}", "ready")
            found.append(Setup(host.name, f"{host.title}'s agent", False, "is not set up", (step,)))
    return found


async def check(ctx: Context) -> Check:
    """Do the hosts that are here know us, and is their skill the current one?"""
    return await asyncio.to_thread(_check, _ground(ctx))


def _check(ground: Ground) -> Check:
    parts: list[str] = []
    fixes: list[tuple[int, str]] = []
    for host in HOSTS.values():
        entries = _entries(host, ground)
        if not ground.uses(host) and all(entry.state == "absent" for entry in entries):
            continue
        words, worst = _told(host, entries)
        skills = _skills(host, ground)
        if "stale" in skills:
            words, worst = f"{words}, its skill is stale", max(worst, 2)
        elif "current" in skills:
            words += " and has the skill"
        parts.append(words)
        if worst == 2 and "stale" in skills:
            fixes.append((2, f"dbg skill install --host {host.name}"))
        elif worst:
            fixes.append((worst, f"dbg setup {host.name}"))
    if not parts:
        return Check("hosts", "skip", "no program that agents live in was found")
    rank, fix = max(fixes, default=(0, None), key=lambda each: each[0])
    return Check("hosts", "warn" if rank == 2 else "ok", "; ".join(parts), fix)


def _told(host: Host, entries: list[_hosts.Entry]) -> tuple[str, int]:
    """Return a host's state in words, and how bad it is: 0 well, 1 not set up, 2 broken."""
    for entry in entries:
        if entry.state == "works":
            return f"{host.name} is set up ({entry.path})", 0
    for entry in entries:
        if entry.state == "broken":
            return f"{host.name} starts {entry.why or 'nothing'}, which is not there", 2
        if entry.state == "unreadable":
            return f"{host.name}: {entry.path} cannot be read: {entry.why}", 2
    return f"{host.name} is not set up", 1


def _entries(host: Host, ground: Ground) -> list[_hosts.Entry]:
    scopes = (False, True) if host.project else (False,)
    return [_hosts.look(host, ground.config(host, project=each), ground) for each in scopes]


def _skills(host: Host, ground: Ground) -> set[str]:
    paths = (ground.skill(host, project=each) for each in (False, True))
    return {_hosts.skill_state(path) for path in paths if path is not None}


def _ground(ctx: Context) -> Ground:
    return Ground(ctx.caller.env, ctx.workspace.root)
