"""One file per console debugger, or a folder when it has parts; each holds a `DEBUGGER`.

A file `…_probe.py` is no module of ours: it is text that runs inside a debugger. Third parties
ship the same object through the entry-point group `freezeframe.consoles`.
"""

from __future__ import annotations

from functools import cache

from freezeframe.backends.debugger import Debugger
from freezeframe.backends.discovery import discover


@cache
def known() -> dict[str, Debugger]:
    """Return every console debugger by name: ours first, then those of installed packages."""
    return discover(
        __name__,
        __path__,
        attribute="DEBUGGER",
        kind=Debugger,
        group="freezeframe.consoles",
        name=lambda debugger: debugger.name,
    )
