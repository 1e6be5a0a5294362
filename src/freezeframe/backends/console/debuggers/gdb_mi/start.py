"""How gdb and the program under it are started: words, quoting, environment."""

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
from freezeframe.backends.console.reader import quote
from freezeframe.backends.forks import Forks
from freezeframe.backends.transport.drain import Drain
from freezeframe.backends.transport.process import PIPE, Process
from freezeframe.errors import DebuggerError

#: Variables of the caller's that would change gdb itself; the program gets them all the same.
_NOT_FOR_GDB = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "DEBUGINFOD_URLS")
#: The longest word that Linux lets a command have is 128 KiB, and a shell command is one word.
_LONGEST_WORD = 120_000
_SHELL = "/bin/sh"
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: signals that are heeded as they are meant: an interrupt of ours is told from the program's own
_SIGNALS = "handle SIGINT stop print pass"

#: What gdb is told before it hears of a program. One that an old gdb does not know costs nothing.
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
    own = {key: value for key, value in env.items() if key not in _NOT_FOR_GDB}
    # The shell that starts the program is gdb's; messages are read by us, text is UTF-8.
    return {**own, "SHELL": _SHELL, "LC_ALL": "C.UTF-8", "TERM": "dumb"}


def settings(forks: Forks) -> list[str]:
    """Return the words of gdb's command line that set it up.

    There each costs nothing; as a command of MI it would be an answer to wait for.
    """
    commands = [
        *(f"set {each}" for each in (*SETTINGS, *gdb.FORKS[forks])),
        gdb.SKIP,
        # gdb 13 fails inside itself on some Rust types; it can go on, and says so as an error.
        *(
            f"maintenance set internal-error {each} no"
            for each in ("quit", "corefile", "backtrace")
        ),
        _SIGNALS,
    ]
    return [word for command in commands for word in ("-iex", command)]


#: indexes that are kept; beyond that the oldest half goes
_MOST_KEPT = 400


def keep_indexes() -> list[str]:
    """Return the commands that let gdb keep what it found in the libraries of programs.

    It reads all debug information of the C library for each start, half of the time that one
    takes. To be told once the program itself was read: that is built again and again. Before
    gdb 12 the setting has another name, and nothing is kept.
    """
    folder = os.path.join(paths.cache_dir(), "symbols")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        kept = sorted(os.scandir(folder), key=lambda entry: entry.stat().st_mtime)
        for entry in kept[: len(kept) // 2] if len(kept) > _MOST_KEPT else ():
            os.unlink(entry.path)
    except OSError:
        return []
    return [
        f"-interpreter-exec console {quote(f'set index-cache directory {folder}')}",
        '-interpreter-exec console "set index-cache enabled on"',
    ]


def load_probes(*more: str) -> list[str]:
    """Return the commands that put our functions into gdb's Python.

    As modules are loaded, so that they need not be compiled each time.
    """
    here = Path(__file__)
    names = (str(here.with_name(f"{each}_probe.py")) for each in ("inner", "tree"))
    words = "; ".join(
        (
            "python import importlib.util as _u",
            f"_p = {[*names, *more]!r}",
            "_s = [_u.spec_from_file_location(p[:-3].rpartition('/')[2], p) for p in _p]",
            "_m = [(s, _u.module_from_spec(s)) for s in _s]",
            "[s.loader.exec_module(m) for s, m in _m]",
            "globals().update((n, v) for _, m in _m for n, v in vars(m).items()"
            " if n.startswith('freezeframe_'))",
        )
    )
    return [f"-interpreter-exec console {quote(words)}"]


def launch(target: Launch, redirections: str, terminal: str) -> list[str]:
    """Return the commands that say how the program is to be run."""
    args = " ".join([*map(shlex.quote, target.args), redirections])
    commands = [
        # Where a container forbids personality(), switching it off would fail and be told.
        "-gdb-set disable-randomization off",
        f"-gdb-set inferior-tty {terminal}",
        f"-interpreter-exec console {quote(f'set args {args}')}",
    ]
    wrapper = "env -i " + " ".join(
        shlex.quote(f"{key}={value}") for key, value in target.env.items() if key
    )
    short = len(wrapper.encode("utf-8", "surrogateescape")) + len(args) < _LONGEST_WORD
    if short and not _hands_on(target.env):
        # A process more to be followed by gdb, but exact.
        commands.append(f"-interpreter-exec console {quote(f'set exec-wrapper {wrapper}')}")
        return commands
    for key in ("LINES", "COLUMNS"):
        if key not in target.env:
            commands.append(f"-interpreter-exec console {quote(f'unset environment {key}')}")
    for key in (*_NOT_FOR_GDB, "SHELL", "LC_ALL", "TERM"):
        words = f"set environment {key} {target.env[key]}" if key in target.env else ""
        words = words or f"unset environment {key}"
        commands.append(f"-interpreter-exec console {quote(words)}")
    return commands


def _hands_on(env: Mapping[str, str]) -> bool:
    """Whether the shell that starts the program gives it the environment as it is.

    Each drops what it cannot name; bash adds variables of its own, dash none.
    """
    plain = all(_VARIABLE.fullmatch(name) for name in env)
    return plain and os.path.basename(os.path.realpath(_SHELL)) == "dash"


async def first_line(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> str | None:
    """Return the first line that a small command prints, within two seconds."""
    if shutil.which(argv[0], path=env.get("PATH", os.defpath)) is None:
        return None
    said: list[str] = []
    try:
        process = Process.spawn(argv, cwd=cwd, env=env, stdout=PIPE)
    except DebuggerError:
        return None
    drain = Drain(process.take_stdout(), said.append)
    drain.start()
    try:
        async with asyncio.timeout(2.0):
            await process.wait()
        await drain.wait_end(0.5)
    except (TimeoutError, DebuggerError):
        await process.kill_tree(1.0)
    finally:
        drain.close()
    lines = "".join(said).splitlines()
    return lines[0].strip() if lines else None


async def rust_printers(env: Mapping[str, str], cwd: str) -> list[str]:
    """Return the commands that let gdb load the toolchain's own pretty-printers."""
    sysroot = await first_line(("rustc", "--print", "sysroot"), env, cwd)
    etc = os.path.join(sysroot, "lib", "rustlib", "etc") if sysroot else ""
    if not sysroot or not os.path.isdir(etc):
        return []
    # The program names the script by its file; gdb looks for it among its source directories.
    return [
        f"-interpreter-exec console {quote(f'add-auto-load-safe-path {etc}')}",
        f"-interpreter-exec console {quote(f'directory {shlex.quote(etc)}')}",
        "-interpreter-exec console "
        + quote(
            f"python import sys; sys.path.insert(0, {etc!r}) if {etc!r} not in sys.path else 0"
        ),
    ]
