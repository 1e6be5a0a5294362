"""Adapters that were never run here: the rows of documented.toml, and the values they compute."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from freezeframe import config, files
from freezeframe.backends.backend import Launch
from freezeframe.errors import Unsupported

from ._descriptor import Adapter
from ._user_defined import adapter_of

#: Ranked behind every tested debugger.
_RANK = 80


def _is_mix_project(target: Launch) -> bool:
    """`dbg start mix.exs -- test test/some_test.exs`; otherwise a script is started."""
    return os.path.basename(target.program) == "mix.exs"


def _mix_args(target: Launch) -> list[str]:
    return list(target.args[1:] if _is_mix_project(target) else (target.program, *target.args))


def _ghci(target: Launch, project: str) -> str:
    """Return the command that starts the GHCi of the project's build tool."""
    if os.path.exists(os.path.join(project, "stack.yaml")):
        return "stack repl --with-ghc=ghci-dap --test --no-load --no-build --main-is TARGET"
    run = "cabal exec -- " if os.path.exists(os.path.join(project, "cabal.project")) else ""
    return f"{run}ghci-dap --interactive -i"


def _main_class(target: Launch) -> str:
    """Return the class that Kotlin makes of a file with a `main`: `package.FileKt`."""
    try:
        text = files.read_text(target.program)
    except OSError:
        text = ""
    package = re.search(r"^\s*package\s+([\w.]+)", text, re.MULTILINE)
    name = os.path.splitext(os.path.basename(target.program))[0]
    file_class = f"{name[:1].upper()}{name[1:]}Kt"
    return f"{package[1]}.{file_class}" if package else file_class


def _assembly(target: Launch) -> str:
    """Return the program. Raises Unsupported for a source file or project: it is not built."""
    base = os.path.basename(target.program)
    if base.endswith((".dll", ".exe")):
        return target.program
    raise Unsupported(
        f"{base} is not built: an assembly is debugged.",
        next=f"dotnet build && dbg start bin/Debug/net8.0/{os.path.splitext(base)[0]}.dll",
    )


#: Placeholder → its value, from the target and its project. None: the argument is left out.
_COMPUTED: Mapping[str, Callable[[Launch, str], Any]] = MappingProxyType(
    {
        "mix.task": lambda target, project: (
            target.args[0] if _is_mix_project(target) and target.args else "run"
        ),
        "mix.args": lambda target, project: _mix_args(target),
        "mix.starts_apps": lambda target, project: _is_mix_project(target) or None,
        # Scripts are interpreted only when they are named beforehand.
        "mix.scripts": lambda target, project: (
            None if _is_mix_project(target) else [target.program]
        ),
        "haskell.args": lambda target, project: " ".join(target.args),
        "haskell.repl": _ghci,
        "kotlin.main_class": lambda target, project: _main_class(target),
        "dotnet.assembly": lambda target, project: _assembly(target),
        "php.env": lambda target, project: {
            **target.env,
            "XDEBUG_MODE": "debug,develop",
            "XDEBUG_CONFIG": "client_port=${port}",  # which the adapter fills in
        },
    }
)

FILE = Path(__file__).with_name("documented.toml")
ADAPTERS: tuple[Adapter, ...] = tuple(
    adapter
    for name, section in config.read(FILE, {}).adapters.items()
    if (adapter := adapter_of(name, section, rank=_RANK, computed=_COMPUTED)) is not None
)
