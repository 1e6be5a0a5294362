"""Elixir through the debug adapter of ElixirLS, from its documentation: it runs a mix task."""

from __future__ import annotations

import os
from typing import Any

from freezeframe.backends.backend import Launch

from ._documented import documented, upwards


def _launch(target: Launch, path: str) -> dict[str, Any]:
    common = {"projectDir": upwards(target, "mix.exs"), "env": dict(target.env)}
    if os.path.basename(target.program) == "mix.exs":
        # `dbg start mix.exs -- test test/some_test.exs`
        task, *args = target.args or ("run",)
        return {**common, "task": task, "taskArgs": args, "startApps": True}
    # Scripts are interpreted only when they are named before.
    return {
        **common,
        "task": "run",
        "taskArgs": [target.program, *target.args],
        "requireFiles": [target.program],
    }


ADAPTER = documented(
    "elixir-ls",
    adapter_id="mix_task",
    languages=("Elixir",),
    patterns=("mix.exs", "*.exs"),
    shebangs=("elixir",),
    install=(
        "git clone https://github.com/elixir-lsp/elixir-ls && cd elixir-ls && mix deps.get &&"
        " MIX_ENV=prod mix compile && MIX_ENV=prod mix elixir_ls.release2 -o ~/.elixir-ls",
    ),
    programs=("elixir-ls-debugger", "elixir-debug-adapter", "debug_adapter.sh", "debugger.sh"),
    places=("~/.local/share/nvim/mason/bin", "~/.elixir-ls"),
    launch=_launch,
)
