"""`launch` and `attach` of an editor as operations."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from freezeframe.errors import UsageError
from freezeframe.ops._launch_configurations import ConfiguredAttach, resolve

from .connection import Body


def start_arguments(arguments: Mapping[str, Any], cwd: str) -> tuple[str, Body]:
    """Return the operation that a `launch` or `attach` to a process is, and its arguments.

    The fields are those of a launch configuration. Raises FreezeframeError.
    """
    starts = resolve(str(arguments.get("name", "launch")), arguments, cwd).starts
    name = arguments.get("session")
    common = {"name": name} if isinstance(name, str) and name else {}
    if isinstance(starts, ConfiguredAttach):
        found: Body = {"where": starts.where, "map": list(starts.map), **common}
        return "attach", {**found, "program": starts.program} if starts.program else found
    given = {
        "program": starts.program,
        "args": list(starts.args),
        "module": starts.module,
        "stop_on_entry": starts.stop_on_entry,
        "cwd": starts.cwd,
        "env": list(starts.env),
        "interpreter": starts.interpreter,
        "classpath": starts.classpath,
        "child": starts.child,
        "just_my_code": starts.just_my_code,
        # Its output is shown by the editor, which gives it no terminal.
        "wait": False,
    }
    return "start", {k: v for k, v in given.items() if v is not None} | common


def directory(arguments: Mapping[str, Any], default: str) -> str:
    """Return the directory of the workspace that the arguments name. Raises UsageError."""
    named = arguments.get("workspace") or arguments.get("cwd") or default
    if not isinstance(named, str) or not os.path.isdir(named):
        raise UsageError(f"there is no directory {named!r}.")
    return os.path.abspath(named)


def names_session(command: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether an `attach` joins a session rather than a process."""
    processes = ("processId", "process_id", "pid", "port", "connect", "tcp_connection")
    return command == "attach" and not any(arguments.get(each) for each in processes)
