"""The code of `python -c`, which `bootstrap_agent.py` prefixes with its own; runs inside programs.

The code is run, and shown in tracebacks, as it was given.
"""

from __future__ import annotations

import sys
from typing import Any

#: around the prefix of the code of `python -c`
BEGINS, ENDS = "eval(compile(", ", '<string>', 'exec'), {}); "


def show_alone() -> None:
    """Hide our prefix where Python 3.13 shows the code of `python -c` in tracebacks.

    Blanks replace the prefix, so that columns stay right: a traceback strips leading blanks.
    """
    linecache: Any = sys.modules.get("linecache")
    for name in ("cache", "_interactive_cache"):
        table: Any = getattr(linecache, name, {})
        for key, entry in list(table.items()):
            if len(entry) == 4 and entry[3] == "<string>":
                table[key] = (entry[0], None, [user_part(line) for line in entry[2]], entry[3])


def user_part(line: str) -> str:
    before, begins, behind = line.partition(BEGINS)
    setup, ends, code = behind.partition(ENDS)
    return " " * len((begins + setup + ends).encode()) + before + code if ends else line


def split_behind_future(text: str) -> tuple[str, str]:
    """Return the beginning of a program up to its last `from __future__ import`, and the rest."""
    import ast

    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return "", text
    ends = [
        (each.end_lineno or 0, each.end_col_offset or 0)
        for each in body
        if isinstance(each, ast.ImportFrom) and each.module == "__future__"
    ]
    if not ends:
        return "", text
    line, column = ends[-1]
    lines = text.split("\n")
    last = lines[line - 1].encode()
    rest = "\n".join([last[column:].decode(), *lines[line:]]).lstrip(" \t")
    future = "\n".join([*lines[: line - 1], last[:column].decode()])
    if rest.startswith(";"):
        rest = rest[1:].lstrip(" \t")
    return f"{future}; ", rest
