"""OCaml bytecode through earlybird, from its documentation."""

from __future__ import annotations

from typing import Any

from freezeframe.backends.backend import Launch

from ._documented import documented


def _launch(target: Launch, path: str) -> dict[str, Any]:
    return {
        "program": target.program,
        "arguments": list(target.args),
        "cwd": target.cwd,
        "env": dict(target.env),
        "stopOnEntry": target.stop_on_entry,
        "console": "internalConsole",
    }


ADAPTER = documented(
    "earlybird",
    adapter_id="ocaml.earlybird",
    languages=("OCaml",),
    patterns=("*.bc",),
    install=("opam install earlybird",),
    programs=("ocamlearlybird",),
    words=("debug",),
    places=("~/.opam/default/bin",),
    launch=_launch,
)
