"""The built-in debuggers as a table, catalogue.json, so that none is imported before it is chosen.

The table is generated (`make regen`) from each debugger's module: its data, and the names of its
functions. Those import the debugger when they are called.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from .debugger import Debugger
from .fork_modes import ForkMode

TABLE = Path(__file__).with_name("catalogue.json")
#: Names of the attribute that holds a module's debugger, and of one that holds several.
ADAPTER, DEBUGGER, ADAPTERS = "ADAPTER", "DEBUGGER", "ADAPTERS"


def read() -> list[Debugger]:
    """Return every debugger of the table; its functions import it when they are called."""
    return [_entry(row) for row in json.loads(TABLE.read_text(encoding="utf-8"))]


def written(modules: Iterable[str]) -> str:
    """Return the table of the debuggers in *modules*, in that order. Imports them all."""
    rows = [_row(module, each) for module in modules for each in _load(module).values()]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


@functools.cache
def _load(module: str) -> dict[str, Debugger]:
    """Return the debuggers of a module by name."""
    loaded = vars(importlib.import_module(module))
    if DEBUGGER in loaded:
        found: Debugger = loaded[DEBUGGER]
        return {found.name: found}
    from .dap.described import debugger_of

    adapters = loaded.get(ADAPTERS) or (loaded[ADAPTER],)
    return {each.name: debugger_of(each) for each in adapters}


def _entry(row: dict[str, Any]) -> Debugger:
    module, functions = row.pop("module"), row.pop("functions")
    data: dict[str, Any] = {
        name: tuple(each) if isinstance(each, list) else each for name, each in row.items()
    }
    if "forks" in data:
        data["forks"] = tuple(map(ForkMode, data["forks"]))
    data |= {name: _import_on_call(module, row["name"], name) for name in functions}
    return Debugger(**data)


def _import_on_call(module: str, debugger: str, name: str) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        return getattr(_load(module)[debugger], name)(*args)

    return function


def _row(module: str, debugger: Debugger) -> dict[str, object]:
    row: dict[str, object] = {"module": module}
    functions = []
    for each in fields(Debugger):
        value = getattr(debugger, each.name)
        if value == each.default and each.default is not MISSING:
            continue
        if callable(value):
            functions.append(each.name)
        else:
            row[each.name] = value
    return {**row, "functions": functions}
