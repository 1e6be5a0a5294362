"""One small file per debug adapter; each holds an `ADAPTER`.

A file `…_probe.py` is no module of ours: it is text that runs inside a program. Third parties
ship an `ADAPTER` through the entry-point group `freezeframe.adapters`.
"""

from __future__ import annotations

from functools import cache

from freezeframe.backends.discovery import discover

from ._descriptor import Adapter


@cache
def known() -> dict[str, Adapter]:
    """Return every adapter by name: ours first, then those of installed packages."""
    return discover(
        __name__,
        __path__,
        attribute="ADAPTER",
        kind=Adapter,
        group="freezeframe.adapters",
        name=lambda adapter: adapter.name,
    )
