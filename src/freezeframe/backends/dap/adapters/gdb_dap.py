"""C, C++, Rust, Fortran, Ada through GDB's own DAP, which came with GDB 14.

Written from transcripts of 16.3 and 18.1.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.backends.backend import Attach, Core, Feature, Target
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.native import (
    binary_kind,
    check_program,
    explain_failure,
    is_rust,
    panic_info,
    plain_function,
    read_last_words,
    rust_main,
)
from freezeframe.backends.transport.ask import answer
from freezeframe.config import AdapterConfig
from freezeframe.model.stops import ExceptionFilter, StopReason

from . import _lldb
from ._descriptor import (
    Adapter,
    Breakpoints,
    End,
    Exceptions,
    Expressions,
    Frames,
    FunctionFilter,
    Output,
    Plan,
    Raw,
    Spawn,
    Start,
    Stdio,
    Stops,
    Surroundings,
)

_FIRST_WITH_DAP = 14


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    wanted = os.path.expanduser(config.path) if config.path is not None else "gdb"
    path = shutil.which(wanted, path=env.get("PATH", os.defpath))
    if path is None:
        return Missing(f"there is no {wanted}" if config.path else "there is no gdb on PATH")
    version = _version(path, os.stat(path).st_mtime_ns)
    major = int(version.split(".")[0]) if version else 0
    if major < _FIRST_WITH_DAP:
        return Missing(f"gdb {version or '?'} does not speak DAP; {_FIRST_WITH_DAP}.1 and later do")
    return Found(path, version, (path, *config.args))


@functools.cache
def _version(path: str, stamp: int) -> str | None:
    first = (answer([path, "--version"]) or "").partition("\n")[0]
    match = re.search(r"(\d+\.\d+(?:\.\d+)?)\s*$", first) or re.search(r"(\d+\.\d+)", first)
    return match[1] if match else None


def _plan(target: Target, around: Surroundings) -> Plan:
    # Its words may hold colours; ASLR is left as it is, for containers forbid changing it.
    first = ["set style enabled off", "set disable-randomization off", "set confirm off"]
    if around.stdio is not None:
        streams = [shlex.quote(path) for path in around.stdio]
        redirected = f'exec "$0" "$@" <{streams[0]} >{streams[1]} 2>{streams[2]}'
        first.append(f"set exec-wrapper /bin/sh -c {shlex.quote(redirected)}")
    options = [word for command in first for word in ("-iex", command)]
    argv = (*around.found.command, "-q", "-nx", *options, "-i=dap")
    spawn = Spawn(argv, target.cwd, target.env)
    if isinstance(target, Core):
        arguments: dict[str, Any] = {"program": target.program, "coreFile": target.core}
        return Plan(Stdio(), "attach", arguments, spawn)
    if isinstance(target, Attach):
        where: dict[str, Any] = {"pid": target.pid}
        if target.host is not None:
            where = {"target": f"{target.host}:{target.port}"}
        if target.program is not None and binary_kind(target.program):
            where["program"] = target.program
        return Plan(Stdio(), "attach", {**where, **target.options}, spawn)
    check_program(target)
    arguments = {
        "program": target.program,
        "args": list(target.args),
        "cwd": target.cwd,
        "env": dict(target.env),
        **target.options,
    }
    return Plan(Stdio(), "launch", arguments, spawn)


def _read_stop(body: Mapping[str, Any]) -> tuple[StopReason, str | None] | None:
    """GDB calls a signal `signal` or by its name, and a pause SIGINT."""
    words = f"{body.get('description') or ''} {body.get('text') or ''} {body.get('reason') or ''}"
    match = re.search(r"\bSIG[A-Z0-9]+\b", words)
    if body.get("reason") == "pause" or match is None:
        return None
    return StopReason.SIGNAL, match[0]


def _filters(offered: Sequence[ExceptionFilter], target: Target) -> tuple[ExceptionFilter, ...]:
    kept = [f for f in offered if f.name in ("throw", "catch", "rethrow")]
    rust = target.program is not None and is_rust(target.program)
    return (*kept, ExceptionFilter("panic", "Rust panics", default=rust))


def _exit_signal(code: int, last_signal: str | None) -> str | None:
    """GDB says 0 of a program that a signal has ended: the one that it stopped for last."""
    if last_signal is None or code != 0:
        return None
    fatal = {"SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP", "SIGINT"}
    return last_signal if last_signal in fatal else None


ADAPTER = Adapter(
    name="gdb-dap",
    adapter_id="gdb",
    languages=("C", "C++", "Rust", "Fortran", "Ada"),
    patterns=(),
    binaries=("elf",),
    rank=20,
    shebangs=(),
    install=("apt-get install gdb",),
    find=_find,
    plan=_plan,
    extra_features=frozenset({Feature.REGISTERS, Feature.SET}),
    tested=False,
    start=Start(
        explain_failure=explain_failure,
        stdio_fifos=True,
        entry_function=lambda target: rust_main(target.program),
    ),
    end=End(
        signal=_exit_signal,
    ),
    stops=Stops(
        read=_read_stop,
    ),
    breakpoints=Breakpoints(
        function_alias=_lldb.function_alias,
        one_a_place=True,
        counts_hits=False,
        wire=_lldb.wire_breakpoints,
    ),
    exceptions=Exceptions(
        offered=_filters,
        functions={"panic": FunctionFilter("rust_panic", panic_info)},
        read_last_words=read_last_words,
    ),
    frames=Frames(
        sourceless_is_library=True,
        is_library=_lldb.is_library,
        function_name=plain_function,
    ),
    expressions=Expressions(
        statement_context="watch",
        assignment=lambda target, value: f"{target} = {value}",
    ),
    raw=Raw(
        context="repl",
        save_core=lambda path: f"gcore {path}",
    ),
    output=Output(
        # What the program prints goes another way: on its standard output GDB speaks itself.
        ignored=frozenset({"telemetry", "stdout"}),
        log_marks=_lldb.LOG_MARKS,
    ),
)
