"""Brings debugpy into a program that runs already; the text of this file is executed there.

`debugpy_inject_probe.py` sends it, inside an expression that leaves no name behind in the
program's own module. Same rules as `debugpy_probe.py`: Python 3.8 on, nothing of this package, no
harm. It becomes the module `_freezeframe_join`, which goes away when the debugger leaves.
"""

from __future__ import annotations

import os
import sys
from typing import Any

#: read by pydevd when it is imported; children that it follows read it too
_VARIABLE = "PYDEVD_DISABLE_FILE_VALIDATION"
#: environment variables that were not the program's
borrowed: list[str] = []


def join(package: str, host: str, port: int, token: str, follow: bool, verdict: int) -> None:
    """Connect this process to the debugger at *host*:*port*; tell port *verdict* what came of it.

    Raises nothing: an exception here would be printed by the program.
    """
    try:
        words = _join(package, host, port, token, follow)
    except BaseException as error:
        words = f"{type(error).__name__}: {error}"
    try:
        _tell(host, verdict, words)
    except Exception:
        pass


def _join(package: str, host: str, port: int, token: str, follow: bool) -> str:
    if _debugged():
        return "debugged"
    if _VARIABLE not in os.environ:
        # Without it pydevd warns of frozen modules on the program's own stderr.
        os.environ[_VARIABLE] = "1"
        borrowed.append(_VARIABLE)
    try:
        debugpy = _load(package)
        debugpy.configure(subProcess=follow)
        debugpy.connect((host, port), access_token=token)
    finally:
        if not follow:
            give_back()
    return ""


def give_back() -> None:
    """Take out of the environment what was put there."""
    while borrowed:
        os.environ.pop(borrowed.pop(), None)


def _debugged() -> bool:
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd.get_global_debugger() if pydevd is not None else None
    return debugger is not None and not debugger.pydb_disposed


def _load(package: str) -> Any:
    parent = os.path.dirname(package)
    if "threading" not in sys.modules:
        _mend_threading(os.path.join(package, "_vendored", "pydevd", "pydevd_attach_to_process"))
    sys.path.insert(0, parent)
    try:
        import debugpy
        import debugpy.server

        return debugpy
    finally:
        sys.path.remove(parent)


def _mend_threading(directory: str) -> None:
    # Whoever imports threading first is taken for the main thread (bpo-37416); debugpy's cure
    # for it would speak of it on the program's stderr.
    sys.path.insert(0, directory)
    try:
        import attach_script  # type: ignore[import-not-found]

        attach_script.fix_main_thread_id()
        del sys.modules["attach_script"]
    finally:
        sys.path.remove(directory)


def _tell(host: str, port: int, words: str) -> None:
    import socket

    with socket.create_connection((host, port), timeout=2) as line:
        line.sendall(words.encode("utf-8", "replace"))
