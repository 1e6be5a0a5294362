"""Dart through `dart debug_adapter`, which comes with its SDK; from its documentation."""

from __future__ import annotations

from typing import Any

from freezeframe.backends.backend import Launch

from ._documented import documented


def _launch(target: Launch, path: str) -> dict[str, Any]:
    return {
        "program": target.program,
        "args": list(target.args),
        "cwd": target.cwd,
        "env": dict(target.env),
        "console": "debugConsole",
    }


ADAPTER = documented(
    "dart",
    adapter_id="dart",
    languages=("Dart",),
    patterns=("*.dart",),
    shebangs=("dart",),
    install=("brew install dart-lang/dart/dart", "apt-get install dart"),
    programs=("dart",),
    words=("debug_adapter",),
    launch=_launch,
)
