"""The description of a debugger for the selection, whatever its protocol."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from freezeframe.config import AdapterConfig, Config
from freezeframe.model.fast_dataclass import dataclass

from .backend import Backend
from .fork_modes import PARENT_ONLY, ForkModes


@dataclass(frozen=True, slots=True)
class Found:
    """An installed debugger."""

    path: str
    version: str | None
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a debugger cannot be used."""

    reason: str


Prepare = Callable[[Found, Mapping[str, str], float], Coroutine[Any, Any, str | None]]


@dataclass(frozen=True, slots=True)
class Debugger:
    """A debugger that can be started."""

    name: str
    #: its protocol: dap, console, inspector
    kind: str
    languages: tuple[str, ...]
    #: file name patterns of programs it debugs, most specific first
    patterns: tuple[str, ...]
    #: interpreters in a `#!` line that name its language
    shebangs: tuple[str, ...]
    #: kinds of binaries it debugs: `elf`, `mach-o`, `pe`
    binaries: tuple[str, ...]
    #: commands that install it, for display
    install: tuple[str, ...]
    find: Callable[[Mapping[str, str], AdapterConfig], Found | Missing]
    make: Callable[[Found, Config], Backend]
    #: it starts `-m MODULE` targets
    modules: bool = False
    #: whether it can start a module of that name, in the caller's directory and environment
    has_module: Callable[[str, str, Mapping[str, str]], bool] = lambda name, cwd, env: False
    #: of several that claim a program the lowest is chosen
    rank: int = 50
    check_condition: Callable[[str], str | None] = lambda expression: None
    check_log: Callable[[str], str | None] = lambda message: None
    #: names of debug servers that it attaches to by host and port
    debug_servers: tuple[str, ...] = ()
    #: how it can handle child processes
    forks: ForkModes = PARENT_ONLY
    #: a note for the user about limits of debugging a program
    remark: Callable[[str], str | None] = lambda program: None
    #: suffix and text of a program that `doctor` starts
    probe_program: tuple[str, str] | None = None
    #: how to find it among Xcode's tools, for programs in simulators; None: unsupported there
    find_in_xcode: Callable[[Mapping[str, str], AdapterConfig], Found | Missing] | None = None
    #: it can leave a program stopped after attaching (`Attach.stay_stopped`)
    attach_can_stay_stopped: bool = False
    #: other names that users know it by
    aliases: tuple[str, ...] = ()
    #: prepares a machine once, within a limit in seconds; returns a note, or None if nothing was to
    #: do. Raises LaunchFailed
    prepare: Prepare | None = None
    #: our tests run it against the real debugger
    tested: bool = True
    #: it is defined in config.toml
    user_defined: bool = False


def by_name(program: str) -> Callable[[Mapping[str, str], AdapterConfig], Found | Missing]:
    """Return a `find` function: by the configured path, or by name on PATH.

    The version becomes known when the debugger is started.
    """

    def find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
        command = os.path.expanduser(config.path) if config.path else program
        path = shutil.which(command, path=env.get("PATH", os.defpath))
        return Found(path, None) if path else Missing(f"no `{command}` on PATH")

    return find
