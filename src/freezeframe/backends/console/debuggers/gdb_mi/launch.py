"""Start gdb and the program: command lines, quoting, environment."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from freezeframe import paths
from freezeframe.backends import gdb
from freezeframe.backends.backend import Launch
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import quote
from freezeframe.backends.fork_modes import ForkMode
from freezeframe.backends.transport.fd_reader import TextReader
from freezeframe.backends.transport.process import PIPE, Process
from freezeframe.errors import DebuggerError

#: variables of the caller that would affect gdb itself; the program still gets them
_NOT_FOR_GDB = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "DEBUGINFOD_URLS")
#: Linux limits one argument to 128 KiB, and a shell command is one argument
_MAX_ARGUMENT = 120_000
_SHELL = "/bin/sh"
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: stop for SIGINT: our interrupt must be distinguished from the program's own
_SIGNALS = "handle SIGINT stop print pass"

#: settings before gdb loads a program; one that an old gdb does not know is ignored
SETTINGS = (
    "mi-async on",
    "confirm off",
    "pagination off",
    "width 0",
    "height 0",
    "style enabled off",
    "debuginfod enabled off",
    "history save off",
    "startup-with-shell on",
    "unwindonsignal on",
    "max-value-size unlimited",
    "backtrace limit unlimited",
    "print object on",
    "print static-members off",
    "print vtbl off",
    "print null-stop on",
    "print demangle on",
    "print asm-demangle on",
    "print sevenbit-strings off",
    "print frame-arguments scalars",
    "print elements 200",
    "print repeats unlimited",
    "print symbol on",
    "print thread-events off",
    "print inferior-events off",
    "breakpoint pending off",
)


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of gdb itself."""
    kept = {key: value for key, value in env.items() if key not in _NOT_FOR_GDB}
    # The shell that starts the program is gdb's; we parse the messages; text is UTF-8.
    return {**kept, "SHELL": _SHELL, "LC_ALL": "C.UTF-8", "TERM": "dumb"}


def settings(forks: ForkMode) -> list[str]:
    """Return the options of gdb's command line that configure it.

    As options they cost nothing; each MI command would cost a round trip.
    """
    commands = [
        *(f"set {each}" for each in (*SETTINGS, *gdb.FORKS[forks])),
        gdb.SKIP,
        # gdb 13 hits internal errors on some Rust types; it can continue and report an error.
        *(
            f"maintenance set internal-error {each} no"
            for each in ("quit", "corefile", "backtrace")
        ),
        _SIGNALS,
    ]
    return [option for command in commands for option in ("-iex", command)]


#: indexes to keep; beyond that the oldest half is deleted
_MAX_INDEXES = 400


def keep_indexes() -> list[str]:
    """Return the commands that make gdb cache symbol indexes of libraries.

    gdb reads all debug information of the C library at each start, which takes half of that time.
    To be sent after the program itself was read, which is rebuilt often. Before gdb 12 the setting
    has another name, and nothing is cached.
    """
    folder = os.path.join(paths.cache_dir(), "symbols")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        kept = sorted(os.scandir(folder), key=lambda entry: entry.stat().st_mtime)
        for entry in kept[: len(kept) // 2] if len(kept) > _MAX_INDEXES else ():
            os.unlink(entry.path)
    except OSError:
        return []
    return [
        f"-interpreter-exec console {quote(f'set index-cache directory {folder}')}",
        '-interpreter-exec console "set index-cache enabled on"',
    ]


def load_agents(*more: str) -> list[str]:
    """Return the commands that load our functions into gdb's Python."""
    here = Path(__file__)
    names = (str(here.with_name(f"{each}_agent.py")) for each in ("logpoints", "values"))
    return [f"-interpreter-exec console {quote(gdb.load_command(*names, *more))}"]


def launch(target: Launch, redirections: str, terminal: str) -> list[str]:
    """Return the commands that define how to run the program."""
    args = " ".join([*map(shlex.quote, target.args), redirections])
    commands = [
        # Where a container forbids personality(), disabling randomization fails with a warning.
        "-gdb-set disable-randomization off",
        f"-gdb-set inferior-tty {terminal}",
        f"-interpreter-exec console {quote(f'set args {args}')}",
    ]
    wrapper = "env -i " + " ".join(
        shlex.quote(f"{key}={value}") for key, value in target.env.items() if key
    )
    short = len(wrapper.encode("utf-8", "surrogateescape")) + len(args) < _MAX_ARGUMENT
    if short and not _preserves_environment(target.env):
        # One more process for gdb to follow, but the environment is exact.
        commands.append(f"-interpreter-exec console {quote(f'set exec-wrapper {wrapper}')}")
        return commands
    for key in ("LINES", "COLUMNS"):
        if key not in target.env:
            commands.append(f"-interpreter-exec console {quote(f'unset environment {key}')}")
    for key in (*_NOT_FOR_GDB, "SHELL", "LC_ALL", "TERM"):
        command = f"set environment {key} {target.env[key]}" if key in target.env else ""
        command = command or f"unset environment {key}"
        commands.append(f"-interpreter-exec console {quote(command)}")
    return commands


def _preserves_environment(env: Mapping[str, str]) -> bool:
    """Whether the shell that starts the program passes the environment on unchanged.

    Every shell drops variables with invalid names; bash adds its own, dash adds none.
    """
    plain = all(_VARIABLE.fullmatch(name) for name in env)
    return plain and os.path.basename(os.path.realpath(_SHELL)) == "dash"


async def first_line(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> str | None:
    """Return the first line that a short command prints within two seconds."""
    if shutil.which(argv[0], path=env.get("PATH", os.defpath)) is None:
        return None
    output: list[str] = []
    try:
        process = Process.spawn(argv, cwd=cwd, env=env, stdout=PIPE)
    except DebuggerError:
        return None
    drain = TextReader(process.take_stdout(), output.append)
    drain.start()
    try:
        async with asyncio.timeout(2.0):
            await process.wait()
        await drain.wait_end(0.5)
    except (TimeoutError, DebuggerError):
        await process.kill_tree(1.0)
    finally:
        drain.close()
    lines = "".join(output).splitlines()
    return lines[0].strip() if lines else None


async def rust_printers(env: Mapping[str, str], cwd: str) -> list[str]:
    """Return the commands that let gdb load the toolchain's pretty-printers."""
    sysroot = await first_line(("rustc", "--print", "sysroot"), env, cwd)
    etc = os.path.join(sysroot, "lib", "rustlib", "etc") if sysroot else ""
    if not sysroot or not os.path.isdir(etc):
        return []
    # The program names the script by file name; gdb searches its source directories for it.
    return [
        f"-interpreter-exec console {quote(f'add-auto-load-safe-path {etc}')}",
        f"-interpreter-exec console {quote(f'directory {shlex.quote(etc)}')}",
        "-interpreter-exec console "
        + quote(
            f"python import sys; sys.path.insert(0, {etc!r}) if {etc!r} not in sys.path else 0"
        ),
    ]
