"""One small file per debug adapter; each defines an `ADAPTER`. Those never run are one table.

Files named `…agent.py` are not imported: their text runs inside the debuggee or the debugger.
Third-party packages ship an `ADAPTER` through the entry-point group `freezeframe.adapters`.
"""

from __future__ import annotations

from functools import cache

from freezeframe.backends.discovery import ADAPTERS, discover
from freezeframe.backends.discovery import offered as offered_in

from ._descriptor import Adapter


@cache
def known() -> dict[str, Adapter]:
    """Return every adapter by name: built-in adapters first, then those of installed packages."""
    from . import _documented

    found = discover(
        __name__,
        __path__,
        attribute="ADAPTER",
        kind=Adapter,
        group=ADAPTERS,
        name=lambda adapter: adapter.name,
    )
    return {each.name: each for each in _documented.ADAPTERS} | found


def offered() -> dict[str, Adapter]:
    """Return the adapters of installed packages by name."""
    return offered_in(ADAPTERS, kind=Adapter, name=lambda adapter: adapter.name)
