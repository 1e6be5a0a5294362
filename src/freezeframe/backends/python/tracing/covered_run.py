"""Run a Python program at nearly full speed, and return which lines of it were executed."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence

from freezeframe import files, paths
from freezeframe.backends.backend import Launch

from .traced_run import run_to_end, start_injected

_MAX_FILE = 50_000_000

#: the lines of each function that were executed, by file and qualified name
Coverage = dict[tuple[str, str], set[int]]


async def run_covered(target: Launch, roots: Sequence[str], seconds: float) -> Coverage:
    """Run *target* to its end, or for some seconds; return the executed lines below *roots*.

    Raises Unsupported if no agent can be put into the program, and LaunchFailed if it does not
    start.
    """
    directory = paths.scratch()
    file = os.path.join(directory, "coverage")
    settings: dict[str, object] = {
        "coverage": file,
        "roots": sorted({os.path.realpath(each) for each in roots}),
    }
    try:
        program = start_injected(target, settings, directory, None)
        await run_to_end(program, seconds)
        return await asyncio.to_thread(_read, file)
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, True)


def _read(file: str) -> Coverage:
    found: Coverage = {}
    try:
        text = files.read_text(file, _MAX_FILE)
    except OSError:
        return found
    for record in text.splitlines():
        path, _, rest = record.partition("\t")
        function, _, line = rest.partition("\t")
        if line.isdecimal():
            found.setdefault((path, function), set()).add(int(line))
    return found
