"""Filter gdb's warnings: report each important one once. Pure."""

from __future__ import annotations

import re

#: warnings that lines, values, threads or libraries are wrong or missing; others are ignored.
#: The session itself warns of a source file newer than the program, for every debugger.
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
    """Whether a line is a warning that the user must see."""
    return bool(_MISSING.match(line)) or (
        line.startswith("warning: ") and _MATTERS.search(line) is not None
    )


class Warnings:
    """Assembles gdb's log text into lines and selects the warnings."""

    def __init__(self) -> None:
        self._partial = ""
        self._reported: set[str] = set()

    def read(self, piece: str) -> str | None:
        """Return the new warnings that end in this piece."""
        *lines, self._partial = (self._partial + piece).split("\n")
        self._partial = self._partial[-_LONGEST:]
        new = [
            line for line in map(str.strip, lines) if matters(line) and line not in self._reported
        ]
        self._reported.update(new)
        return "".join(f"{line[:_LONGEST]}\n" for line in dict.fromkeys(new)) or None
