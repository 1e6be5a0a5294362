"""C, C++, Rust and other languages that LLDB supports, through lldb-dap.

Measured with lldb-dap 22.1.8 on Debian 12; lldb-dap 18 and later behave alike. Earlier versions are
named `lldb-vscode`.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freezeframe.backends import lldb
from freezeframe.backends.backend import Attach, Core, Feature, Target
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.native import binary_kind, check_program
from freezeframe.backends.transport import xcrun
from freezeframe.backends.transport.version_query import kept_answer
from freezeframe.config import AdapterConfig

from . import _lldb
from ._descriptor import Adapter, LaunchEnvironment, Plan, Spawn, Stdio
from ._lldb_backend import LldbBackend

_NAMES = (
    "lldb-dap",
    *(f"lldb-dap-{n}" for n in range(30, 17, -1)),
    "lldb-vscode",
    "lldb-vscode-14",
)


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    path = env.get("PATH", os.defpath)
    if config.path is not None:
        found = shutil.which(os.path.expanduser(config.path), path=path)
        if found is None:
            return Missing(f"there is no program {config.path}")
        return _checked(found, config)
    for name in _NAMES:
        found = shutil.which(name, path=path)
        if found is not None:
            return _checked(found, config)
    for found in sorted(glob.glob("/usr/lib/llvm-*/bin/lldb-dap"), reverse=True):
        return _checked(found, config)
    if (found := xcrun.tool("lldb-dap", env)) is not None:
        return _checked(found, config)
    return Missing("there is no lldb-dap on PATH")


def _find_in_xcode(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    if config.path is not None:
        return _find(env, config)
    found = xcrun.tool("lldb-dap", env)
    return _checked(found, config) if found else Missing("Xcode 16 is the first that has lldb-dap")


def _checked(path: str, config: AdapterConfig) -> Found:
    return Found(path, _version(path), (path, *config.args))


def _version(path: str) -> str | None:
    match = re.search(r"version (\d[\w.]*)", kept_answer((path, "--version")) or "")
    # 19 and earlier do not report a version; the folder they are installed in does.
    match = match or re.search(r"(?:llvm|lldb-dap|lldb-vscode)-(\d+)", os.path.realpath(path))
    return match[1] if match else None


# --- startup --------------------------------------------------------------------------------


def _plan(target: Target, around: LaunchEnvironment) -> Plan:
    env = lldb.surroundings(target.env, around.found.path)
    spawn = Spawn(around.found.command, target.cwd, env)
    common: dict[str, Any] = {
        "initCommands": _lldb.first_commands(target),
        "customFrameFormat": _lldb.FRAME_FORMAT,
        # Show the contents of arrays and structs in the message of a logpoint.
        "enableAutoVariableSummaries": True,
        "timeout": 30,
    }
    if isinstance(target, Core):
        return Plan(
            Stdio(),
            "attach",
            {**common, "program": target.program, "coreFile": target.core},
            spawn,
        )
    common["preRunCommands"] = [*_lldb.SIGNALS]
    if isinstance(target, Attach):
        where: dict[str, Any] = {"pid": target.pid, "stopOnEntry": target.stay_stopped}
        if target.host is not None:
            where = {"gdb-remote-hostname": target.host, "gdb-remote-port": target.port}
        if target.program is not None and binary_kind(target.program):
            where["program"] = target.program
        return Plan(Stdio(), "attach", {**common, **where, **target.options}, spawn)
    check_program(target)
    arguments: dict[str, Any] = {
        **common,
        "program": target.program,
        "args": list(target.args),
        "cwd": target.cwd,
        "env": [f"{key}={value}" for key, value in target.env.items()],
        # Containers forbid personality(); a program is debugged as it runs otherwise.
        "disableASLR": False,
        "stopOnEntry": False,
        **target.options,
    }
    if around.stdio is not None:
        # Not lldb-dap's `stdio` option, which came with 22.
        arguments["preRunCommands"] += _lldb.streams(around.stdio)
    return Plan(Stdio(), "launch", arguments, spawn)


# --- output ---------------------------------------------------------------------------------

_CHATTER = re.compile(
    r"To get started with the debug console|For more information visit|Executable binary set to"
    r"|Attached to process|Process \d+ (launched|exited|stopped|resuming)|Core file|Running "
    r"|\(lldb\) |Reading binary from memory|warning: This version of LLDB has no plugin"
    r"|NAME +PASS +STOP|=+  =+|SIG\w+ +(true|false) |Watchpoint \d+ hit:|(old|new)? ?value: |\s*$"
    # What a sanitizer found is reported as the stop's exception.
    r"|\w+Sanitizer report breakpoint hit|warning: cannot evaluate \w+Sanitizer expression"
    r"|error: Expression execution was interrupted|The process has been returned to the state"
    # Debug information that LLDB could not read is of no interest to the user.
    r"|error: \S+ 0x[0-9a-f]+: DW_TAG|error: \S+ \[0x[0-9a-f]+\]|Please file a bug"
)


ADAPTER = Adapter(
    name="lldb-dap",
    adapter_id="lldb-dap",
    languages=("C", "C++", "Rust", "Swift", "Objective-C"),
    patterns=(),
    shebangs=(),
    install=("apt-get install lldb-22", "brew install llvm"),
    find=_find,
    find_in_xcode=_find_in_xcode,
    holds=True,
    plan=_plan,
    binaries=("elf", "mach-o", "swift"),
    servers=("gdbserver", "lldb-server", "debugserver"),
    rank=10,
    remark=lldb.remark,
    extra_features=_lldb.FEATURES,
    lacks=frozenset({Feature.RESTART}),
    backend=LldbBackend,
    start=_lldb.START,
    end=_lldb.END,
    stops=_lldb.STOPS,
    breakpoints=_lldb.BREAKPOINTS,
    exceptions=_lldb.EXCEPTIONS,
    frames=_lldb.FRAMES,
    values=_lldb.VALUES,
    expressions=_lldb.EXPRESSIONS,
    raw=replace(_lldb.RAW, prefix="`"),
    output=replace(_lldb.OUTPUT, is_noise=lambda text: _CHATTER.match(text) is not None),
    children=_lldb.CHILDREN,
)
