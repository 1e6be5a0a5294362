"""One small file per debug adapter; each holds an `ADAPTER`.

Third parties ship the same object through the entry-point group `freezeframe.adapters`.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from ._descriptor import Adapter


@cache
def known() -> dict[str, Adapter]:
    """Return every adapter by name: ours first, then those of installed packages."""
    adapters: dict[str, Adapter] = {}
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        adapter = getattr(loaded, "ADAPTER", None)
        if isinstance(adapter, Adapter):
            adapters[adapter.name] = adapter
    for entry in entry_points(group="freezeframe.adapters"):
        adapter = entry.load()
        if isinstance(adapter, Adapter):
            adapters.setdefault(adapter.name, adapter)
    return adapters
