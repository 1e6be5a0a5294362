"""Imports every operation, so that the registry is complete. The order is that of the help."""

from __future__ import annotations

# isort: off
from . import starting  # noqa: F401
from . import sessions  # noqa: F401
from . import execution  # noqa: F401
from . import unwinding  # noqa: F401
from . import backward  # noqa: F401
from . import breakpoints  # noqa: F401
from . import exceptions  # noqa: F401
from . import seeing  # noqa: F401
from . import values  # noqa: F401
from . import displays  # noqa: F401
from . import output  # noqa: F401
from . import machine  # noqa: F401
from . import history  # noqa: F401
from . import records  # noqa: F401
from . import house  # noqa: F401
from . import hosts  # noqa: F401
from ._registry import OPS
# isort: on

__all__ = ["OPS"]
