"""Ask `cxx_exceptions_agent` for the C++ exception of a stop, and read its answer."""

from __future__ import annotations

import json

from .value_text import tidy

#: the gdb command that prints the exception of the selected thread
QUERY = "python freezeframe_thrown()"
#: the same without the message, for which a function of the program may have to be called
QUERY_TYPES = "python freezeframe_thrown(False)"


def read(answer: str) -> tuple[list[str], str] | None:
    """Return the names of an exception's type and of all its base types, and its message."""
    try:
        report = json.loads(answer)
    except ValueError:
        return None
    return report["types"], report.get("message") or tidy(report.get("value", ""))
