"""Run an installed program and return what it prints, such as its version."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Mapping, Sequence


def answer(
    argv: Sequence[str], timeout_s: float = 5.0, *, env: Mapping[str, str] | None = None
) -> str | None:
    """Return what a program prints to both streams; None if it cannot be run, takes too long or is
    killed by a signal.

    Without *env* it runs in our environment. Blocks: only for programs that answer at once, and
    whose answer is cached.
    """
    try:
        result = subprocess.run(
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
    return result.stdout + result.stderr if result.returncode >= 0 else None


def kept_answer(command: tuple[str, ...], timeout_s: float = 5.0) -> str | None:
    """Return what a program prints, cached until its file changes.

    None, which is not cached, where the program did not answer: it was killed, or slow.
    """
    try:
        return _kept_answer(command, timeout_s, os.stat(command[0]).st_mtime_ns)
    except (OSError, _Unanswered):
        return None


class _Unanswered(Exception):
    """The program did not answer; do not cache that."""


@functools.cache
def _kept_answer(command: tuple[str, ...], timeout_s: float, stamp: int) -> str:
    output = answer(command, timeout_s)
    if output is None:
        raise _Unanswered
    return output


def version(command: tuple[str, ...], pattern: str) -> str | None:
    """Return what *pattern* captures in a program's cached answer; None where it does not match."""
    found = re.search(pattern, kept_answer(command) or "")
    return found[1] if found else None
