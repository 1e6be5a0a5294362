"""Ask an installed program a question and take what it prints."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Mapping, Sequence


def answer(
    argv: Sequence[str], timeout_s: float = 5.0, *, env: Mapping[str, str] | None = None
) -> str | None:
    """Return what a program prints to either stream; None when it cannot be run, takes too long or
    is killed.

    In our own environment, without *env*. Blocks: only for programs that answer at once, and whose
    answer is kept.
    """
    try:
        asked = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            env=env,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout + asked.stderr if asked.returncode >= 0 else None


def kept_answer(command: tuple[str, ...], timeout_s: float = 5.0) -> str | None:
    """Return what a program answers, asked once until another file stands in its place.

    None, and asked again the next time, where it did not answer: it was killed, or slow.
    """
    try:
        return _kept_answer(command, timeout_s, os.stat(command[0]).st_mtime_ns)
    except (OSError, _Unanswered):
        return None


class _Unanswered(Exception):
    """Not to be kept."""


@functools.cache
def _kept_answer(command: tuple[str, ...], timeout_s: float, stamp: int) -> str:
    told = answer(command, timeout_s)
    if told is None:
        raise _Unanswered
    return told


def version(command: tuple[str, ...], pattern: str) -> str | None:
    """Return what *pattern* captures in a program's kept answer; None where it finds nothing."""
    found = re.search(pattern, kept_answer(command) or "")
    return found[1] if found else None
