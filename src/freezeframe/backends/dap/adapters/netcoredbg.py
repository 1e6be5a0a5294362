"""C# and F# through netcoredbg, from its documentation: it runs a built assembly."""

from __future__ import annotations

import os
from typing import Any

from freezeframe.backends.backend import Attach, Launch
from freezeframe.errors import Unsupported

from ._documented import documented


def _launch(target: Launch, path: str) -> dict[str, Any]:
    if not target.program.endswith((".dll", ".exe")):
        name = os.path.splitext(os.path.basename(target.program))[0]
        raise Unsupported(
            f"{os.path.basename(target.program)} is not built: an assembly is debugged.",
            next=f"dotnet build && dbg start bin/Debug/net8.0/{name}.dll",
        )
    return {
        "program": target.program,
        "args": list(target.args),
        "cwd": target.cwd,
        "env": dict(target.env),
        "stopAtEntry": target.stop_on_entry,
        "justMyCode": target.just_my_code,
    }


def _attach(target: Attach) -> dict[str, Any]:
    if target.pid is None:
        raise Unsupported("it joins a process, not a port.", next="dbg attach PID")
    return {"processId": target.pid}


ADAPTER = documented(
    "netcoredbg",
    adapter_id="coreclr",
    languages=("C#", "F#"),
    patterns=("*.dll", "*.csproj", "*.fsproj", "*.cs"),
    install=(
        "curl -L https://github.com/Samsung/netcoredbg/releases/latest/download/"
        "netcoredbg-linux-amd64.tar.gz | tar -xz -C ~/.local",
    ),
    programs=("netcoredbg",),
    places=("~/.local/netcoredbg",),
    words=("--interpreter=vscode",),
    launch=_launch,
    attach=_attach,
)
