"""What `setup` can install, the commands that install it on this machine, and running them.

Every debugger is a target; other modules add a function to `SOURCES`.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence

from freezeframe.backends import selection, survey
from freezeframe.backends.transport.run_command import run
from freezeframe.errors import FreezeframeError
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.setup_answers import AdapterInfo, Check, Setup, SetupStep

from ._context import Context
from ._smoke_test import trial

#: a toolchain may have to be downloaded and built
_COMMAND_S = 900.0
_KEPT_LINES = 15

#: system package managers and their install commands; those that change the system need root
_SYSTEM = {
    "apt-get": "apt-get install -y",
    "apt": "apt-get install -y",
    "dnf": "dnf install -y",
    "yum": "yum install -y",
    "zypper": "zypper --non-interactive install",
    "pacman": "pacman -S --noconfirm",
    "apk": "apk add",
}
#: package managers of users and of languages, and download tools
_TOOLS = frozenset(
    {"brew", "port", "winget", "choco", "scoop", "nix-env", "conda", "git", "curl", "wget"}
    | {"npm", "pnpm", "yarn", "pip", "pip3", "pipx", "uv", "go", "gem", "cargo", "luarocks"}
    | {"opam", "stack", "cabal", "ghcup", "dotnet", "mix", "cs", "sdk"}
)


@dataclass(frozen=True, slots=True)
class SetupTarget:
    """One thing that `setup` can install."""

    name: str
    #: what it is for
    purpose: str
    here: bool
    #: version and path, or why it is not installed
    detail: str
    #: alternative commands that install it, the best first
    commands: tuple[str, ...]
    #: tests it after the installation
    check: Callable[[Context], Awaitable[Check]]


#: returns what can be set up; *names* limits what is examined
Source = Callable[[Context, Sequence[str] | None], Awaitable[Sequence[SetupTarget]]]


async def _debuggers(ctx: Context, names: Sequence[str] | None) -> Sequence[SetupTarget]:
    infos = await survey.survey(ctx.caller.env, ctx.config, names)
    return [_debugger(ctx, info) for info in infos]


def _debugger(ctx: Context, info: AdapterInfo) -> SetupTarget:
    async def check(ctx: Context) -> Check:
        [now] = await survey.survey(ctx.caller.env, ctx.config, [info.name])
        return await trial(ctx, now)

    where = " at ".join(filter(None, (info.version, info.path)))
    return SetupTarget(
        name=info.name,
        purpose=", ".join(info.languages),
        here=info.found,
        detail=where if info.found else info.note or "not installed",
        commands=selection.known(ctx.config)[info.name].install,
        check=check,
    )


#: everything that can be set up
SOURCES: list[Source] = [_debuggers]


async def targets(ctx: Context, name: str | None = None) -> list[SetupTarget]:
    """Return what can be set up, or only *name* (an empty list if unknown)."""
    names = None if name is None else [name]
    found = [target for source in SOURCES for target in await source(ctx, names)]
    return [target for target in found if name in (None, target.name)]


def shown(ctx: Context, target: SetupTarget, *, sudo: bool = False) -> Setup:
    """Return the steps for a target without running any."""
    steps = () if target.here else tuple(plan(target.commands, ctx.caller.env, sudo=sudo))
    return Setup(target.name, target.purpose, target.here, target.detail, steps)


async def installed(ctx: Context, target: SetupTarget, *, sudo: bool = False) -> Setup:
    """Run the first command that can be run, test the result, and return what happened."""
    steps = plan(target.commands, ctx.caller.env, sudo=sudo)
    chosen = next((step for step in steps if step.state == "ready"), None)
    if chosen is None:
        return Setup(target.name, target.purpose, target.here, target.detail, tuple(steps))
    step = await _ran(ctx, chosen.command)
    tried = await target.check(ctx) if step.state == "ran" else None
    here = tried is not None and tried.status != "skip"
    detail = tried.detail if tried is not None else target.detail
    return Setup(target.name, target.purpose, here, detail, (step,), tried)


# --- the commands ---------------------------------------------------------------------------------


def plan(commands: Sequence[str], env: Mapping[str, str], *, sudo: bool) -> list[SetupStep]:
    """Return the commands as this machine runs them, runnable ones first.

    A command of a missing package manager is translated to the one that is installed.
    """
    path = env.get("PATH", os.defpath)
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    managers = [name for name in _SYSTEM if shutil.which(name, path=path)]
    steps: list[SetupStep] = []
    for command in commands:
        step = _step(command, path, managers, root=root, sudo=sudo)
        if step is not None and all(step.command != other.command for other in steps):
            steps.append(step)
    # Commands that change the whole system come last.
    rank = {"ready": 0, "blocked": 1, "by hand": 2}
    return sorted(steps, key=lambda step: (rank[step.state], _is_system(step.command)))


def _step(
    command: str, path: str, managers: Sequence[str], *, root: bool, sudo: bool
) -> SetupStep | None:
    tokens = command.split()
    if tokens and tokens[0] == "sudo":
        tokens, command = tokens[1:], command.partition(" ")[2]
    tool = tokens[0] if tokens else ""
    if tool in _SYSTEM:
        if tool not in managers and not managers:
            return SetupStep(command, "blocked", f"there is no {tool} here")
        taken = tool if tool in managers else managers[0]
        packages = " ".join(word for word in tokens[2:] if not word.startswith("-"))
        native = f"{_SYSTEM[taken]} {packages}"
        guess = (
            None if taken in (tool, "apt", "apt-get") else f"{taken} may have another name for it"
        )
        if root:
            return SetupStep(native, "ready", guess)
        if not shutil.which("sudo", path=path):
            return SetupStep(native, "blocked", "it needs root, and there is no sudo")
        why = "it changes the system: --sudo runs it" if guess is None else guess
        # Without a terminal sudo cannot ask for a password: -n fails at once instead.
        return SetupStep(f"sudo -n {native}", "ready" if sudo else "blocked", why)
    if re.search(r"(^|[;&|]\s*)sudo\b", command) and not sudo:
        return SetupStep(command, "blocked", "it changes the system: --sudo runs it")
    if tool in ("pip", "pip3"):
        # Python packages must be installed for the interpreter that runs the daemon.
        return SetupStep(f"{shlex.quote(sys.executable)} -m {command}", "ready")
    if tool in _TOOLS or shutil.which(tool, path=path):
        missing = [word for word in _programs_of(command) if not shutil.which(word, path=path)]
        if missing:
            return SetupStep(command, "blocked", f"there is no {missing[0]} here")
        return SetupStep(command, "ready")
    # A sentence or an address, for a person to read.
    return SetupStep(command, "by hand")


def _programs_of(command: str) -> list[str]:
    """Return the programs that a command line starts, as far as they can be recognized."""
    starts = (part.split() for part in re.split(r"&&|\|\||[|;]", command))
    first = [next((w for w in tokens if "=" not in w), "") for tokens in starts]
    return [word for word in first if word in _TOOLS]


def _is_system(command: str) -> bool:
    tokens = command.removeprefix("sudo -n ").split()
    return bool(tokens) and tokens[0] in _SYSTEM


async def _ran(ctx: Context, command: str) -> SetupStep:
    """Run one command through the shell; show its output as it arrives."""
    tasks: set[asyncio.Task[None]] = set()
    progress = ctx.progress

    async def report(text: str) -> None:
        if progress is not None:
            await progress(text)

    def on_text(text: str) -> None:
        task = asyncio.ensure_future(report(text))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    await report(f"$ {command}\n")
    env = {**ctx.caller.env, "DEBIAN_FRONTEND": "noninteractive"}
    shell = ["cmd", "/c", command] if sys.platform == "win32" else ["/bin/sh", "-c", command]
    try:
        ran = await run(shell, cwd=ctx.caller.cwd, env=env, timeout_s=_COMMAND_S, on_text=on_text)
    except FreezeframeError as error:
        return SetupStep(command, "failed", error.message)
    finally:
        if tasks:
            await asyncio.wait(tasks, timeout=5)
    lines = (ran.out + ran.err).strip().splitlines()
    output = "\n".join(lines[-_KEPT_LINES:])
    if ran.status:
        how = f"it exited with status {ran.status}"
        return SetupStep(command, "failed", how, output)
    return SetupStep(command, "ran", f"{ran.took_s:.0f} s", output)
