"""One small file per debug adapter; each holds an `ADAPTER`.

A file `…_probe.py` is no module of ours: it is text that runs inside a program. Third parties ship the same object through the entry-point group `freezeframe.adapters`.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from ._descriptor import Adapter

log = logging.getLogger(__name__)


@cache
def known() -> dict[str, Adapter]:
    """Return every adapter by name: ours first, then those of installed packages."""
    adapters: dict[str, Adapter] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.endswith("_probe"):
            continue
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        adapter = getattr(loaded, "ADAPTER", None)
        if isinstance(adapter, Adapter):
            adapters[adapter.name] = adapter
    for entry in entry_points(group="freezeframe.adapters"):
        try:
            adapter = entry.load()
        except Exception as error:  # someone else's package must not cost us our own debuggers
            log.warning("the adapter %s of %s cannot be loaded: %r", entry.name, entry.value, error)
            continue
        if isinstance(adapter, Adapter):
            adapters.setdefault(adapter.name, adapter)
    return adapters
