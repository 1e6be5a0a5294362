"""What differs between runtimes that have V8's inspector: how a program is started and found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from freezeframe.backends.backend import Launch
from freezeframe.backends.debugger import Found
from freezeframe.config import AdapterConfig


@dataclass(frozen=True, slots=True)
class Runtime:
    name: str
    #: the command that runs a program, which then waits for a debugger. Raises LaunchFailed
    argv: Callable[[Launch, Found, AdapterConfig], tuple[str, ...]]
    #: what children get into their NODE_OPTIONS, so that they call us
    child_options: str
    #: names of the files that such a process runs
    executables: tuple[str, ...]
    #: where a process listens that was asked to by a signal
    port: int
