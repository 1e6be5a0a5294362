"""The table of operations, catalog.json: which module declares which commands.

With it a module of operations is imported when one of its commands is looked up; importing all of
them was a third of the time of the first command. The table is generated (`make regen`) from the
modules.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._registry import Registry

TABLE = os.path.join(os.path.dirname(__file__), "catalog.json")


def read() -> Mapping[str, list[str]]:
    """Return the names and aliases of the operations of each module, in the order of the help."""
    with open(TABLE, encoding="utf-8") as file:
        table: dict[str, list[str]] = json.load(file)
    return table


def written(ops: Registry) -> str:
    """Return the table of the operations of this package. Imports all of its modules."""
    import importlib
    import pkgutil

    for each in pkgutil.iter_modules([os.path.dirname(__file__)]):
        if not each.name.startswith("_"):
            importlib.import_module(f"{__package__}.{each.name}")
    table: dict[str, list[str]] = {}
    for spec in ops:
        module = spec.func.__module__
        if module.startswith(f"{__package__}."):
            table.setdefault(module, []).extend((spec.name, *spec.aliases))
    return json.dumps(table, indent=1) + "\n"
