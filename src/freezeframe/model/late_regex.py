"""A `re.compile` that compiles at the first use of the pattern.

A module's patterns are compiled when it is imported, most of them for nothing: they were a sixth of
the time of the first command. Use it for patterns of modules that the daemon loads at its start.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as compile
else:

    class compile:
        """A pattern with the attributes of `re.Pattern`, which exist from the first use on."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self._source = (pattern, flags)

        def __getattr__(self, name: str) -> Any:
            compiled = re.compile(*self._source)
            for each in dir(compiled):
                if not each.startswith("__"):
                    setattr(self, each, getattr(compiled, each))
            return getattr(compiled, name)
