"""Adapters that were never run here: what their documentation says, and `tested` is False."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from freezeframe.backends.backend import Attach, Launch, Target
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.errors import Unsupported

from ._descriptor import Adapter, Plan, Spawn, Stdio, Surroundings

#: Behind every debugger that was tried.
_RANK = 80


def documented(
    name: str,
    *,
    adapter_id: str,
    languages: tuple[str, ...],
    patterns: tuple[str, ...],
    install: tuple[str, ...],
    launch: Callable[[Launch, str], dict[str, Any]],
    programs: tuple[str, ...] = (),
    words: tuple[str, ...] = (),
    scripts: tuple[str, ...] = (),
    attach: Callable[[Attach], dict[str, Any]] | None = None,
    shebangs: tuple[str, ...] = (),
    places: tuple[str, ...] = (),
) -> Adapter:
    """Return an adapter that speaks on its standard streams.

    *programs* are the names that it is installed under, *places* folders beside PATH to look for
    them, *words* what follows its name on the command line; *scripts* are files that node runs.
    *launch* gets the path of what was found too.
    """

    def find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
        def at_home(path: str) -> str:
            return path.replace("~", env.get("HOME", "~"), 1) if path.startswith("~") else path

        path = env.get("PATH", os.defpath)
        everywhere = os.pathsep.join([path, *map(at_home, places)])
        for program in (config.path,) if config.path else programs:
            found = shutil.which(at_home(program), path=everywhere)
            if found is not None and not found.endswith(".js"):
                return Found(found, None, (found, *words, *config.args))
        node = shutil.which("node", path=path)
        for pattern in (config.path,) if config.path else scripts:
            for script in sorted(glob.glob(at_home(pattern)), reverse=True):
                if node is None:
                    return Missing(f"{script} needs node, and there is none on PATH")
                return Found(script, None, (node, script, *config.args))
        wanted = config.path or (programs[0] if programs else os.path.basename(scripts[0]))
        return Missing(f"{wanted} was not found")

    def plan(target: Target, around: Surroundings) -> Plan:
        spawn = Spawn(around.found.command, target.cwd, target.env)
        if isinstance(target, Launch):
            return Plan(
                Stdio(), "launch", {**launch(target, around.found.path), **target.options}, spawn
            )
        if isinstance(target, Attach) and attach is not None:
            return Plan(Stdio(), "attach", {**attach(target), **target.options}, spawn)
        raise Unsupported(f"{name} only starts programs.", next="dbg start PROGRAM")

    return Adapter(
        name=name,
        adapter_id=adapter_id,
        languages=languages,
        patterns=patterns,
        shebangs=shebangs,
        install=install,
        find=find,
        plan=plan,
        rank=_RANK,
        tested=False,
    )


def upwards(target: Launch, *names: str) -> str:
    """Return the nearest folder at or above the program that holds a file of one of these names."""
    folder = os.path.dirname(target.program) or target.cwd
    while True:
        if any(os.path.exists(os.path.join(folder, name)) for name in names):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return target.cwd
        folder = parent
