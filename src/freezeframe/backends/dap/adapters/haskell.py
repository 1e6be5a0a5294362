"""Haskell through haskell-debug-adapter, which drives a GHCi of its own; from its documentation."""

from __future__ import annotations

import os
from typing import Any

from freezeframe.backends.backend import Launch

from ._documented import documented, upwards


def _launch(target: Launch, path: str) -> dict[str, Any]:
    root = upwards(target, "stack.yaml", "cabal.project", "package.yaml")
    ghci = "ghci-dap --interactive -i"
    if os.path.exists(os.path.join(root, "stack.yaml")):
        ghci = "stack repl --with-ghc=ghci-dap --test --no-load --no-build --main-is TARGET"
    elif os.path.exists(os.path.join(root, "cabal.project")):
        ghci = "cabal exec -- ghci-dap --interactive -i"
    return {
        "workspace": root,
        "startup": target.program,
        "startupFunc": "",
        "startupArgs": " ".join(target.args),
        "mainArgs": " ".join(target.args),
        "stopOnEntry": target.stop_on_entry,
        "ghciPrompt": "H>>= ",
        "ghciInitialPrompt": "ghci> ",
        "ghciCmd": ghci,
        "ghciEnv": {},
        "logFile": os.devnull,
        "logLevel": "WARNING",
        "forceInspect": False,
    }


ADAPTER = documented(
    "haskell-debug-adapter",
    adapter_id="ghc",
    languages=("Haskell",),
    patterns=("*.hs",),
    install=("stack install haskell-dap ghci-dap haskell-debug-adapter",),
    programs=("haskell-debug-adapter",),
    places=("~/.local/bin", "~/.cabal/bin", "~/.local/share/nvim/mason/bin"),
    launch=_launch,
)
