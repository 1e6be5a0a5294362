"""The prompt in front of the Java Debug Interface: Java of ours, compiled once for each JDK."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from freezeframe import paths
from freezeframe.backends.transport.run import run
from freezeframe.errors import LaunchFailed

SOURCES = Path(__file__).with_name("probe")
#: the class that is run
MAIN = "Probe"
#: variables that would make a Java machine of ours do, or say, what is meant for the program's
MEANT_FOR_PROGRAMS = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH")


def without_options(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name not in MEANT_FOR_PROGRAMS}


def folder_for(javac: str) -> str:
    """Return the folder of the probe's classes for a JDK, made or not."""
    digest = hashlib.sha256(os.path.realpath(javac).encode())
    for file in sorted(SOURCES.glob("*.java")):
        digest.update(file.read_bytes())
    return os.path.join(paths.cache_dir(), "probes", f"java-{digest.hexdigest()[:16]}")


async def compiled(javac: str, *, env: Mapping[str, str], timeout_s: float) -> str:
    """Return the folder of the probe's classes, which are made when they are not there yet.

    Raises LaunchFailed with what the compiler says.
    """
    folder = folder_for(javac)
    if os.path.isdir(folder):
        return folder
    files = sorted(SOURCES.glob("*.java"))
    parent = os.path.dirname(folder)
    os.makedirs(parent, mode=0o700, exist_ok=True)
    # Two daemons may be here at the same time: each compiles on its own, one of them stays.
    made = tempfile.mkdtemp(dir=parent)
    try:
        words = (javac, "-nowarn", "-proc:none", "-XDignore.symbol.file", "-g:none", "-d", made)
        ran = await run(
            (*words, *map(str, files)), cwd=parent, env=without_options(env), timeout_s=timeout_s
        )
        if ran.status != 0:
            said = (ran.err or ran.out).strip().splitlines() or [f"status {ran.status}"]
            raise LaunchFailed(f"{javac} cannot compile our probe: {said[0]}", next="dbg doctor")
        with contextlib.suppress(OSError):
            os.rename(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder
