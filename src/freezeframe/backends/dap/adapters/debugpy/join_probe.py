"""Brings debugpy into a program that runs already; the text of this file is executed there.

`inject_probe.py` sends it, inside an expression that leaves no name behind in the
program's own module. Same rules as `main_probe.py`: Python 3.8 on, nothing of this package, no
harm. It becomes the module `_freezeframe_join`, which goes away when the debugger leaves.
"""

from __future__ import annotations

import os
import sys
from typing import Any

#: read by pydevd when it is imported; children that it follows read it too
_VARIABLE = "PYDEVD_DISABLE_FILE_VALIDATION"
#: how long the program waits to be heard, and how many bytes it says at most
_TELL_S = 5.0
_LONGEST = 4000
#: environment variables that were not the program's
borrowed: list[str] = []


def join(
    boot: str,
    package: str,
    cache: str,
    host: str,
    port: int,
    token: str,
    follow: bool,
    verdict: int,
) -> None:
    """Connect this process to the debugger at *host*:*port*; tell port *verdict* what came of it.

    *boot* is the path of `boot_probe.py`. Raises nothing: an exception here would be
    printed by the program.
    """
    try:
        words = _join(boot, package, cache, host, port, token, follow)
    except BaseException as error:
        words = f"{type(error).__name__}: {error}"
    try:
        _tell(host, verdict, _secret(token) + words)
    except Exception:
        pass


def _join(
    boot: str, package: str, cache: str, host: str, port: int, token: str, follow: bool
) -> str:
    if _debugged():
        return "debugged"
    if "threading" not in sys.modules:
        _mend_threading(os.path.join(package, "_vendored", "pydevd", "pydevd_attach_to_process"))
    before = set(os.environ)
    # Without it pydevd warns of frozen modules on the program's own stderr.
    os.environ.setdefault(_VARIABLE, "1")
    try:
        names: dict[str, Any] = {"__name__": "freezeframe_boot", "__file__": boot}
        with open(boot, "rb") as file:
            exec(compile(file.read(), boot, "exec"), names)
        debugpy = names["prepare_running"](package, cache)
        debugpy.configure(subProcess=follow)
        _, _, path = token.partition("@")
        # Its children are told the file: their command lines are public. A container has none.
        named = "@" + path if os.access(path, os.R_OK) else _secret(token)
        debugpy.connect((host, port), access_token=named)
    finally:
        # debugpy adds variables of its own.
        borrowed.extend(set(os.environ) - before)
        if not follow:
            give_back()
    return ""


def _secret(token: str) -> str:
    """Return what proves who we are: it stands before the name of its file, or in the file."""
    secret, _, path = token.partition("@")
    if secret:
        return secret
    with open(path, encoding="ascii") as file:
        return file.read()


def give_back() -> None:
    """Take out of the environment what was put there."""
    while borrowed:
        os.environ.pop(borrowed.pop(), None)


def _debugged() -> bool:
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd.get_global_debugger() if pydevd is not None else None
    return debugger is not None and not debugger.pydb_disposed


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
    # The bare one: a `pause` that comes now must not show the program inside socket.py.
    import _socket

    line = _socket.socket()
    line.settimeout(_TELL_S)
    try:
        line.connect((host, port))
        line.send(words.encode("utf-8", "replace")[:_LONGEST])
    finally:
        line.close()
