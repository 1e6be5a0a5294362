"""Administration: doctor, adapters, setup, config, logs, daemon."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import Annotated

from freezeframe.backends import selection, survey
from freezeframe.config import load, settings
from freezeframe.errors import BadConfig, NotFound, UsageError, UserError
from freezeframe.model.answers import Status, Text
from freezeframe.model.setup_answers import (
    AdapterList,
    Checkup,
    FileChanges,
    Settings,
    Setup,
    Setups,
)

from . import agent_hosts, sessions
from ._background_work import run_in_background
from ._context import Context
from ._doctor import checks
from ._editor_setup import EDITORS
from ._host_table import HOSTS
from ._install import installed, shown, targets
from ._registry import Arg, Effect, op
from ._smoke_test import remembered, trial


@op(
    "doctor",
    group="admin",
    control=True,
    effect=Effect.WRITES,
    example="doctor",
    examples=("doctor --fix",),
)
async def doctor(
    ctx: Context,
    name: Annotated[
        str | None, Arg("only this debugger, or this check", complete="adapter")
    ] = None,
    *,
    fix: Annotated[bool, Arg("fix what is safe to fix, and report what was done")] = False,
) -> Checkup:
    """Check the installation and each debugger, and say how to fix what is broken.

    Each installed debugger starts a program of three lines, stops it at a breakpoint, reads a
    variable and lets the program end. A fix that needs root or a package is shown as a command,
    never run.
    """
    found = await run_in_background(
        ctx,
        ("doctor", name, fix),
        lambda: checks(ctx, name, fix=fix),
        late=lambda waited_s: _late("the checkup", waited_s, "doctor", name, fix and "--fix"),
        keep=True,
    )
    mendable = any(check.fix == "dbg doctor --fix" for check in found)
    return Checkup(found, next=("doctor --fix",) if mendable and not fix else ())


@op("adapters", group="admin", control=True, example="adapters", examples=("adapters NAME",))
async def adapters(
    ctx: Context,
    name: Annotated[
        str | None, Arg("only this debugger, in full, after a trial run", complete="adapter")
    ] = None,
) -> AdapterList:
    """List the supported debuggers: which are installed, their versions and capabilities.

    Capabilities are known after a trial run, by `doctor` or by `adapters NAME`.
    """
    if name is None:
        infos = await survey.survey(ctx.caller.env, ctx.config)
        untried = next((each for each in remembered(infos) if each.found and not each.can), None)
        step = f"adapters {untried.name}" if untried is not None else "doctor"
        missing = not all(info.found for info in infos)
        return AdapterList(remembered(infos), next=(step, *(["setup NAME"] if missing else [])))
    infos = await survey.survey(ctx.caller.env, ctx.config, [name])
    if not infos:
        raise _no_debugger(ctx, name)
    tried = await trial(ctx, infos[0])
    after = () if infos[0].found else (f"setup {name}",)
    return AdapterList(remembered(infos), tried, next=after)


def _no_debugger(ctx: Context, name: str) -> NotFound:
    return _nothing("debugger", name, sorted(selection.known(ctx.config)), next="dbg adapters")


def _nothing(kind: str, name: str, names: Sequence[str], next: str) -> NotFound:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"the nearest is {near[0]}" if near else f"there are {', '.join(names)}"
    step = f"{next} {near[0]}" if near else next
    return NotFound(f"there is no {kind} {name}; {hint}.", next=step)


@op(
    "setup",
    group="admin",
    control=True,
    effect=Effect.WRITES,
    example="setup",
    examples=(
        *("setup NAME --run", "setup claude --dry-run", "setup cursor --project"),
        "setup nvim --dap",
    ),
)
async def setup(
    ctx: Context,
    name: Annotated[str | None, Arg("a debugger, or an agent host", complete="adapter")] = None,
    *,
    run: Annotated[
        bool, Arg("run the first command that can be run, then test the result")
    ] = False,
    sudo: Annotated[bool, Arg("commands may change the system, as root")] = False,
    project: agent_hosts.InProject = False,
    dry_run: agent_hosts.DryRun = False,
    remove: Annotated[bool, Arg("remove what was added to a host's files, and the skill")] = False,
    dap: Annotated[bool, Arg("how an editor joins by `dbg dap`: vscode, nvim, zed, emacs")] = False,
) -> Setups | FileChanges | Text:
    """Install a debugger, or configure an agent host to start `dbg mcp`.

    For a debugger the commands are shown; --run runs them, as root only with --sudo. For a host
    (claude, codex, cursor, vscode, zed …) one server is added to its configuration; everything else
    in the file stays as it is.
    """
    if dap:
        if name not in EDITORS:
            raise UsageError(
                f"`setup --dap` takes an editor: {', '.join(EDITORS)}.", next="dbg setup nvim --dap"
            )
        return Text(EDITORS[name], whole=True)
    if remove or project:  # which only hosts have
        if name is None or name in selection.known(ctx.config):
            option = "--remove" if remove else "--project"
            raise UsageError(f"`setup {option}` takes a host.", next=f"dbg setup HOST {option}")
        agent_hosts.known(name, "setup")
    if name in HOSTS:
        change = agent_hosts.remove if remove else agent_hosts.set_up
        return await change(ctx, HOSTS[name], project=project, dry_run=dry_run)
    if name is None:
        if run:
            raise UsageError("`setup --run` takes a name.", next="dbg setup NAME --run")
        found = [shown(ctx, each, sudo=sudo) for each in await targets(ctx)]
        missing = (*await agent_hosts.missing(ctx), *(each for each in found if not each.here))
        return Setups(missing, next=("setup NAME --run",) if missing else ("doctor",))
    found_here = await targets(ctx, name)
    if not found_here:
        # `--run` and `--sudo` are for debuggers, `--dry-run` for hosts: suggest no other kind.
        names = [] if dry_run else sorted(selection.known(ctx.config))
        names += [] if run or sudo else HOSTS
        raise _nothing("debugger or host", name, names, next="dbg setup")
    target = found_here[0]
    if target.here or not run or dry_run:
        answer = shown(ctx, target, sudo=sudo)
        return Setups((answer,), next=_after(answer, ran=False))
    answer = await run_in_background(
        ctx,
        ("setup", name, sudo),
        lambda: installed(ctx, target, sudo=sudo),
        late=lambda waited_s: _late(
            f"setting up {name}", waited_s, "setup", name, "--run", sudo and "--sudo"
        ),
        keep=True,
    )
    return Setups((answer,), next=_after(answer, ran=True))


def _late(what: str, waited_s: float, *arguments: str | bool | None) -> UserError:
    return UserError(
        f"{what} is not done after {waited_s:.0f} s and continues; the same command waits for "
        "its end.",
        code="under-way",
        next=" ".join(["dbg", *(str(word) for word in arguments if word)]),
    )


def _after(answer: Setup, *, ran: bool) -> tuple[str, ...]:
    """Return the next step after *answer*."""
    if answer.here:
        return (f"doctor {answer.name}",) if answer.tried is None else ()
    if any(step.state == "ready" for step in answer.steps):
        return (f"setup {answer.name} --run",)
    if any(step.command.startswith("sudo ") for step in answer.steps):
        return (f"setup {answer.name} --run --sudo",)
    return (f"adapters {answer.name}",) if ran else ()


@op("config", group="admin", control=True, example="config", examples=("config timeouts",))
async def config(
    ctx: Context,
    key: Annotated[str | None, Arg("a key, or the beginning of one", complete="setting")] = None,
) -> Settings:
    """Show and explain every setting of config.toml, and where its value comes from."""
    chosen = settings(ctx.config)
    if key is not None:
        chosen = tuple(s for s in chosen if s.key == key or s.key.startswith(key.rstrip(".") + "."))
        if not chosen:
            raise NotFound(f"there is no setting {key}.", next="dbg config")
    path = ctx.daemon.config_path
    error = None
    try:
        error = " ".join(load(path, {}).warnings) or None
    except BadConfig as bad:
        error = bad.message
    return Settings(path, os.path.exists(path), chosen, error)


@op("logs", group="admin", control=True, example="logs --tail 50")
async def logs(
    ctx: Context,
    *,
    tail: Annotated[int, Arg("how many lines", short="-n", meta="N")] = 30,
) -> Text:
    """Show the end of the daemon's log."""
    try:
        with open(ctx.daemon.log_path, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except FileNotFoundError:
        lines = []
    return Text("".join(lines[-tail:]) or "the log is empty\n")


@op("daemon status", aliases=("daemon",), group="admin", control=True, example="daemon status")
async def daemon_status(ctx: Context) -> Status:
    """Show the daemon: its process, version, age and log."""
    return await sessions.status(ctx)


@op("daemon stop", group="admin", control=True, effect=Effect.ENDS, example="daemon stop")
async def daemon_stop(ctx: Context) -> Text:
    """End every session and the daemon. The next command starts a new one."""
    count = sum(1 for root in ctx.hub.roots() if root.any_live)
    ctx.daemon.request_exit()
    ended = f"; {count} session{'s' if count != 1 else ''} ended with it" if count else ""
    return Text(f"the daemon (pid {ctx.daemon.pid}) is shutting down{ended}\n")
