"""One file per console debugger, or a folder when it has parts; each holds a `DEBUGGER`.

A file `…_probe.py` is no module of ours: it is text that runs inside a debugger. Third parties
ship the same object through the entry-point group `freezeframe.consoles`.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from freezeframe.backends.debugger import Debugger

log = logging.getLogger(__name__)


@cache
def known() -> dict[str, Debugger]:
    """Return every console debugger by name: ours first, then those of installed packages."""
    debuggers: dict[str, Debugger] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.endswith("_probe"):
            continue
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        debugger = getattr(loaded, "DEBUGGER", None)
        if isinstance(debugger, Debugger):
            debuggers[debugger.name] = debugger
    for entry in entry_points(group="freezeframe.consoles"):
        try:
            debugger = entry.load()
        except Exception as error:  # someone else's package must not cost us our own debuggers
            log.warning(
                "the debugger %s of %s cannot be loaded: %r", entry.name, entry.value, error
            )
            continue
        if isinstance(debugger, Debugger):
            debuggers.setdefault(debugger.name, debugger)
    return debuggers
