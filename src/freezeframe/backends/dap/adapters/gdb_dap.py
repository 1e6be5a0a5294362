"""C, C++, Rust, Fortran, Ada through GDB's own DAP server, introduced in GDB 14.

Measured with 16.3. `gdb_dap_agent.py` runs inside GDB and adds what the server does not report or
cannot do; `gdb_dap_values_agent.py` shows values there as GDB itself does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from freezeframe.backends import gdb, native_tests, panics, sanitizers
from freezeframe.backends.backend import (
    Attach,
    BreakpointRequest,
    Core,
    Feature,
    Launch,
    RawFrame,
    RawValue,
    Stopped,
    Target,
)
from freezeframe.backends.dap.backend import DapBackend
from freezeframe.backends.dap.debuggee import Debuggee
from freezeframe.backends.dap.stop_events import StopHandler
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.gdb import cxx_exceptions, libc
from freezeframe.backends.gdb.value_text import tidy
from freezeframe.backends.native import (
    binary_kind,
    check_program,
    describe_fault,
    explain_failure,
    is_rust,
    panic_info,
    plain_function,
    read_uncaught_exception,
    rust_main,
)
from freezeframe.backends.native import remark as native_remark
from freezeframe.backends.optimization import FrameCode, optimized
from freezeframe.backends.transport.system_calls import is_disturbed_by_a_halt
from freezeframe.backends.transport.version_query import kept_answer
from freezeframe.config import AdapterConfig
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason

from . import _lldb, _native_tests, _panics
from ._breakpoints import AdapterBreakpoint
from ._descriptor import (
    Adapter,
    AdapterOutput,
    AdapterQuery,
    Breakpoints,
    ChildAttachInfo,
    Children,
    End,
    ExceptionDetails,
    ExceptionQuery,
    Exceptions,
    Expressions,
    Frames,
    FunctionFilter,
    LaunchEnvironment,
    Plan,
    Raw,
    Spawn,
    Start,
    Stdio,
    Stops,
    Values,
)

_FIRST_WITH_DAP = 14
_AGENT = os.path.join(os.path.dirname(__file__), "gdb_dap_agent.py")
_VALUES_AGENT = os.path.join(os.path.dirname(__file__), "gdb_dap_values_agent.py")


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    name = os.path.expanduser(config.path) if config.path is not None else "gdb"
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    if path is None:
        return Missing(f"there is no {name}" if config.path else "there is no gdb on PATH")
    text = kept_answer((path, "--version"))
    if text is None:
        return Missing(f"{path} --version did not answer")
    version = _version(text)
    major = int(version.split(".")[0]) if version else 0
    if major < _FIRST_WITH_DAP:
        return Missing(f"gdb {version or '?'} does not speak DAP; {_FIRST_WITH_DAP}.1 and later do")
    return Found(path, version, (path, *config.args))


def _version(text: str) -> str | None:
    first = text.partition("\n")[0]
    match = re.search(r"(\d+\.\d+(?:\.\d+)?)\s*$", first) or re.search(r"(\d+\.\d+)", first)
    return match[1] if match else None


def _plan(target: Target, around: LaunchEnvironment) -> Plan:
    # GDB's output may contain colors; ASLR stays as it is, because containers forbid changing it.
    first = ["set style enabled off", "set disable-randomization off", "set confirm off"]
    # Strings end at their null byte, and a call that crashes leaves no frame behind.
    first += ["set print null-stop on", "set print repeats unlimited", "set unwindonsignal on"]
    if not isinstance(target, Core):
        first += [f"set {each}" for each in gdb.FORKS[target.forks]]
    if around.terminal is not None:
        first.append(f"set inferior-tty {around.terminal}")
    if around.stdio is not None:
        streams = [shlex.quote(path) for path in around.stdio]
        redirected = f'exec "$0" "$@" <{streams[0]} >{streams[1]} 2>{streams[2]}'
        first.append(f"set exec-wrapper /bin/sh -c {shlex.quote(redirected)}")
    # Steps do not enter the standard library.
    first.append(gdb.SKIP)
    agents = (gdb.FORKS_AGENT, *gdb.AGENTS, _AGENT, _VALUES_AGENT)
    first.append(gdb.load_command(*agents))
    first += _rust_commands(target)
    if isinstance(target, Launch) and around.stdio is not None:
        first.append(f"python {_lines(target.program)}")
    options = [option for command in first for option in ("-iex", command)]
    # The program is named here too: breakpoints are set before the launch, and resolved in it.
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


def _lines(program: str) -> str:
    """Return the call that makes C's standard output line-buffered; see the agent."""
    found = libc.of_program(program, "_IO_2_1_stdout_")
    return f"freezeframe_lines{found!r}" if found is not None else "freezeframe_static_lines()"


def _read_forked(body: Mapping[str, Any]) -> ChildAttachInfo | None:
    pid = body.get("pid")
    if pid is None:
        return None
    return ChildAttachInfo({**body, "forked": True}, pid=pid, forked=True)


def _rust_commands(target: Target) -> list[str]:
    """Return the commands that load Rust's pretty printers from the program's toolchain, if
    found."""
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
    """Move the program counter: GDB's `jump` would resume the program."""
    quoted = f"'{path}':{line}"
    pc = f"gdb.decode_line({quoted!r})[1][0].pc"
    return f"python gdb.execute('set var $pc = %d' % {pc})"


#: what GDB's server caches at a stop, and clears only when the program runs (GDB 16)
_KEPT = (("frames", "_clear_frame_ids"), ("scopes", "clear_scopes"), ("varref", "clear_vars"))


def _force_return(value: str | None) -> str:
    command = f"return {value or ''}".rstrip()
    forget = "; ".join(f"load('gdb.dap.{file}').{clear}(None)" for file, clear in _KEPT)
    load = "from importlib import import_module as load"
    return f"python {load}; gdb.execute({command!r}); {forget}"


def _line_at(address: int) -> str:
    return f"python sal = gdb.find_pc_line({address}); print(sal.symtab.fullname(), sal.line)"


def _read_line(text: str) -> tuple[str, int] | None:
    path, _, line = text.strip().rpartition(" ")
    return (path, int(line)) if os.path.isabs(path) and line.isdecimal() else None


def _read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    """Drop the source reference of files only named in debug information: the server has no text of
    them."""
    arguments = body.get("freezeframeArguments") or None
    waits = body.get("freezeframeWaits")
    return replace(frame, source_reference=0, arguments=arguments, waits=waits)


def _code_query(target: Target, first: int, count: int, thread: int) -> str | None:
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
    """Read the signal: GDB calls the reason `signal` or the signal's name, and a pause SIGINT."""
    if body.get("failed"):
        return StopReason.BREAKPOINT, f"its condition fails: {body['failed']}"
    text = f"{body.get('description') or ''} {body.get('text') or ''} {body.get('reason') or ''}"
    match = re.search(r"\bSIG[A-Z0-9]+\b", text)
    if body.get("reason") == "pause" or match is None:
        return None
    fault = body.get("fault")
    meaning = describe_fault(match[0], *fault) if fault and len(fault) == 2 else None
    return StopReason.SIGNAL, f"{match[0]}: {meaning}" if meaning else match[0]


def _filters(offered: Sequence[ExceptionFilter], target: Target) -> tuple[ExceptionFilter, ...]:
    kept = [f for f in offered if f.name in ("throw", "catch", "rethrow")]
    rust = target.program is not None and is_rust(target.program)
    return (
        *kept,
        ExceptionFilter("panic", "Rust panics", default=rust),
        ExceptionFilter("signal", "signals that end a program", default=True),
        *_sanitizer_filters(target.program),
        *native_tests.filters_of(target.program),
    )


#: functions that sanitizers call with a report: UBSan has its own, and writes the report after it
_REPORTS = {
    "sanitizer": FunctionFilter("__sanitizer_report_error_summary", sanitizers.read_printed),
    "undefined": FunctionFilter("__ubsan_on_report"),
}


def _sanitizer_filters(program: str | None) -> tuple[ExceptionFilter, ...]:
    if program is None or not sanitizers.is_sanitized(program):
        return ()
    return (
        ExceptionFilter("sanitizer", "what a sanitizer finds", default=True),
        ExceptionFilter("undefined", "what UBSan finds", default=True),
    )


_PANICS = _panics.Commands(
    argument=lambda machine, index: AdapterQuery(panics.registers(machine)[index]),
    read_memory=lambda at, count: f"x/{count}xg {at:#x}",
    symbol=lambda at: f"info symbol {at:#x}",
    machine="show architecture",
)


def _examine(description: str) -> ExceptionQuery | None:
    if description == "panic":
        return _panics.examine(_PANICS)
    if description == native_tests.NAME:
        return _native_tests.examine(
            lambda machine, index: native_tests.registers(machine)[index], "show architecture"
        )
    if description == "undefined":
        return _query_undefined()
    return _query_thrown() if description in ("throw", "catch", "rethrow") else None


def _query_undefined() -> ExceptionQuery:
    found = sanitizers.read_undefined((yield AdapterQuery(gdb.UNDEFINED, raw=True)))
    return ExceptionDetails(found, (found.type,))


def _query_thrown() -> ExceptionQuery:
    answer = yield AdapterQuery(cxx_exceptions.QUERY, raw=True)
    found = cxx_exceptions.read(answer or "")
    if found is None:
        return None
    types, message = found
    return ExceptionDetails(ExceptionInfo(types[0], message), tuple(types))


#: Rust's references and pointers
_TO_RUST = re.compile(r"&|\*(mut|const) ")
_COUNTED = re.compile(r"std::\w+(?:<bool>)? (?:of length|with) (\d+)")
#: how GDB's printers show a holder of other values, without showing those
_HOLDS = re.compile(
    r"std::(?:unique_ptr<.*>|shared_ptr<.*|weak_ptr<.*|tuple containing|variant<.*\[index \d+\]"
    r"|(?:__cxx11::)?(?:forward_)?list|optional<.*>|any containing .*"
    r"|(?:\w+_)?(?:queue|stack) wrapping: .*)$"
)


def _enrich(value: RawValue, body: Mapping[str, Any]) -> RawValue:
    """Expand a value that has no text, or none but its size."""
    value = _lldb.enrich(value, body)
    if (whole := body.get("freezeframeText")) is not None:
        return replace(value, text=tidy(whole, rust=True), opaque=False, count=None)
    if value.ref and _TO_RUST.match(value.type or "") and value.text.startswith("0x"):
        return replace(value, opaque=True)
    if not value.ref:
        return replace(value, text=tidy(value.text))
    counted = _COUNTED.match(value.text)
    if counted is None:
        holds = _HOLDS.match(value.text) is not None
        return replace(value, opaque=value.opaque or holds)
    if counted[1] == "0":
        return replace(value, text=tidy(value.text), ref=0)
    return replace(value, opaque=True, count=int(counted[1]))


def _read_exit(text: str) -> Exit | None:
    """Return the signal that ended a program: GDB reports 0 as its exit code."""
    if not text.strip().isdecimal():
        return None
    try:
        return Exit(signal=signal.Signals(int(text)).name)
    except ValueError:
        return Exit(signal=f"signal {text.strip()}")


#: types that only Rust has: pointers to them have another syntax
_OF_RUST = re.compile(r"[iu](?:8|16|32|64|128|size)|f32|f64|[&*].*")


def _value_at(type: str, address: str) -> str | None:
    found = re.search(r"0x[0-9a-f]+", address)
    if found is None or not type:
        return None
    return f"*({found[0]} as *mut {type})" if _OF_RUST.fullmatch(type) else f"*({type} *){found[0]}"


def _may_be_rust(request: BreakpointRequest) -> bool:
    return request.location.file is None or request.location.file.endswith(".rs")


def _encode(
    requests: Sequence[BreakpointRequest], log_channel: str | None
) -> list[AdapterBreakpoint]:
    testable = [
        replace(each, condition=gdb.condition(each.condition, rust=_may_be_rust(each)))
        if each.condition is not None
        else each
        for each in requests
    ]
    return _lldb.encode_breakpoints(testable, log_channel)


#: prints the numbers of the breakpoints hit at the last stop beside a watchpoint
_BREAKPOINTS_HERE = "python freezeframe_breakpoints_here()"

#: How long the `process` event may come after the answer to `launch`.
_PROCESS_S = 2.0


class _Stops(StopHandler):
    async def _breakpoints_here(self, stopped: Stopped) -> tuple[int, ...]:
        return await self._hits_named(_BREAKPOINTS_HERE, stopped, evaluated=True)


class _Debuggee(Debuggee):
    stops_class = _Stops

    async def wait_for_process(self) -> None:
        # gdb answers `launch` first and sends the `process` event later.
        if not isinstance(self.target, Core):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PROCESS_S):
                    await self.process_reported.wait()


class GdbDapBackend(DapBackend):
    debuggee_class = _Debuggee


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
    backend=GdbDapBackend,
    start=Start(
        explain_failure=explain_failure,
        stdio_fifos=True,
        entry_function=lambda target: rust_main(target.program),
    ),
    end=End(
        question=lambda code: "output $_exitsignal" if code == 0 else None,
        read=_read_exit,
    ),
    stops=Stops(
        read=_read_stop,
        watches_after=True,
        halts_unseen=lambda pid: pid is not None and not is_disturbed_by_a_halt(pid),
    ),
    breakpoints=Breakpoints(
        function_alias=_lldb.function_alias,
        one_per_location=True,
        counts_hits=False,
        address_of=lambda expression: f"&{expression}",
        value_at=_value_at,
        encode=_encode,
    ),
    exceptions=Exceptions(
        offered=_filters,
        commands=_filter_commands,
        examines=True,
        examine=_examine,
        functions={
            "panic": FunctionFilter("rust_panic", panic_info),
            **_REPORTS,
            **_native_tests.FUNCTIONS,
        },
        read_uncaught_exception=read_uncaught_exception,
    ),
    frames=Frames(
        read=_read_frame,
        guesses_depth=True,
        sourceless_is_library=True,
        is_library=_lldb.is_library,
        function_name=plain_function,
        # Called only where the server lists no arguments: then there are none.
        argument_names=lambda path, line, name: (),
        code_query=_code_query,
        read_code=_read_code,
    ),
    values=Values(enrich=_enrich, returned_prefixes=("(return)",)),
    expressions=Expressions(
        statement_context="watch",
        brief_error=lambda text: gdb.CALL_ABANDONED if gdb.CALL_STOPPED in text else text,
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
    output=AdapterOutput(
        # The program's output goes through FIFOs or a terminal: GDB's own output comes as `stdout`.
        ignored=frozenset({"telemetry", "stdout"}),
        log_delimiters=_lldb.LOG_DELIMITERS,
    ),
    children=Children(
        fork_modes=gdb.WAYS,
        event="freezeframeForked",
        read_offer=_read_forked,
    ),
)
