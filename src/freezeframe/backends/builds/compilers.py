"""Find compilers on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from freezeframe.errors import BuildFailed


def find(names: Sequence[str], env: Mapping[str, str], *, beside: Sequence[str] = ()) -> str | None:
    """Return the first of several programs that is on the caller's PATH, or in a folder of
    *beside*.

    Folders may begin with `~`; one that begins with `$` is looked up in the environment.
    """
    folders = [_expanded(folder, env) for folder in beside]
    search_path = os.pathsep.join([env.get("PATH", os.defpath), *filter(None, folders)])
    return next(filter(None, (shutil.which(name, path=search_path) for name in names)), None)


def need(
    names: Sequence[str],
    env: Mapping[str, str],
    *,
    what: str,
    install: str,
    beside: Sequence[str] = (),
) -> str:
    """Return a compiler. Raises BuildFailed with a command that installs one."""
    found = find(names, env, beside=beside)
    if found is None:
        missing = " or ".join(names)
        raise BuildFailed(f"{what} must be built, and there is no {missing} on PATH.", next=install)
    return found


def _expanded(folder: str, env: Mapping[str, str]) -> str | None:
    if folder.startswith("~"):
        home = env.get("HOME")
        return home + folder[1:] if home else None
    if folder.startswith("$"):
        variable, slash, rest = folder[1:].partition("/")
        base = env.get(variable)
        return base + slash + rest if base else None
    return folder
