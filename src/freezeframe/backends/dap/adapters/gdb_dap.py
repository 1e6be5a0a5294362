"""C, C++, Rust, Fortran, Ada through GDB's own DAP, which came with GDB 14.

Measured with 16.3. What its server does not tell or cannot do, `gdb_dap_probe.py` adds inside GDB;
`gdb_dap_values_probe.py` shows values there as GDB itself does.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from freezeframe.backends import gdb, native_tests, panics
from freezeframe.backends.backend import (
    Attach,
    Core,
    Feature,
    RawFrame,
    RawValue,
    Target,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.gdb.texts import tidy
from freezeframe.backends.native import (
    binary_kind,
    check_program,
    explain_failure,
    fault_words,
    is_rust,
    panic_info,
    plain_function,
    read_last_words,
    rust_main,
)
from freezeframe.backends.native import remark as native_remark
from freezeframe.backends.optimization import FrameCode, optimized
from freezeframe.backends.transport.ask import kept_answer
from freezeframe.config import AdapterConfig
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason

from . import _lldb, _native_tests, _panics
from ._descriptor import (
    Adapter,
    Ask,
    Breakpoints,
    ChildOffer,
    Children,
    End,
    Exceptions,
    Expressions,
    Frames,
    FunctionFilter,
    Inquiry,
    Output,
    Plan,
    Raw,
    Spawn,
    Start,
    Stdio,
    Stops,
    Surroundings,
    Thrown,
    Values,
)

_FIRST_WITH_DAP = 14
_PROBE = os.path.join(os.path.dirname(__file__), "gdb_dap_probe.py")
_VALUES_PROBE = os.path.join(os.path.dirname(__file__), "gdb_dap_values_probe.py")


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    wanted = os.path.expanduser(config.path) if config.path is not None else "gdb"
    path = shutil.which(wanted, path=env.get("PATH", os.defpath))
    if path is None:
        return Missing(f"there is no {wanted}" if config.path else "there is no gdb on PATH")
    told = kept_answer((path, "--version"))
    if told is None:
        return Missing(f"{path} --version did not answer")
    version = _version(told)
    major = int(version.split(".")[0]) if version else 0
    if major < _FIRST_WITH_DAP:
        return Missing(f"gdb {version or '?'} does not speak DAP; {_FIRST_WITH_DAP}.1 and later do")
    return Found(path, version, (path, *config.args))


def _version(told: str) -> str | None:
    first = told.partition("\n")[0]
    match = re.search(r"(\d+\.\d+(?:\.\d+)?)\s*$", first) or re.search(r"(\d+\.\d+)", first)
    return match[1] if match else None


def _plan(target: Target, around: Surroundings) -> Plan:
    # Its words may hold colours; ASLR is left as it is, for containers forbid changing it.
    first = ["set style enabled off", "set disable-randomization off", "set confirm off"]
    # Texts end where they end, and a call that crashes leaves nothing behind.
    first += ["set print null-stop on", "set print repeats unlimited", "set unwindonsignal on"]
    if not isinstance(target, Core):
        first += [f"set {each}" for each in gdb.FORKS[target.forks]]
    if around.terminal is not None:
        first.append(f"set inferior-tty {around.terminal}")
    if around.stdio is not None:
        streams = [shlex.quote(path) for path in around.stdio]
        redirected = f'exec "$0" "$@" <{streams[0]} >{streams[1]} 2>{streams[2]}'
        first.append(f"set exec-wrapper /bin/sh -c {shlex.quote(redirected)}")
    # The standard library is not stepped into.
    first.append(gdb.SKIP)
    probes = (gdb.FORKS_PROBE, gdb.OPTIMIZED_PROBE, _PROBE, _VALUES_PROBE)
    first += [*(f"source {probe}" for probe in probes), *_rust_commands(target)]
    options = [word for command in first for word in ("-iex", command)]
    # The program is named here too: breakpoints are set before it is launched, and looked up in it.
    known = (target.program,) if target.program and binary_kind(target.program) else ()
    argv = (*around.found.command, "-q", "-nx", *options, "-i=dap", *known)
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


def _read_forked(body: Mapping[str, Any]) -> ChildOffer | None:
    pid = body.get("pid")
    if pid is None:
        return None
    return ChildOffer({**body, "forked": True}, pid=pid, forked=True)


def _rust_commands(target: Target) -> list[str]:
    """Return the commands that let a Rust program's own printers in, where its toolchain is."""
    root = None
    if target.program is not None and is_rust(target.program):
        root = _lldb.sysroot(target.env.get("PATH", os.defpath))
    if root is None:
        return []
    folder = os.path.join(root, "lib", "rustlib", "etc")
    return [
        f"add-auto-load-safe-path {folder}",
        f"directory {folder}",
        f"python import sys; sys.path.insert(0, {folder!r})",
    ]


def _jump(path: str, line: int) -> str:
    """Move the program counter: GDB's own `jump` would let the program go on."""
    quoted = f"'{path}':{line}"
    place = f"gdb.decode_line({quoted!r})[1][0].pc"
    return f"python gdb.execute('set var $pc = %d' % {place})"


#: what GDB's server keeps of a stop, and forgets only when the program runs (GDB 16)
_KEPT = (("frames", "_clear_frame_ids"), ("scopes", "clear_scopes"), ("varref", "clear_vars"))


def _force_return(value: str | None) -> str:
    command = f"return {value or ''}".rstrip()
    forget = "; ".join(f"load('gdb.dap.{file}').{clear}(None)" for file, clear in _KEPT)
    load = "from importlib import import_module as load"
    return f"python {load}; gdb.execute({command!r}); {forget}"


def _line_at(address: int) -> str:
    return f"python place = gdb.find_pc_line({address}); print(place.symtab.fullname(), place.line)"


def _read_line(text: str) -> tuple[str, int] | None:
    path, _, line = text.strip().rpartition(" ")
    return (path, int(line)) if os.path.isabs(path) and line.isdecimal() else None


def _read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    """It offers the text of files that are only named in debug information, and has none."""
    arguments = body.get("freezeframeArguments") or None
    return replace(frame, source_reference=0, arguments=arguments)


def _ask_code(target: Target, first: int, count: int, thread: int) -> str | None:
    if target.program is None or not optimized(target.program):
        return None
    return f"python freezeframe_code({first}, {count})"


def _read_code(target: Target, text: str) -> list[FrameCode]:
    try:
        return [FrameCode(bool(each)) for each in json.loads(text)]
    except (ValueError, TypeError):
        return []


def _filter_commands(names: Set[str]) -> Sequence[str]:
    stop = "stop print" if "signal" in names else "nostop noprint"
    return (f"handle SIGSEGV SIGABRT SIGBUS SIGFPE SIGILL SIGSYS {stop} pass",)


def _read_stop(body: Mapping[str, Any]) -> tuple[StopReason, str | None] | None:
    """GDB calls a signal `signal` or by its name, and a pause SIGINT."""
    words = f"{body.get('description') or ''} {body.get('text') or ''} {body.get('reason') or ''}"
    match = re.search(r"\bSIG[A-Z0-9]+\b", words)
    if body.get("reason") == "pause" or match is None:
        return None
    fault = body.get("fault")
    meaning = fault_words(match[0], *fault) if fault and len(fault) == 2 else None
    return StopReason.SIGNAL, f"{match[0]}: {meaning}" if meaning else match[0]


def _filters(offered: Sequence[ExceptionFilter], target: Target) -> tuple[ExceptionFilter, ...]:
    kept = [f for f in offered if f.name in ("throw", "catch", "rethrow")]
    rust = target.program is not None and is_rust(target.program)
    return (
        *kept,
        ExceptionFilter("panic", "Rust panics", default=rust),
        ExceptionFilter("signal", "signals that end a program", default=True),
        *native_tests.filters_of(target.program),
    )


_PANICS = _panics.Commands(
    argument=lambda machine, index: Ask(panics.registers(machine)[index]),
    words=lambda at, count: f"x/{count}xg {at:#x}",
    symbol=lambda at: f"info symbol {at:#x}",
    machine="show architecture",
)


def _examine(description: str) -> Inquiry | None:
    if description == "panic":
        return _panics.examine(_PANICS)
    if description == native_tests.NAME:
        return _native_tests.examine(
            lambda machine, index: native_tests.registers(machine)[index], "show architecture"
        )
    return _look_at_thrown() if description in ("throw", "catch", "rethrow") else None


def _look_at_thrown() -> Inquiry:
    said = yield Ask("python freezeframe_thrown()", raw=True)
    try:
        told = json.loads(said or "")
    except ValueError:
        return None
    return Thrown(ExceptionInfo(told["types"][0], told["message"]), tuple(told["types"]))


#: Rust's references and pointers
_TO_RUST = re.compile(r"&|\*(mut|const) ")
_COUNTED = re.compile(r"std::\w+ (?:of length|with) (\d+)")


def _enrich(value: RawValue, body: Mapping[str, Any]) -> RawValue:
    """Open what has no text of its own, or none but its size."""
    value = _lldb.enrich(value, body)
    if (whole := body.get("freezeframeText")) is not None:
        return replace(value, text=tidy(whole, rust=True), opaque=False, count=None)
    if value.ref and _TO_RUST.match(value.type or "") and value.text.startswith("0x"):
        return replace(value, opaque=True)
    counted = _COUNTED.match(value.text)
    if counted is None:
        return value
    return replace(value, opaque=value.ref != 0, count=int(counted[1]))


def _read_exit(text: str) -> Exit | None:
    """Return the signal that ended a program: GDB gives 0 as its exit code."""
    if not text.strip().isdecimal():
        return None
    try:
        return Exit(signal=signal.Signals(int(text)).name)
    except ValueError:
        return Exit(signal=f"signal {text.strip()}")


#: types that only Rust has: its pointers are written in another way
_OF_RUST = re.compile(r"[iu](?:8|16|32|64|128|size)|f32|f64|[&*].*")


def _value_at(type: str, address: str) -> str | None:
    found = re.search(r"0x[0-9a-f]+", address)
    if found is None or not type:
        return None
    return f"*({found[0]} as *mut {type})" if _OF_RUST.fullmatch(type) else f"*({type} *){found[0]}"


ADAPTER = Adapter(
    name="gdb-dap",
    adapter_id="gdb",
    languages=("C", "C++", "Rust", "Fortran", "Ada"),
    patterns=(),
    binaries=("elf",),
    rank=20,
    remark=native_remark,
    shebangs=(),
    install=("apt-get install gdb",),
    find=_find,
    plan=_plan,
    extra_features=frozenset({Feature.REGISTERS, Feature.SET, Feature.JUMP}),
    start=Start(
        explain_failure=explain_failure,
        stdio_fifos=True,
        awaits_process=True,
        entry_function=lambda target: rust_main(target.program),
    ),
    end=End(
        question=lambda code: "output $_exitsignal" if code == 0 else None,
        read=_read_exit,
    ),
    stops=Stops(read=_read_stop, watches_after=True),
    breakpoints=Breakpoints(
        function_alias=_lldb.function_alias,
        one_a_place=True,
        counts_hits=False,
        address_of=lambda expression: f"&{expression}",
        value_at=_value_at,
        wire=_lldb.wire_breakpoints,
    ),
    exceptions=Exceptions(
        offered=_filters,
        commands=_filter_commands,
        examines=True,
        examine=_examine,
        functions={"panic": FunctionFilter("rust_panic", panic_info), **_native_tests.FUNCTIONS},
        read_last_words=read_last_words,
    ),
    frames=Frames(
        read=_read_frame,
        guesses_depth=True,
        sourceless_is_library=True,
        is_library=_lldb.is_library,
        function_name=plain_function,
        # Asked only where it tells no arguments apart: then there are none.
        argument_names=lambda path, line, name: (),
        ask_code=_ask_code,
        read_code=_read_code,
    ),
    values=Values(enrich=_enrich, returned_prefixes=("(return)",)),
    expressions=Expressions(
        statement_context="watch",
        assignment=lambda target, value: f"{target} = {value}",
    ),
    raw=Raw(
        context="repl",
        jump=_jump,
        force_return=_force_return,
        line_at=_line_at,
        read_line=_read_line,
        save_core=lambda path: f"gcore {path}",
    ),
    output=Output(
        # What the program prints goes another way: on its standard output GDB speaks itself.
        ignored=frozenset({"telemetry", "stdout"}),
        log_marks=_lldb.LOG_MARKS,
    ),
    children=Children(
        ways=gdb.WAYS,
        event="freezeframeForked",
        read_offer=_read_forked,
    ),
)
