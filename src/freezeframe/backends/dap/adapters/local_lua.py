"""Lua through local-lua-debugger-vscode, from its documentation."""

from __future__ import annotations

import os
import shutil
from typing import Any

from freezeframe.backends.backend import Launch

from ._documented import documented


def _launch(target: Launch, path: str) -> dict[str, Any]:
    lua = target.interpreter or shutil.which("lua", path=target.env.get("PATH")) or "lua"
    return {
        "program": {"lua": lua, "file": target.program, "communication": "pipe"},
        "args": list(target.args),
        "cwd": target.cwd,
        "env": dict(target.env),
        "stopOnEntry": target.stop_on_entry,
        # The library that it has the program load lies in its own folder.
        "extensionPath": os.path.dirname(os.path.dirname(path)),
    }


ADAPTER = documented(
    "local-lua-debugger",
    adapter_id="lua-local",
    languages=("Lua",),
    patterns=("*.lua",),
    shebangs=("lua", "luajit"),
    install=(
        "git clone https://github.com/tomblind/local-lua-debugger-vscode"
        " ~/.local/share/local-lua-debugger-vscode"
        " && cd ~/.local/share/local-lua-debugger-vscode && npm install && npm run build",
    ),
    scripts=(
        "~/.local/share/local-lua-debugger-vscode/extension/debugAdapter.js",
        "~/.vscode/extensions/tomblind.local-lua-debugger-vscode-*/extension/debugAdapter.js",
    ),
    launch=_launch,
)
