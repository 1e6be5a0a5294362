"""Kotlin through kotlin-debug-adapter, from its documentation: it runs a class of a project."""

from __future__ import annotations

import os
import re
from typing import Any

from freezeframe import files
from freezeframe.backends.backend import Launch

from ._documented import documented, upwards


def _launch(target: Launch, path: str) -> dict[str, Any]:
    root = upwards(
        target, "settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle"
    )
    return {"projectRoot": root, "mainClass": _main_class(target.program)}


def _main_class(program: str) -> str:
    """Return the class that Kotlin makes of a file with a `main`: `package.FileKt`."""
    try:
        package = re.search(r"^\s*package\s+([\w.]+)", files.read_text(program), re.MULTILINE)
    except OSError:
        package = None
    name = os.path.splitext(os.path.basename(program))[0]
    own = f"{name[:1].upper()}{name[1:]}Kt"
    return f"{package[1]}.{own}" if package else own


ADAPTER = documented(
    "kotlin-debug-adapter",
    adapter_id="kotlin",
    languages=("Kotlin",),
    patterns=("*.kt",),
    install=(
        "git clone https://github.com/fwcd/kotlin-debug-adapter ~/.local/share/kotlin-debug-adapter"
        " && cd ~/.local/share/kotlin-debug-adapter && ./gradlew :adapter:installDist",
    ),
    programs=("kotlin-debug-adapter",),
    places=(
        "~/.local/share/kotlin-debug-adapter/adapter/build/install/adapter/bin",
        "~/.local/share/nvim/mason/bin",
    ),
    launch=_launch,
)
