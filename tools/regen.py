"""Rewrite the files that are generated from the table of operations.

`python tools/regen.py` writes them; `--check` writes nothing and exits 1 naming those that are
stale.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def generated() -> dict[Path, str]:
    """Return what each generated file must hold."""
    # Both declare operations, which stand in the reference in this order.
    for module in ("freezeframe.ops.table", "freezeframe.frontends.commands"):
        importlib.import_module(module)
    from freezeframe.frontends.reference import reference

    return {ROOT / "docs" / "COMMANDS.md": reference()}


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
