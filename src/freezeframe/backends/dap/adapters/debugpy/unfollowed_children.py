"""Parse the reports of children that ran without the debugger.

An interpreter that debugpy does not run in, or does not connect from, adds a line to a file next to
the secret and continues as it would alone: `unfollowed_child_agent.py` is the other end.
"""

from __future__ import annotations

import os

from freezeframe import files

_NAME = "unfollowed"
#: for a program that gevent has patched: `greenlets_agent.py` reports it
_MISSED = (
    "gevent has patched this program unexpectedly: breakpoints in greenlets may have been passed; "
    "with GEVENT_SUPPORT=True in the environment they are not"
)
#: bytes that are read; children that are named; characters of a command line
_MOST, _NAMED, _LONGEST = 1 << 16, 3, 120


def read(directory: str) -> tuple[str, ...]:
    """Return a note for each such child, the first few of them, and one for greenlets."""
    return (*_children(directory), *_greenlets(directory))


def _greenlets(directory: str) -> tuple[str, ...]:
    try:
        files.read_head(os.path.join(directory, "greenlets"), 1)
    except OSError:
        return ()
    return (_MISSED,)


def _children(directory: str) -> tuple[str, ...]:
    try:
        lines = files.read_head(os.path.join(directory, _NAME), _MOST).splitlines()
    except OSError:
        return ()
    notes = list(dict.fromkeys(_note(line.decode("utf-8", "replace")) for line in lines))
    more = len(notes) - _NAMED
    if more > 0:
        were = "child process was" if more == 1 else "child processes were"
        notes[_NAMED:] = [f"{more} more {were} not followed"]
    return tuple(notes)


def _note(line: str) -> str:
    version, *args = line.split("\0")
    command = " ".join([os.path.basename(args[0]), *args[1:]]) if args else "python"
    command = "".join(
        each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in command
    )
    if len(command) > _LONGEST:
        command = command[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
    why = _reason(version)
    return f"a child process was not followed: {command}{f' ({why})' if why else ''}"


def _reason(version: str) -> str:
    try:
        number = tuple(int(part) for part in version.split("."))
    except ValueError:
        return ""
    if number < (3, 8):
        return f"debugpy does not run in Python {version}"
    return f"debugpy did not start in its Python {version}"
