"""Children that ran without the debugger: what they said of themselves, read.

An interpreter that debugpy does not run in, or does not connect from, adds a line to a file beside
the secret and goes on as it would alone: `unfollowed_probe.py` is the other end.
"""

from __future__ import annotations

import os

from freezeframe import files

_NAME = "unfollowed"
#: of a program that gevent has patched: `greenlets_probe.py` tells it
_PASSED = "gevent has patched this program: debugpy may pass breakpoints in greenlets unseen"
_UNSUPPORTED = "; with GEVENT_SUPPORT=True it stops at some"
#: bytes that are read; children that are named; characters of a command line
_MOST, _NAMED, _LONGEST = 1 << 16, 3, 120


def read(directory: str) -> tuple[str, ...]:
    """Return a note for each such child, the first few of them, and one for greenlets."""
    return (*_children(directory), *_greenlets(directory))


def _greenlets(directory: str) -> tuple[str, ...]:
    try:
        support = files.read_head(os.path.join(directory, "greenlets"), 1)
    except OSError:
        return ()
    return (_PASSED if support else _PASSED + _UNSUPPORTED,)


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
    version, *words = line.split("\0")
    command = " ".join([os.path.basename(words[0]), *words[1:]]) if words else "python"
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
