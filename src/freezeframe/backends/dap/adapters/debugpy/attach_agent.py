"""Loads debugpy into a running program; the text of this file is executed there.

`inject_agent.py` sends it, inside an expression that leaves no name behind in the program's main
module. Same rules as `agent.py`: Python 3.8 on, nothing of this package, no harm. It becomes the
module `_freezeframe_join`, which is removed when the debugger detaches.
"""

from __future__ import annotations

import os
import sys
from typing import Any

#: read by pydevd when it is imported; children that it follows read it too
_VARIABLE = "PYDEVD_DISABLE_FILE_VALIDATION"
#: how long the program waits for its report to be read, and the report's maximum size in bytes
_REPORT_S = 5.0
_LONGEST = 4000
#: environment variables that are not the program's
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
    """Connect this process to the debugger at *host*:*port*; report the result to port *verdict*.

    *boot* is the path of `bootstrap_agent.py`. Raises nothing: the program would print an exception
    raised here.
    """
    try:
        message = _attach(boot, package, cache, host, port, token, follow)
    except BaseException as error:
        message = f"{type(error).__name__}: {error}"
    try:
        _report(host, verdict, _secret(token) + message)
    except Exception:
        pass


def _attach(
    boot: str, package: str, cache: str, host: str, port: int, token: str, follow: bool
) -> str:
    if _debugged():
        return "debugged"
    if "threading" not in sys.modules:
        _patch_threading(os.path.join(package, "_vendored", "pydevd", "pydevd_attach_to_process"))
    before = set(os.environ)
    # Without it pydevd warns about frozen modules on the program's own stderr.
    os.environ.setdefault(_VARIABLE, "1")
    try:
        names: dict[str, Any] = {"__name__": "freezeframe_boot", "__file__": boot}
        with open(boot, "rb") as file:
            exec(compile(file.read(), boot, "exec"), names)
        debugpy = names["prepare_running"](package, cache)
        debugpy.configure(subProcess=follow)
        _, _, path = token.partition("@")
        # Its children get the file's name: their command lines are public. A container has no such
        # file.
        named = "@" + path if os.access(path, os.R_OK) else _secret(token)
        debugpy.connect((host, port), access_token=named)
    finally:
        # debugpy sets more variables.
        borrowed.extend(set(os.environ) - before)
        if not follow:
            give_back()
    return ""


def _secret(token: str) -> str:
    """Return the secret: it precedes the name of its file, or is in the file."""
    secret, _, path = token.partition("@")
    if secret:
        return secret
    with open(path, encoding="ascii") as file:
        return file.read()


def give_back() -> None:
    """Restore the environment."""
    while borrowed:
        os.environ.pop(borrowed.pop(), None)


def _debugged() -> bool:
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd.get_global_debugger() if pydevd is not None else None
    return debugger is not None and not debugger.pydb_disposed


def _patch_threading(directory: str) -> None:
    # The first thread that imports threading is taken for the main thread (bpo-37416); debugpy's
    # workaround would write about it to the program's stderr.
    sys.path.insert(0, directory)
    try:
        import attach_script  # type: ignore[import-not-found]

        attach_script.fix_main_thread_id()
        del sys.modules["attach_script"]
    finally:
        sys.path.remove(directory)


def _report(host: str, port: int, message: str) -> None:
    # The C module: a `pause` at this time must not show the program inside socket.py.
    import _socket

    line = _socket.socket()
    line.settimeout(_REPORT_S)
    try:
        line.connect((host, port))
        line.send(message.encode("utf-8", "replace")[:_LONGEST])
    finally:
        line.close()
