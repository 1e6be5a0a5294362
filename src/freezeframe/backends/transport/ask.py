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
    """Return what a program prints to either stream; None when it cannot be run or takes too long.

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
    return asked.stdout + asked.stderr


def version(command: tuple[str, ...], pattern: str) -> str | None:
    """Return what *pattern* captures in a program's answer; None where it finds nothing.

    Asked once, until another file stands in the program's place.
    """
    try:
        return _version(command, pattern, os.stat(command[0]).st_mtime_ns)
    except OSError:
        return None


@functools.cache
def _version(command: tuple[str, ...], pattern: str, stamp: int) -> str | None:
    found = re.search(pattern, answer(command) or "")
    return found[1] if found else None
