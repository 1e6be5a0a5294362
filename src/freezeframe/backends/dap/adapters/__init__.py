"""One small file per debug adapter; each holds an `ADAPTER`.

A file `…_probe.py` is no module of ours: it is text that runs inside a program. Third parties
ship an `ADAPTER` through the entry-point group `freezeframe.adapters`.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ._descriptor import Adapter

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger(__name__)

_GROUP = "freezeframe.adapters"


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
    for entry in _offered():
        try:
            adapter = entry.load()
        except Exception as error:  # someone else's package must not cost us our own debuggers
            log.warning("the adapter %s of %s cannot be loaded: %r", entry.name, entry.value, error)
            continue
        if isinstance(adapter, Adapter):
            adapters.setdefault(adapter.name, adapter)
    return adapters


def _offered() -> Iterable[EntryPoint]:
    """Return the entry points of installed packages that offer adapters.

    Their files are looked at first: the first start would else wait 15 ms for `importlib.metadata`.
    """
    section = f"[{_GROUP}]".encode()
    for directory in map(Path, sys.path):
        for file in directory.glob("*-info/entry_points.txt"):
            try:
                found = section in file.read_bytes()
            except OSError:
                continue
            if found:
                from importlib.metadata import entry_points

                return entry_points(group=_GROUP)
    return ()
