"""Letting go of a debugger."""

from __future__ import annotations

import logging

from freezeframe.backends.backend import Backend

log = logging.getLogger(__name__)


async def release(backend: Backend) -> None:
    """Release everything that a debugger holds. Never raises.

    What fails here is a bug, and logged; it must not hide why the debugger is let go of.
    """
    try:
        await backend.dispose()
    except Exception:
        log.exception("%s could not be let go of", backend.tool)
