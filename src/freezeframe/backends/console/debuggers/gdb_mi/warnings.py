"""gdb's own warnings: those that a reader must know, each once. Pure."""

from __future__ import annotations

import re

#: what makes lines, values, threads or libraries wrong or missing; the rest is gdb's own affair.
#: Of a source that is newer than the program the session tells, whichever debugger it has.
_MATTERS = re.compile(
    r"""separate\ debug
    | does\ not\ match\ " | CRC\ mismatch
    | could\ not\ find\ (?:DWO|DWP|supplementary|'\.gnu_debugaltlink')
    | unable\ to\ find\ (?:dynamic\ linker|libthread_db)
    | could\ not\ load\ shared\ library\ symbols
    | corrupted\ shared\ library\ list
    | is\ not\ at\ the\ expected\ address
    | auto-loading\ has\ been\ declined
    | target\ and\ debugger\ are\ in\ different\ PID\ namespaces
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MISSING = re.compile(r"Missing separate debuginfo")
_LONGEST = 400


def matters(line: str) -> bool:
    """Whether a line of gdb's is a warning that a reader must know."""
    return bool(_MISSING.match(line)) or (
        line.startswith("warning: ") and _MATTERS.search(line) is not None
    )


class Warnings:
    """Puts the pieces of what gdb complains of together, and picks out the warnings."""

    def __init__(self) -> None:
        self._begun = ""
        self._told: set[str] = set()

    def read(self, piece: str) -> str | None:
        """Return the warnings that end in this piece and were not told before."""
        *lines, self._begun = (self._begun + piece).split("\n")
        self._begun = self._begun[-_LONGEST:]
        new = [line for line in map(str.strip, lines) if matters(line) and line not in self._told]
        self._told.update(new)
        return "".join(f"{line[:_LONGEST]}\n" for line in dict.fromkeys(new)) or None
