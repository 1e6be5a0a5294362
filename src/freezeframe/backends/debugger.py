"""A debugger as the selection sees it, whichever room it lives in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from freezeframe.config import AdapterConfig, Config

from .backend import Backend
from .forks import STAYS, Ways


@dataclass(frozen=True, slots=True)
class Found:
    """An installed debugger."""

    path: str
    version: str | None
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """Why it cannot be used."""

    reason: str


Prepare = Callable[[Found, Mapping[str, str], float], Coroutine[Any, Any, str | None]]


@dataclass(frozen=True, slots=True)
class Debugger:
    """What there is to know before a debugger is started."""

    name: str
    #: how it is spoken to: dap, console, inspector
    kind: str
    languages: tuple[str, ...]
    #: file name patterns of programs it debugs, most telling first
    patterns: tuple[str, ...]
    #: words in a `#!` line that name its language
    shebangs: tuple[str, ...]
    #: kinds of binaries it debugs: `elf`, `mach-o`, `pe`
    binaries: tuple[str, ...]
    #: commands that install it, to be shown
    install: tuple[str, ...]
    find: Callable[[Mapping[str, str], AdapterConfig], Found | Missing]
    make: Callable[[Found, Config], Backend]
    #: it starts `-m MODULE` targets
    modules: bool = False
    #: whether a module of that name is there for it, seen in the caller's directory and environment
    has_module: Callable[[str, str, Mapping[str, str]], bool] = lambda name, cwd, env: False
    #: of several that claim a program the lowest is taken
    rank: int = 50
    check_condition: Callable[[str], str | None] = lambda expression: None
    check_log: Callable[[str], str | None] = lambda message: None
    #: names of debug servers that it joins by host and port
    servers: tuple[str, ...] = ()
    #: what it can do about children that a program starts
    forks: Ways = STAYS
    #: what its user should know of a program before he trusts what is shown
    remark: Callable[[str], str | None] = lambda program: None
    #: suffix and text of a program that `doctor` starts
    probe_program: tuple[str, str] | None = None
    #: how it is found among Xcode's tools, for programs in simulators; None: it debugs none there
    find_in_xcode: Callable[[Mapping[str, str], AdapterConfig], Found | Missing] | None = None
    #: a program that it joins stays where that stopped it, when asked to (`Attach.hold`)
    holds: bool = False
    #: other names that users know it by
    aliases: tuple[str, ...] = ()
    #: makes what it needs once on a machine, within a limit in seconds; returns what to say of it,
    #: None where it was there. Raises LaunchFailed
    prepare: Prepare | None = None
    #: it was run against the real thing in our tests
    tested: bool = True
    #: config.toml describes it
    yours: bool = False


def by_name(program: str) -> Callable[[Mapping[str, str], AdapterConfig], Found | Missing]:
    """Return how a program is found: where the configuration says, or by its name on PATH.

    Its version is what it tells when it is started.
    """

    def find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
        wanted = os.path.expanduser(config.path) if config.path else program
        path = shutil.which(wanted, path=env.get("PATH", os.defpath))
        return Found(path, None) if path else Missing(f"no `{wanted}` on PATH")

    return find
