"""Configuring agent hosts to use dbg: `setup HOST`, `skill install`."""

from __future__ import annotations

import asyncio
import difflib
import shlex
from dataclasses import replace
from typing import Annotated

from freezeframe.errors import NotFound
from freezeframe.model.setup_answers import Check, FileChange, FileChanges, Setup, SetupStep

from . import _agent_hosts, _host_commands
from ._agent_hosts import HostEnvironment
from ._context import Context
from ._host_table import HOSTS, AgentHost
from ._registry import Arg, Effect, op

DryRun = Annotated[bool, Arg("show what would change, and change nothing")]
InProject = Annotated[bool, Arg("in the files of this project instead of the user's")]


@op(
    "skill install",
    group="admin",
    control=True,
    effect=Effect.WRITES,
    example="skill install",
    examples=("skill install --host claude --project",),
)
async def skill_install(
    ctx: Context,
    *,
    host: Annotated[
        tuple[str, ...], Arg("only for this host (default: every installed one)", meta="HOST")
    ] = (),
    project: InProject = False,
    dry_run: DryRun = False,
) -> FileChanges:
    """Install the skill of this version, SKILL.md, for agent hosts."""
    environment = _environment(ctx)
    if host:
        chosen = [known(name) for name in host]
    else:
        chosen = [
            each
            for each in HOSTS.values()
            if environment.skill(each, project=project) and environment.uses(each)
        ]
        if not chosen:
            raise NotFound(
                "no host that loads skills is installed.", next="dbg skill install --host HOST"
            )
    changes: dict[str, FileChange] = {}
    for each in chosen:
        # Hosts share directories.
        path = environment.skill(each, project=project)
        if path is None or path not in changes:
            change = _agent_hosts.with_skill(each, environment, project=project, dry_run=dry_run)
            changes[change.path] = change
    return FileChanges(tuple(changes.values()), next=() if dry_run else ("doctor hosts",))


async def remove(ctx: Context, host: AgentHost, *, project: bool, dry_run: bool) -> FileChanges:
    """Remove our server and our skill from a host's files. Raises UserError."""
    changes = await asyncio.to_thread(
        _agent_hosts.removed, host, _environment(ctx), project=project, dry_run=dry_run
    )
    where = " --project" if project else ""
    return FileChanges(
        tuple(changes), next=(f"setup {host.name} --remove{where}",) if dry_run else ()
    )


async def set_up(ctx: Context, host: AgentHost, *, project: bool, dry_run: bool) -> FileChanges:
    """Add `dbg mcp` to a host's MCP servers, by the host's own command if it has one.

    Raises UserError.
    """
    environment = _environment(ctx)
    command = None
    if not project:
        command = await asyncio.to_thread(_host_commands.command_for, host, environment)
    if command is not None and not dry_run:
        await _host_commands.run_command(host, command, environment)
    # What it would write is shown where the host's command would run.
    change = await asyncio.to_thread(
        _agent_hosts.configured, host, environment, project=project, dry_run=dry_run
    )
    typed = "" if command is None else shlex.join([host.programs[0], *command[1:]])
    if dry_run and change.state != "unchanged":
        where = " --project" if project else ""
        note = f"it runs: {typed}" if typed else None
        return FileChanges((change,), note, (f"setup {host.name}{where}",))
    note = f"{host.title} reads it at its next start" if change.state == "written" else None
    if command is not None:
        change = replace(change, state="written")
        note = f"it was added by: {typed}"
    skill = environment.skill(host, project=project)
    where = " --project" if project else ""
    missing = skill is not None and _agent_hosts.skill_state(skill, environment) != "current"
    after = (f"skill install --host {host.name}{where}",) if missing else ("doctor hosts",)
    return FileChanges((change,), note, after)


def known(name: str, command: str = "skill install --host") -> AgentHost:
    """Return the host of that name. Raises NotFound with a next step of *command*."""
    if name in HOSTS:
        return HOSTS[name]
    near = difflib.get_close_matches(name, HOSTS, n=1, cutoff=0.5)
    hint = f"the nearest is {near[0]}" if near else f"there are {', '.join(HOSTS)}"
    raise NotFound(
        f"there is no host {name}; {hint}.", next=f"dbg {command} {(near or ['HOST'])[0]}"
    )


async def missing(ctx: Context) -> list[Setup]:
    """Return the installed hosts that are not set up."""
    return await asyncio.to_thread(_missing, _environment(ctx))


def _missing(environment: HostEnvironment) -> list[Setup]:
    found = []
    for host in HOSTS.values():
        if environment.uses(host) and not any(
            e.state == "works" for e in _entries(host, environment)
        ):
            step = SetupStep(f"dbg setup {host.name}", "ready")
            found.append(Setup(host.name, f"{host.title}'s agent", False, "is not set up", (step,)))
    return found


async def check(ctx: Context) -> Check:
    """Check whether the installed hosts are set up, and whether their skill is current."""
    return await asyncio.to_thread(_check, _environment(ctx))


def _check(environment: HostEnvironment) -> Check:
    parts: list[str] = []
    fixes: list[tuple[int, str]] = []
    for host in HOSTS.values():
        entries = _entries(host, environment)
        if not environment.uses(host) and all(entry.state == "absent" for entry in entries):
            continue
        text, worst = _host_state(host, entries)
        skills = _skills(host, environment)
        if "stale" in skills:
            text, worst = f"{text}, its skill is stale", max(worst, 2)
        elif "current" in skills:
            text += " and has the skill"
        parts.append(text)
        if worst == 2 and "stale" in skills:
            fixes.append((2, f"dbg skill install --host {host.name}"))
        elif worst:
            fixes.append((worst, f"dbg setup {host.name}"))
    if not parts:
        return Check("hosts", "skip", "no agent host was found")
    rank, fix = max(fixes, default=(0, None), key=lambda each: each[0])
    return Check("hosts", "warn" if rank == 2 else "ok", "; ".join(parts), fix)


def _host_state(host: AgentHost, entries: list[_agent_hosts.HostEntry]) -> tuple[str, int]:
    """Return a host's state as text, and its severity: 0 set up, 1 not set up, 2 broken."""
    for entry in entries:
        if entry.state == "works":
            return f"{host.name} is set up ({entry.path})", 0
    for entry in entries:
        if entry.state == "broken":
            return f"{host.name} starts {entry.why or 'nothing'}, which is not there", 2
        if entry.state == "unreadable":
            return f"{host.name}: {entry.path} cannot be read: {entry.why}", 2
    return f"{host.name} is not set up", 1


def _entries(host: AgentHost, environment: HostEnvironment) -> list[_agent_hosts.HostEntry]:
    scopes = (False, True) if host.project else (False,)
    return [
        _agent_hosts.look(host, environment.config(host, project=each), environment)
        for each in scopes
    ]


def _skills(host: AgentHost, environment: HostEnvironment) -> set[str]:
    paths = (environment.skill(host, project=each) for each in (False, True))
    return {_agent_hosts.skill_state(path, environment) for path in paths if path is not None}


def _environment(ctx: Context) -> HostEnvironment:
    return HostEnvironment(ctx.caller.env, ctx.workspace.root)
