"""The JSON envelope of all answers."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.errors import FreezeframeError


def envelope(data: object, via: str | None = None, next: Sequence[str] = ()) -> dict[str, object]:
    """Return what `--json` prints for an operation that succeeded."""
    return {"ok": True, "data": data, "via": via, "next": list(next)}


def error_envelope(error: FreezeframeError) -> dict[str, object]:
    """Return what `--json` prints for an operation that failed."""
    return {
        "ok": False,
        "error": {"code": error.error_code, "message": error.message, "next": error.next},
    }
