"""C, C++, Rust through CodeLLDB, the debug adapter of the editor extension of that name.

Measured with 1.11.8. It brings an LLDB of its own, which must be named to it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    Core,
    Feature,
    RawFrame,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.native import (
    binary_kind,
    check_program,
    explain_failure,
    panic_info,
    plain_function,
)
from freezeframe.config import AdapterConfig

from . import _lldb
from ._descriptor import Adapter, FunctionFilter, Plan, Spawn, Stdio, Surroundings

#: where its LLDB lies beside it, in the extension and in what others make of it
_LIBRARIES = (
    "../lldb/lib/liblldb.so",
    "../lldb/lib/liblldb.dylib",
    "../lldb/bin/liblldb.dll",
    "../extension/lldb/lib/liblldb.so",
)


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    wanted = os.path.expanduser(config.path) if config.path is not None else "codelldb"
    path = shutil.which(wanted, path=env.get("PATH", os.defpath))
    if path is None:
        return Missing(f"there is no {wanted}" if config.path else "there is no codelldb on PATH")
    here = os.path.dirname(os.path.realpath(path))
    command = (path, *config.args)
    if not any(word.startswith("--liblldb") for word in config.args):
        beside = (os.path.normpath(os.path.join(here, each)) for each in _LIBRARIES)
        library = next((each for each in beside if os.path.exists(each)), None)
        if library is None:
            return Missing(f"{path} has no liblldb beside it; name it in its args (--liblldb PATH)")
        command = (path, "--liblldb", library, *config.args)
    return Found(path, None, command)


def _plan(target: Target, around: Surroundings) -> Plan:
    spawn = Spawn(around.found.command, target.cwd, target.env)
    common: dict[str, Any] = {
        "initCommands": [
            *_lldb.first_commands(target),
            "settings set target.disable-aslr false",
        ],
        # Expressions as the language has them, not CodeLLDB's own.
        "expressions": "native",
        "_adapterSettings": {"consoleMode": "commands", "evaluateForHovers": True},
    }
    if isinstance(target, Core):
        create = f'target create "{target.program}" --core "{target.core}"'
        custom = {"targetCreateCommands": [create], "processCreateCommands": []}
        return Plan(Stdio(), "launch", {**common, **custom}, spawn)
    common["preRunCommands"] = [*_lldb.SIGNALS]
    if isinstance(target, Attach):
        where: dict[str, Any] = {"pid": target.pid}
        if target.host is not None:
            remote = f"gdb-remote {target.host}:{target.port}"
            where = {"processCreateCommands": [remote], "targetCreateCommands": []}
        elif target.program is not None and binary_kind(target.program):
            where["program"] = target.program
        return Plan(Stdio(), "attach", {**common, **where, **target.options}, spawn)
    check_program(target)
    arguments: dict[str, Any] = {
        **common,
        "program": target.program,
        "args": list(target.args),
        "cwd": target.cwd,
        "env": dict(target.env),
        "terminal": "console",
        **target.options,
    }
    if around.stdio is not None:
        arguments["stdio"] = list(around.stdio)
    return Plan(Stdio(), "launch", arguments, spawn)


_CHATTER = re.compile(
    r"Console is in '|Launching: |Launched process|Process exited with code|Executing |Attached to"
    r"|Loading Rust formatters|Stop reason|Detached|Resolved|\(lldb\) |=+  =+|NAME +PASS"
    r"|SIG\w+ +(true|false) |\s*Watchpoint \d+ hit|(old|new)? ?value: |\s*$"
    r"|error: \S+ 0x[0-9a-f]+: DW_TAG"
)


def _check_bound(wanted: WantedBreakpoint, bound: BoundBreakpoint) -> BoundBreakpoint:
    """Its message tells in how many places a breakpoint is; none is a breakpoint that waits."""
    places = re.fullmatch(r"Resolved locations: (\d+)", bound.message or "")
    if places is None:
        return bound
    return replace(bound, verified=bound.verified and places[1] != "0", message=None)


def _hides(variable: Mapping[str, Any]) -> bool:
    return variable.get("name") == "[raw]" or _lldb.hides(variable)


def _read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    frame = _lldb.read_frame(frame, body)
    return replace(frame, function=plain_function(frame.function))


ADAPTER = Adapter(
    name="codelldb",
    adapter_id="lldb",
    languages=("C", "C++", "Rust"),
    patterns=(),
    binaries=("elf", "mach-o"),
    rank=40,
    shebangs=(),
    install=("codelldb comes with the extension vadimcn.vscode-lldb: dbg config adapters",),
    find=_find,
    plan=_plan,
    explain_failure=explain_failure,
    stdio_fifos=True,
    entry_function=_lldb.entry_function,
    entry_address=_lldb.entry_address,
    function_alias=_lldb.function_alias,
    one_a_place=True,
    filter_commands=_lldb.filter_commands,
    read_stop=_lldb.read_stop,
    read_frame=_read_frame,
    guesses_depth=True,
    stops_together=True,
    counts_hits=False,
    chatter=lambda text: _CHATTER.match(text) is not None,
    log_marks=_lldb.LOG_MARKS,
    log_text=_lldb.log_text,
    wire_breakpoints=_lldb.wire_breakpoints,
    watch_by_address=True,
    value_at=_lldb.value_at,
    watches_after=True,
    sourceless_is_library=True,
    statement_context="watch",
    # In `repl` a command answers on the console, after its answer.
    raw_context="_command",
    raw_failure=_lldb.raw_failure,
    extra_features=frozenset({Feature.REGISTERS, Feature.SET}),
    lacks=frozenset({Feature.RESTART}),
    offered_filters=_lldb.offered_filters,
    filter_names={"throw": "cpp_throw", "catch": "cpp_catch"},
    function_filters={"panic": FunctionFilter("rust_panic", panic_info)},
    read_last_words=_lldb.read_last_words,
    enrich=_lldb.enrich,
    hides=_hides,
    check_bound=_check_bound,
    # The program's own streams go another way; on those of DAP it speaks itself.
    ignored_output=frozenset({"telemetry", "stdout", "stderr"}),
    returned_prefixes=("[return value]",),
    is_library=_lldb.is_library,
    brief_error=_lldb.brief_error,
    assignment=lambda target, value: f"{target} = {value}",
    exit_signal=_lldb.exit_signal,
    exit_question=_lldb.exit_question,
    read_exit=_lldb.read_exit,
    tested=False,
)
