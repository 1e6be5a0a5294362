"""Find an `lldb`: the configured one, the newest on PATH or of LLVM's packages, or Xcode's."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace

from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.transport import xcrun
from freezeframe.backends.transport.version_query import version
from freezeframe.config import AdapterConfig

_NAMES = ("lldb", *(f"lldb-{n}" for n in range(30, 12, -1)))


def find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    path = env.get("PATH", os.defpath)
    if config.path is not None:
        found = shutil.which(os.path.expanduser(config.path), path=path)
        return _found(found) if found else Missing(f"there is no program {config.path}")
    for name in _NAMES:
        if (found := shutil.which(name, path=path)) is not None:
            return _found(found)
    for found in sorted(glob.glob("/usr/lib/llvm-*/bin/lldb"), reverse=True):
        return _found(found)
    if xcrun.tool("lldb", env) is not None:
        return find_in_xcode(env, config)
    return Missing("there is no lldb on PATH")


def find_in_xcode(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    if config.path is not None:
        return find(env, config)
    runner, found = xcrun.program(env), xcrun.tool("lldb", env)
    if runner is None or found is None:
        return Missing("Xcode has no lldb here")
    # Through xcrun, which sets up the environment that Xcode's lldb needs.
    return replace(_found(found), command=(runner, "lldb"))


def _found(path: str) -> Found:
    return Found(path, version((path, "--version"), r"(?:version |lldb-)(\d[\w.]*)"), (path,))
