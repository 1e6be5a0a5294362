"""Runs in a child process where debugpy would run its own pydevd.py; a script, never imported.

Of that name, because debugpy tells by it that a command line is its own already, and hides the
frames of such a file. All it does is in boot_probe.py. The interpreter may be any: one that debugpy
does not run in (before 3.8) runs its program as it was to be run, so this file is written for all.
"""

import os
import sys

_GIVEN = list(sys.argv)


def _run():  # type: ignore[no-untyped-def]
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    boot = os.path.join(here, "boot_probe.py")
    names = {"__name__": "freezeframe_boot", "__file__": boot}
    with open(boot, "rb") as file:
        eval(compile(file.read(), boot, "exec"), names)
    names["run_child"](sys.argv, _run_alone)  # type: ignore[operator]


def _run_alone():  # type: ignore[no-untyped-def]
    """Become the process that was to be started."""
    # Not by way of `os`, whose functions pydevd replaces.
    execute = __import__(os.name).execv
    execute(sys.executable, [sys.executable] + _options() + _words())  # type: ignore[no-untyped-call]  # noqa: RUF005


def _words():  # type: ignore[no-untyped-def]
    """Return the program that was to be run, and its arguments."""
    start = _GIVEN.index("--file")
    words = _GIVEN[start + 1 :]
    if "--module" in _GIVEN[:start]:
        words.insert(0, "-m")
    return words


def _tell():  # type: ignore[no-untyped-def]
    """Say that this process is not followed."""
    try:
        start = _GIVEN.index("--file")
        secret = [word for word in _GIVEN[:start] if word.startswith("@")][0]  # noqa: RUF015
        path = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.path.join(path, "unfollowed_probe.py")
        names = {}  # type: ignore[var-annotated]
        with open(path, "rb") as file:
            eval(compile(file.read(), path, "exec"), names)
        words = [sys.executable] + _options() + _words()  # type: ignore[no-untyped-call]  # noqa: RUF005
        names["tell"](secret[1:], words)
    except Exception:
        pass


def _options():  # type: ignore[no-untyped-def]
    """Return the options that the interpreter was started with."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            given = file.read().decode("utf-8", "surrogateescape").split("\0")
        return given[1 : given.index(_GIVEN[0])]
    except Exception:
        import subprocess

        return subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]


if sys.version_info[:2] >= (3, 8):  # noqa: UP036
    _run()  # type: ignore[no-untyped-call]
else:
    _tell()  # type: ignore[no-untyped-call]
    _run_alone()
