"""One file per console debugger, or a folder when it has parts; each holds a `DEBUGGER`.

A file `…agent.py` is not a module of ours: it is text that runs inside a debugger. Third parties
ship the same object through the entry-point group `freezeframe.consoles`.
"""

from __future__ import annotations

from functools import cache

from freezeframe.backends.debugger import Debugger
from freezeframe.backends.discovery import CONSOLES, discover
from freezeframe.backends.discovery import offered as offered_in


@cache
def known() -> dict[str, Debugger]:
    """Return every console debugger by name: ours first, then those of installed packages."""
    return discover(
        __name__,
        __path__,
        attribute="DEBUGGER",
        kind=Debugger,
        group=CONSOLES,
        name=lambda debugger: debugger.name,
    )


def offered() -> dict[str, Debugger]:
    """Return the console debuggers of installed packages by name."""
    return offered_in(CONSOLES, kind=Debugger, name=lambda debugger: debugger.name)
