"""Start a program with standard streams that we read and write: pipes, or a terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from freezeframe import files
from freezeframe.errors import LaunchFailed

from .fd_writer import StdinWriter
from .process import PIPE, Process
from .pty import Terminal


@dataclass(frozen=True, slots=True)
class SpawnedProgram:
    """A running program. The caller closes its streams."""

    process: Process
    #: the program's standard input; None where that is a file
    stdin: StdinWriter | None
    #: descriptors to read, each with the name of its stream; a terminal is one for both
    outputs: tuple[tuple[int, str], ...]


def spawn_program(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: str | None = None,
    tty: bool = False,
    pass_fds: Sequence[int] = (),
) -> SpawnedProgram:
    """Start a program that reads the file *stdin*, or what is written to its StdinWriter.

    With *tty* its streams are a new pseudo-terminal. Must be called on the event loop. Raises
    LaunchFailed.
    """
    file: int | None = None
    if stdin is not None:
        try:
            file = files.open_input(stdin)
        except OSError as error:
            raise LaunchFailed(f"{stdin} cannot be read: {error.strerror}.") from None
    try:
        if tty:
            return _on_terminal(argv, cwd, env, file, pass_fds)
        process = Process.spawn(
            argv,
            cwd=cwd,
            env=env,
            stdin=PIPE if file is None else file,
            stdout=PIPE,
            stderr=PIPE,
            pass_fds=pass_fds,
        )
    finally:
        if file is not None:
            os.close(file)
    feeder = StdinWriter(process.take_stdin()) if file is None else None
    outputs = ((process.take_stdout(), "stdout"), (process.take_stderr(), "stderr"))
    return SpawnedProgram(process, feeder, outputs)


def _on_terminal(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    file: int | None,
    pass_fds: Sequence[int],
) -> SpawnedProgram:
    terminal = Terminal(lines=True)
    try:
        screen = terminal.program
        process = Process.spawn(
            argv,
            cwd=cwd,
            env=env,
            stdin=screen if file is None else file,
            stdout=screen,
            stderr=screen,
            pass_fds=pass_fds,
            controlling_tty=screen,
        )
        feeder = terminal.feeder() if file is None else None
        return SpawnedProgram(process, feeder, ((terminal.dup_controller(), "stdout"),))
    finally:
        terminal.close()
