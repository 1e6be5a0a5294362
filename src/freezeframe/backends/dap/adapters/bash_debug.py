"""Bash through vscode-bash-debug, which drives bashdb; from its documentation."""

from __future__ import annotations

import os
import shutil
from typing import Any

from freezeframe.backends.backend import Launch

from ._documented import documented


def _launch(target: Launch, path: str) -> dict[str, Any]:
    def which(name: str) -> str:
        return shutil.which(name, path=target.env.get("PATH")) or name

    # It brings a bashdb of its own.
    bashdb = os.path.join(os.path.dirname(os.path.dirname(path)), "bashdb_dir")
    return {
        "program": target.program,
        "args": list(target.args),
        "cwd": target.cwd,
        "env": dict(target.env),
        "terminalKind": "debugConsole",
        "pathBash": which("bash"),
        "pathBashdb": os.path.join(bashdb, "bashdb"),
        "pathBashdbLib": bashdb,
        "pathCat": which("cat"),
        "pathMkfifo": which("mkfifo"),
        "pathPkill": which("pkill"),
    }


ADAPTER = documented(
    "bash-debug",
    adapter_id="bashdb",
    languages=("Bash",),
    patterns=("*.sh", "*.bash"),
    shebangs=("bash",),
    install=(
        "git clone https://github.com/rogalmic/vscode-bash-debug ~/.local/share/vscode-bash-debug"
        " && cd ~/.local/share/vscode-bash-debug && npm install && npm run compile",
    ),
    scripts=(
        "~/.local/share/vscode-bash-debug/out/bashDebug.js",
        "~/.vscode/extensions/rogalmic.bash-debug-*/out/bashDebug.js",
    ),
    launch=_launch,
)
