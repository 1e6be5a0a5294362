"""Compile the agent, a prompt for the Java Debug Interface, once for each JDK."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from freezeframe import paths
from freezeframe.backends.transport.run_command import run
from freezeframe.errors import LaunchFailed

SOURCES = Path(__file__).with_name("agent")
#: the agent's main class
MAIN = "Agent"
#: variables for the program's JVM, which would change the behaviour or output of ours
PROGRAM_VARIABLES = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH")


def without_options(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name not in PROGRAM_VARIABLES}


def folder_for(javac: str) -> str:
    """Return the folder of the agent's classes for a JDK, compiled or not."""
    digest = hashlib.sha256(os.path.realpath(javac).encode())
    for file in sorted(SOURCES.glob("*.java")):
        digest.update(file.read_bytes())
    return os.path.join(paths.cache_dir(), "agents", f"java-{digest.hexdigest()[:16]}")


async def compiled(javac: str, *, env: Mapping[str, str], timeout_s: float) -> str:
    """Return the folder of the agent's classes; compile them if necessary.

    Raises LaunchFailed with the compiler's message.
    """
    folder = folder_for(javac)
    if os.path.isdir(folder):
        return folder
    files = sorted(SOURCES.glob("*.java"))
    parent = os.path.dirname(folder)
    os.makedirs(parent, mode=0o700, exist_ok=True)
    # Two daemons may compile at the same time, each in its own folder; one of them is kept.
    made = tempfile.mkdtemp(dir=parent)
    try:
        command = (javac, "-nowarn", "-proc:none", "-XDignore.symbol.file", "-g:none", "-d", made)
        ran = await run(
            (*command, *map(str, files)), cwd=parent, env=without_options(env), timeout_s=timeout_s
        )
        if ran.status != 0:
            output = (ran.err or ran.out).strip().splitlines() or [f"status {ran.status}"]
            raise LaunchFailed(f"{javac} cannot compile our agent: {output[0]}", next="dbg doctor")
        with contextlib.suppress(OSError):
            os.rename(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder
