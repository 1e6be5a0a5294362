"""Hits of logpoints, read from the messages that a run printed.

No debugger says which logpoint a message belongs to: a message is matched with the texts of the
logpoints of the run, and the expressions in braces become the values of the hit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from freezeframe.errors import NotFound
from freezeframe.model.locations import Location
from freezeframe.model.runs import Logpoint

from . import location_keys
from .codec import RawValue

if TYPE_CHECKING:
    import sqlite3

    from .queries import FoundRun

#: The column of a message without expressions.
_MESSAGE = "message"


def logpoints_at(found: FoundRun, location: Location, directory: str) -> list[Logpoint]:
    """Return the logpoints that the run had at a location; *directory* is the caller's."""
    if location.file is None:
        requested = location_keys.function_key(location.function or str(location))
        return [each for each in found.run.logpoints if requested in (each.function, each.location)]
    file = os.path.normpath(location.file)
    same = {f"{os.path.normpath(os.path.join(directory, file))}:{location.line}"}
    same.add(f"{file}:{location.line}")
    return [
        each
        for each in found.run.logpoints
        if each.location in same or each.location.endswith(f"/{file}:{location.line}")
    ]


def messages_of(
    connection: sqlite3.Connection, found: FoundRun, chosen: Sequence[Logpoint]
) -> list[tuple[Logpoint, dict[str, RawValue]]]:
    """Return each recorded message of the *chosen* logpoints, in order, as its values.

    Raises NotFound where another logpoint prints the same text.
    """
    printed = connection.execute(
        "SELECT text FROM output WHERE run = ? AND stream = 'log' ORDER BY cursor", (found.id,)
    )
    patterns = [(each, *_pattern(each.message)) for each in found.run.logpoints]
    hits: list[tuple[Logpoint, dict[str, RawValue]]] = []
    last: dict[str, RawValue] | None = None
    for line in "".join(text for (text,) in printed).splitlines():
        fitting = [
            (each, names, match, literal)
            for each, pattern, names, literal in patterns
            if (match := pattern.fullmatch(line))
        ]
        if not fitting:  # a value of several lines goes on
            if last:
                last[list(last)[-1]][1] += f"\n{line}"
            continue
        longest = max(literal for *_, literal in fitting)
        best = [each for each in fitting if each[3] == longest]
        last = None
        if not any(each in chosen for each, *_ in best):
            continue
        if any(each not in chosen for each, *_ in best):
            where = " and ".join(dict.fromkeys(each.location for each, *_ in best))
            raise NotFound(
                f"the logpoints at {where} print the same text: their hits cannot be told apart.",
                next=f"dbg break {chosen[0].location} --log {_unambiguous(chosen[0])}",
            )
        logpoint, names, match, _ = best[0]
        last = {name: [name, text] for name, text in zip(names, match.groups(), strict=True)}
        last = last or {_MESSAGE: [_MESSAGE, line]}
        hits.append((logpoint, last))
    return hits


def _pattern(message: str) -> tuple[re.Pattern[str], list[str], int]:
    """Return what matches a message, the expressions in it, and its literal characters."""
    parts = re.split(r"\{([^{}]*)\}", message.strip())
    literal = [re.escape(part) for part in parts[::2]]
    return re.compile("(.*?)".join(literal)), parts[1::2], sum(map(len, parts[::2]))


def _unambiguous(logpoint: Logpoint) -> str:
    import shlex

    return shlex.quote(f"{logpoint.location} {logpoint.message}")
