"""C, C++, Rust through CodeLLDB, the debug adapter of the editor extension of that name.

Measured with 1.11.8. It brings an LLDB of its own, which must be named to it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends import lldb
from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    Core,
    Feature,
    RawFrame,
    RawValue,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.native import binary_kind, check_program, plain_function
from freezeframe.config import AdapterConfig
from freezeframe.errors import Unsupported

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
    return Found(path, _version(here), command)


def _version(here: str) -> str | None:
    """Return what the extension says of itself; the adapter has no option for it."""
    for name in ("package.json", "version.json"):
        try:
            with open(os.path.join(here, "..", name), encoding="utf-8") as file:
                return str(json.load(file)["version"])
        except (OSError, ValueError, KeyError):
            continue
    return None


def _plan(target: Target, around: Surroundings) -> Plan:
    spawn = Spawn(around.found.command, target.cwd, target.env)
    common: dict[str, Any] = {
        "initCommands": [
            *_lldb.first_commands(target),
            "settings set target.disable-aslr false",
        ],
        # Expressions as the language has them, not CodeLLDB's own.
        "expressions": "native",
        # Pointers as addresses, as LLDB itself shows them.
        "_adapterSettings": {"consoleMode": "commands", "dereferencePointers": False},
    }
    if isinstance(target, Core):
        create = f'target create "{target.program}" --core "{target.core}"'
        custom = {"targetCreateCommands": [create], "processCreateCommands": []}
        common["terminal"] = "console"
        return Plan(Stdio(), "launch", {**common, **custom}, spawn)
    common["preRunCommands"] = [*_lldb.SIGNALS]
    if isinstance(target, Attach):
        if target.host is not None:
            # It takes the process for running, and leaves it standing.
            raise Unsupported(
                "codelldb joins no debug servers, only processes.",
                next="dbg adapters",
            )
        where: dict[str, Any] = {"pid": target.pid}
        if target.program is not None and binary_kind(target.program):
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
        # Its own `stdio` counts only where it opens a terminal.
        arguments["preRunCommands"] += _lldb.streams(around.stdio)
    return Plan(Stdio(), "launch", arguments, spawn)


def _check_bound(wanted: WantedBreakpoint, bound: BoundBreakpoint) -> BoundBreakpoint:
    """Its message counts the places that are in memory, and says no more than `verified`."""
    counted = re.fullmatch(r"Resolved locations: \d+", bound.message or "")
    return replace(bound, message=None) if counted is not None else bound


def _once_a_pass(target: Target, wanted: Mapping[int, Sequence[WantedBreakpoint]]) -> str | None:
    # Those with a condition have a hook of its own.
    numbers = [
        -number if any(each.condition for each in all) else number for number, all in wanted.items()
    ]
    return lldb.once_a_pass(target, numbers)


def _enrich(value: RawValue, variable: Mapping[str, Any]) -> RawValue:
    """Its complaints about a value stand in angle brackets, as other texts may."""
    if value.text == "<not available>":
        # There is nothing in it: of what is optimized out it says `<variable not available>`.
        value = replace(value, text=value.type or "{}")
    elif re.match(f"<(.*({_lldb.OPTIMIZED_OUT.pattern})|read memory from )", value.text):
        value = replace(value, text="error: " + value.text.strip("<>"))
    return _lldb.enrich(value, variable)


def _log_text(text: str) -> str:
    words = re.sub(
        r"\{Error: (.*?)\n\}", lambda m: f"<{_lldb.brief_error(m[1])}>", text, flags=re.DOTALL
    )
    return _lldb.log_text(words)


def _hides(variable: Mapping[str, Any]) -> bool:
    return variable.get("name") in ("[raw]", "") or _lldb.hides(variable)


def _read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    frame = _lldb.read_frame(frame, body)
    if frame.path is None:
        # Its "source" is a listing of the instructions.
        frame = replace(frame, line=None, column=None, source_reference=0)
        if re.fullmatch("[0-9A-F]+", frame.module or ""):
            frame = replace(frame, module=None)
    return replace(frame, function=plain_function(frame.function))


def _again(expression: str, error: str) -> str | None:
    """Its other evaluator knows the elements of containers, whose functions are not compiled in."""
    return f"/se {expression}" if "look up symbols" in error else None


def _thread_name(name: str) -> str:
    """It says `3: tid=8173 "worker"`."""
    match = re.fullmatch(r'\d+: tid=\d+(?: "(.*)")?', name)
    return (match[1] or "") if match is not None else name


def _watch_condition(id: int, condition: str) -> str:
    """It takes a condition and forgets it. Its own ids of watchpoints begin at a million."""
    quoted = condition.replace("\\", "\\\\").replace('"', '\\"')
    return f'watchpoint modify --condition "{quoted}" {id % 1_000_000}'


def _read_pid(text: str) -> int | None:
    match = re.match(r"(?:Launched|Attached to) process (\d+)", text)
    return int(match[1]) if match is not None else None


ADAPTER = Adapter(
    name="codelldb",
    adapter_id="lldb",
    languages=("C", "C++", "Rust"),
    patterns=(),
    shebangs=(),
    install=("codelldb comes with the extension vadimcn.vscode-lldb: dbg config adapters",),
    find=_find,
    plan=_plan,
    binaries=("elf", "mach-o"),
    rank=40,
    remark=lldb.remark,
    extra_features=_lldb.FEATURES,
    lacks=frozenset({Feature.RESTART}),
    hints={Feature.STEP_BACK: "dbg restart"},
    start=replace(_lldb.START, read_pid=_read_pid),
    end=_lldb.END,
    stops=_lldb.STOPS,
    breakpoints=replace(_lldb.BREAKPOINTS, check_bound=_check_bound, once_a_pass=_once_a_pass),
    # Its own filters are breakpoints whose ids it keeps to itself.
    exceptions=replace(
        _lldb.EXCEPTIONS,
        names={},
        functions={
            **_lldb.EXCEPTIONS.functions,
            "throw": FunctionFilter("__cxa_throw"),
            "catch": FunctionFilter("__cxa_begin_catch"),
        },
    ),
    frames=replace(_lldb.FRAMES, read=_read_frame, thread_name=_thread_name),
    values=replace(
        _lldb.VALUES, hides=_hides, enrich=_enrich, returned_prefixes=("[return value]",)
    ),
    expressions=replace(_lldb.EXPRESSIONS, again=_again),
    # In `repl` a command answers on the console, after its answer.
    raw=replace(_lldb.RAW, context="_command", watch_condition=_watch_condition),
    output=replace(
        _lldb.OUTPUT,
        # The program's own streams go another way; on those of DAP it speaks itself.
        ignored=frozenset({"telemetry", "stdout", "stderr"}),
        # What any command prints comes here too, in pieces.
        chatter=lambda text: True,
        log_text=_log_text,
    ),
    children=_lldb.CHILDREN,
)
