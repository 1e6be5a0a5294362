"""Imports every operation, so that the registry is complete. The order is that of the help."""

from __future__ import annotations

from . import (  # noqa: F401
    breakpoints,
    exceptions,
    execution,
    house,
    machine,
    output,
    seeing,
    sessions,
    values,
)
from ._registry import OPS

__all__ = ["OPS"]
