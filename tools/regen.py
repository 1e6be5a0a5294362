"""Rewrite the files that are generated from the table of operations and from the debuggers.

`python tools/regen.py` writes them; `--check` writes nothing and exits 1 naming those that are
stale.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import published

from freezeframe.backends import catalogue, discovery, inspector
from freezeframe.backends.console import debuggers
from freezeframe.backends.dap import adapters
from freezeframe.frontends import cli_ops
from freezeframe.frontends.reference import reference
from freezeframe.ops import catalog
from freezeframe.ops._registry import OPS

assert cli_ops  # declares operations

ROOT = Path(__file__).resolve().parent.parent


def generated() -> dict[Path, str]:
    """Return what each generated file must hold."""
    table = catalog.written(OPS)  # first: it imports modules that are not in the old table
    return {
        Path(catalog.TABLE): table,
        ROOT / "docs" / "COMMANDS.md": reference(),
        catalogue.TABLE: _debuggers(),
        **{ROOT / path: text for path, text in published.files().items()},
    }


def _debuggers() -> str:
    """Return the table of our debuggers; of several of one rank the first here is taken."""
    modules = [
        module
        for room in (adapters, debuggers, inspector)
        for module in discovery.modules(room.__name__, room.__path__)
        if vars(importlib.import_module(module)).keys() & {catalogue.ADAPTER, catalogue.DEBUGGER}
    ]
    return catalogue.written([*modules, f"{adapters.__name__}._documented"])


def stale() -> list[Path]:
    """Return the generated files that are missing or differ."""
    return [
        path
        for path, text in generated().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str]) -> int:
    outdated = stale()
    if arguments == ["--check"]:
        for path in outdated:
            print(f"stale: {path.relative_to(ROOT)}")
        return 1 if outdated else 0
    texts = generated()
    for path in outdated:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
