"""Has a program that gevent has patched say so; loaded by `boot_probe.py`, under its rules.

pydevd writes advice to the program's standard error, at each message that it gets. What it misses
in greenlets is told by dbg instead, at the end: `unfollowed.py` reads the file.
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
from typing import Any

_MODULES = ("pydevd_utils", "pydevd_comm", "pydevd_daemon_thread")
_NAME = "notify_about_gevent_if_needed"


def install(secrets: list[str]) -> None:
    """Tell it once, in a file beside the newest of *secrets*, the files that hold the secret."""
    told: list[str] = []

    def notify_about_gevent_if_needed(stream: Any = None) -> bool:
        if secrets and secrets[-1] not in told and _has_patched():
            told.append(secrets[-1])
            _tell(secrets[-1])
        return False

    for name in _MODULES:
        module = importlib.import_module(f"_pydevd_bundle.{name}")
        if hasattr(module, _NAME):
            setattr(module, _NAME, notify_about_gevent_if_needed)
    atexit.register(notify_about_gevent_if_needed)


def _has_patched() -> bool:
    monkey: Any = sys.modules.get("gevent.monkey")
    return bool(vars(monkey).get("saved")) if monkey is not None else False


def _tell(secret: str) -> None:
    try:
        if os.path.exists(secret):
            path = os.path.join(os.path.dirname(secret), "greenlets")
            file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.write(file, os.environ.get("GEVENT_SUPPORT", "").encode())
            finally:
                os.close(file)
    except OSError:
        pass  # a debugger that has left, or a process that may not write there
