"""Find PHP and its Xdebug, and the environment that Xdebug runs in."""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Mapping

from freezeframe.backends.backend import Launch
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.transport.version_query import answer
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerMissing

_OLDEST = 3


def php_command(target: Launch, config: AdapterConfig, command: tuple[str, ...]) -> tuple[str, ...]:
    named = target.interpreter or config.interpreter
    if named is None:
        return command
    found = shutil.which(os.path.expanduser(named), path=target.env.get("PATH", os.defpath))
    if found is None:
        raise DebuggerMissing(
            f"there is no interpreter {named}.", next="dbg start PROGRAM --interpreter PATH"
        )
    return (found, *command[1:])


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment without what would override our settings."""
    kept = {key: value for key, value in env.items() if key != "XDEBUG_CONFIG"}
    if "XDEBUG_MODE" in kept:
        kept["XDEBUG_MODE"] = "debug"
    return kept


def find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    named = config.interpreter or config.path or "php"
    path = shutil.which(os.path.expanduser(named), path=env.get("PATH", os.defpath))
    if path is None:
        return Missing(f"there is no {named}")
    try:
        version, options = _version(path, os.stat(path).st_mtime_ns)
    except LookupError:
        return Missing(f"{path} has no Xdebug")
    if int(version.partition(".")[0]) < _OLDEST:
        return Missing(f"{path} has Xdebug {version}, and {_OLDEST} is needed")
    return Found(path, version, (path, *options))


@functools.cache
def _version(path: str, stamp: int) -> tuple[str, tuple[str, ...]]:
    """Return the version of a PHP's Xdebug, and the options that load it. Raises LookupError.

    Only a version that was found is cached.
    """
    for options in ((), ("-d", "zend_extension=xdebug")):
        output = answer([path, *options, "-d", "log_errors=0", "-r", "echo phpversion('xdebug');"])
        found = re.search(r"(\d+\.\d+[\w.]*)\s*\Z", output or "")
        if found:
            return found[1], options
    raise LookupError(path)
