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
    #: the command that starts a program which waits for a debugger. Raises LaunchFailed
    argv: Callable[[Launch, Found, AdapterConfig], tuple[str, ...]]
    #: the NODE_OPTIONS of child processes, which make them connect to us
    child_options: str
    #: names of the runtime's executables
    executables: tuple[str, ...]
    #: the port on which a process listens after SIGUSR1
    port: int
