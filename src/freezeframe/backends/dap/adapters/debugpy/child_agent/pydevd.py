"""Runs in a child process instead of debugpy's pydevd.py; a script, never imported.

It has that name because debugpy recognizes its own command lines by it, and hides the frames of
such a file. bootstrap_agent.py does the work. The interpreter may be any version: one that debugpy
does not run in (before 3.8) runs its program unchanged, so this file is written for all versions.
"""

import os
import sys

_GIVEN = list(sys.argv)


def _run():  # type: ignore[no-untyped-def]
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    boot = os.path.join(here, "bootstrap_agent.py")
    names = {"__name__": "freezeframe_boot", "__file__": boot}
    with open(boot, "rb") as file:
        eval(compile(file.read(), boot, "exec"), names)
    names["run_child"](sys.argv, _run_alone)  # type: ignore[operator]


def _run_alone():  # type: ignore[no-untyped-def]
    """Become the process that was to be started."""
    # Not through `os`, whose functions pydevd replaces.
    execute = __import__(os.name).execv
    execute(sys.executable, [sys.executable] + _options() + _command())  # type: ignore[no-untyped-call]  # noqa: RUF005


def _command():  # type: ignore[no-untyped-def]
    """Return the program that was to be run, and its arguments."""
    start = _GIVEN.index("--file")
    args = _GIVEN[start + 1 :]
    if "--module" in _GIVEN[:start]:
        args.insert(0, "-m")
    return args


def _report_unfollowed():  # type: ignore[no-untyped-def]
    """Report that this process is not followed."""
    try:
        start = _GIVEN.index("--file")
        secret = [arg for arg in _GIVEN[:start] if arg.startswith("@")][0]  # noqa: RUF015
        path = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.path.join(path, "unfollowed_child_agent.py")
        names = {}  # type: ignore[var-annotated]
        with open(path, "rb") as file:
            eval(compile(file.read(), path, "exec"), names)
        args = [sys.executable] + _options() + _command()  # type: ignore[no-untyped-call]  # noqa: RUF005
        names["report"](secret[1:], args)
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
    _report_unfollowed()  # type: ignore[no-untyped-call]
    _run_alone()
