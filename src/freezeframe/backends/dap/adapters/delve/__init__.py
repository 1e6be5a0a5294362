"""Go, through delve (`dlv dap`).

Measured with delve 1.20.2, 1.24.2 and 1.27.2.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    BreakpointRequest,
    Core,
    Feature,
    Launch,
    Target,
)
from freezeframe.backends.dap.adapters._descriptor import (
    Adapter,
    AdapterBreakpoint,
    AdapterOutput,
    Breakpoints,
    Children,
    Connect,
    End,
    ExceptionQuery,
    Exceptions,
    Expressions,
    Frames,
    LaunchEnvironment,
    Listen,
    Plan,
    Raw,
    Spawn,
    Start,
    Stops,
    Values,
    as_dap,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.fork_modes import PARENT_ONLY
from freezeframe.backends.native import check_program, explain_failure, has_debug_info
from freezeframe.backends.transport.process import signal_name
from freezeframe.backends.transport.version_query import version
from freezeframe.config import AdapterConfig
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason, TracebackLine

from . import failures, frames, unset, values
from .backend import DelveBackend, is_optimized, is_served

# --- discovery -----------------------------------------------------------------------------


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    path = env.get("PATH", os.defpath)
    if config.path is not None:
        found = shutil.which(os.path.expanduser(config.path), path=path)
        return _checked(found, config) if found else Missing(f"there is no program {config.path}")
    home = env.get("HOME", "")
    folders = [env.get("GOBIN", "")]
    folders += [
        os.path.join(each, "bin") for each in env.get("GOPATH", "").split(os.pathsep) if each
    ]
    folders += [os.path.join(home, "go", "bin")] if home else []
    found = shutil.which("dlv", path=os.pathsep.join([path, *filter(None, folders)]))
    return _checked(found, config) if found else Missing("no `dlv` on PATH or in ~/go/bin")


def _checked(path: str, config: AdapterConfig) -> Found | Missing:
    found_version = version((path, "version"), r"Version: (\d[\w.]*)")
    return Found(path, found_version, (path, *config.args))


def _remark(program: str) -> str | None:
    """Warn when a program's variables are incomplete: built with optimization, or stripped."""
    if os.path.isfile(program) and not has_debug_info(program):
        return (
            f"{os.path.basename(program)} has no debug information (-ldflags -w or -s): variables"
            " and goroutines cannot be read, only the stack of the thread that stopped, where a"
            " caller may be missing; build it without these flags"
        )
    if not is_optimized(program):
        return None
    how = "go build -gcflags='all=-N -l'"
    return f"{os.path.basename(program)} was built with optimisation: variables may lack ({how})"


# --- startup -------------------------------------------------------------------------------

#: limits of delve's first load; more is requested when the user wants to see it
_COMMON: dict[str, Any] = {
    "stackTraceDepth": 200,
    "hideSystemGoroutines": True,
    "showGlobalVariables": True,
    "showRegisters": True,
    "showPprofLabels": ["*"],
    "stopOnEntry": False,
}


def _plan(target: Target, around: LaunchEnvironment) -> Plan:
    if isinstance(target, Attach) and target.host is not None and target.port is not None:
        # A `dlv --headless` speaks DAP too, on the port that it listens at.
        remote = {**_COMMON, "mode": "remote", **target.options}
        return Plan(Connect(target.host, target.port), "attach", remote)
    assert around.endpoint is not None
    where = f"--client-addr={around.endpoint.host}:{around.endpoint.port}"
    # delve reports by itself where it cannot read a Go version.
    command = (*around.found.command, "dap", "--check-go-version=false", where)
    spawn = Spawn(command, target.cwd, target.env)
    if isinstance(target, Core):
        what: dict[str, Any] = {"program": target.program, "coreFilePath": target.core}
        # delve would try to resume a core file, and report that it cannot.
        what["stopOnEntry"] = True
        return Plan(Listen(), "launch", {**_COMMON, "mode": "core", **what}, spawn)
    if isinstance(target, Attach):
        what = {"mode": "local", "processId": target.pid, **target.options}
        return Plan(Listen(), "attach", {**_COMMON, **what}, spawn)
    check_program(target)
    what = {
        "program": target.program,
        "args": list(target.args),
        "cwd": target.cwd,
        **target.options,
    }
    arguments = {**_COMMON, "mode": "exec", **what}
    # The program inherits delve's standard streams: pipes of Freezeframe, live and separate.
    return Plan(Listen(), "launch", arguments, replace(spawn, role="host"))


# --- exits ---------------------------------------------------------------------------------

_EXITED = re.compile(r"Process \d+ has exited with status (-?\d+)")


def _read_end(text: str) -> Exit | None:
    match = _EXITED.search(text)
    return _exit(int(match[1])) if match else None


def _exit(code: int) -> Exit:
    name = _signal(code, None)
    return Exit(signal=name) if name else Exit(code=code)


def _signal(code: int, last: str | None) -> str | None:
    """Return the signal: the exit status of a killed program is the negative signal number."""
    return signal_name(-code) if code < 0 else None


# --- stops ---------------------------------------------------------------------------------

_BAD_CONDITION = "error evaluating expression: "


def _read_stop(body: Mapping[str, Any]) -> tuple[StopReason, str | None] | None:
    """Recognize a condition that failed to evaluate, which delve reports as if the program had
    failed."""
    text = str(body.get("text") or "")
    if not text.startswith(_BAD_CONDITION):
        return None
    return StopReason.BREAKPOINT, f"its condition fails: {text.removeprefix(_BAD_CONDITION)}"


#: delve's names of filters, and ours
_FILTERS = {"unrecovered-panic": "panic", "runtime-fatal-throw": "fatal"}


#: delve's descriptions of a stop, and our filters
_KINDS = {"panic": "panic", "fatal error": "fatal"}


def _offered(offered: Sequence[ExceptionFilter], target: Target) -> Sequence[ExceptionFilter]:
    """Return the filters; delve before 1.27 has none and stops for both kinds, so Freezeframe
    resumes from stops that were not requested."""
    test_filters = (failures.FILTER,) if failures.is_test(target) else ()
    if not offered:
        return (
            ExceptionFilter("panic", "Unrecovered Panics", default=True),
            ExceptionFilter("fatal", "Fatal Throws", default=True),
            *test_filters,
        )
    renamed = [replace(each, name=_FILTERS.get(each.name, each.name)) for each in offered]
    return [*renamed, *test_filters]


def _examine(description: str) -> ExceptionQuery | None:
    return failures.examine(_plain_reason) if description == failures.NAME else None


_ERROR_VALUE = re.compile(
    r"(?:error|interface \{\})\((?P<type>[^()]+|\*[^()]+)\) (?P<value>.*)", re.S
)
_ERROR_STRING = re.compile(r'\*?\{s: (?P<text>"(?:[^"\\]|\\.)*")\}')


#: `2  0x484525 in main.main` and, below it, `at /path/to/main.go:5`
_STACK = re.compile(
    r"^\s*\d+ +0x[0-9a-f]+ in (?P<function>.*)\n\s+at (?P<path>.*):(?P<line>\d+)$", re.M
)


def _read_exception(body: Mapping[str, Any]) -> ExceptionInfo:
    """Return a panic, with the type of its value unless that is a plain string."""
    kind = str(body.get("exceptionId") or "panic")
    stack = str((body.get("details") or {}).get("stackTrace") or "")
    lines = [
        TracebackLine(
            each["path"],
            int(each["line"]),
            frames.function_name(each["function"]),
            library=frames.is_library(each["path"], Attach()),
        )
        for each in _STACK.finditer(stack)
    ]
    message = _plain_reason(str(body.get("description") or ""))
    return ExceptionInfo(kind, message, tuple(reversed(lines)))


def _plain_reason(text: str) -> str:
    """Return the panic value as the program would print it, where that is known."""
    found = _ERROR_VALUE.fullmatch(text)
    kind, value = (found["type"], found["value"]) if found else ("string", text)
    inner = _ERROR_STRING.fullmatch(value)
    value = inner["text"] if inner else value
    if re.fullmatch(r'"(?:[^"\\]|\\.)*"', value):
        try:
            value = str(json.loads(value))
        except ValueError:
            value = value[1:-1]
        return value
    return f"{kind} {value}" if found else value


# --- breakpoints ---------------------------------------------------------------------------

_LOG_MARKERS = ("\x01", "\x02")


def _encode(
    requests: Sequence[BreakpointRequest], log_channel: str | None
) -> list[AdapterBreakpoint]:
    """Put a logpoint's message between markers, to separate it from delve's messages."""
    begin, end = _LOG_MARKERS
    return [
        replace(entry, fields={**entry.fields, "logMessage": f"{begin}{entry.request.log}{end}"})
        if entry.request.log is not None
        else entry
        for entry in as_dap(requests, log_channel)
    ]


#: may still bind in another program of the workspace
_NOT_HERE = re.compile(r'could not find file|location ".*" not found')


_AMBIGUOUS = re.compile(r'Location ".*" ambiguous: (?P<functions>.*)')
_NO_CODE = re.compile(r"could not find statement at .*:(?P<line>\d+), .*")


def _check_bound(request: BreakpointRequest, bound: BoundBreakpoint) -> BoundBreakpoint:
    """Reject unbound breakpoints: a Go program is fully loaded at its start."""
    if bound.verified or _NOT_HERE.match(bound.message or ""):
        return bound
    message = bound.message
    if found := _NO_CODE.fullmatch(message or ""):
        message = f"line {found['line']} has no code"
    elif found := _AMBIGUOUS.fullmatch(message or ""):
        names = [frames.function_name(each) for each in found["functions"].rstrip("…").split(", ")]
        more = " and others" if found["functions"].endswith("…") else ""
        message = f"name one of the functions {' or '.join(names)}{more}"
    return replace(bound, message=message, rejected=True)


def _alias(target: Target, name: str) -> str:
    """Return a function's name qualified by the program's package: other packages may have the
    same."""
    if name == "main" or not name.isidentifier():
        return "main.main" if name == "main" else name
    recipe = target.recipe if isinstance(target, Launch) else None
    source = recipe.source if recipe is not None else target.cwd
    package = frames.package_of(name, source if os.path.isdir(source) else os.path.dirname(source))
    if package == "main" and recipe is not None and recipe.product.endswith(".test"):
        return name  # a test's main is another function
    if package:
        return f"{package}.{name}"
    program = target.program if isinstance(target, Launch) else None
    return (frames.own_function(name, program) if program else None) or name


_CHATTER = re.compile(
    r"> \[Go \d+\]: $|Closing client session|Type 'dlv help'|Process \d+ has exited"
    r"|Detaching|detaching|Step interrupted by a breakpoint|\s*$"
    # Reported at the start, with a message of ours.
    r"|Unable to retrieve goroutines: could not find goroutine array"
)


def _brief_error(text: str) -> str:
    text = re.sub(r"^it failed: interface \{\}\(.+?\) ", "the call panicked: ", text)
    return re.sub(
        r"^Unable to (evaluate expression|set variable|run dlv command): ", "", text
    ).strip()


ADAPTER = Adapter(
    name="delve",
    adapter_id="go",
    languages=("Go",),
    patterns=(),
    shebangs=(),
    install=("go install github.com/go-delve/delve/cmd/dlv@latest", "apt-get install delve"),
    find=_find,
    plan=_plan,
    binaries=("go",),
    rank=5,
    remark=_remark,
    # Freezeframe counts hits.
    extra_features=frozenset({Feature.REGISTERS, Feature.HIT_COUNTS, Feature.EXCEPTIONS}),
    # delve restarts a program without stopping for breakpoints (1.27.2), so Freezeframe launches it
    # again. It reads memory only where it named a slice or string itself, and no expression can use
    # that name.
    lacks=frozenset({Feature.RESTART, Feature.MEMORY_READ, Feature.MEMORY_WRITE}),
    hints={
        Feature.DETACH: "dbg stop",
        Feature.MEMORY_READ: "dbg print EXPRESSION",
    },
    backend=DelveBackend,
    start=Start(
        reverse=lambda target: not is_served(target),
        entry_function=lambda target: "main.main",
        explain_failure=explain_failure,
    ),
    end=End(
        signal=_signal,
        read_output=_read_end,
    ),
    stops=Stops(
        read=_read_stop,
        halts_unseen=lambda pid: True,
    ),
    breakpoints=Breakpoints(
        encode=_encode,
        logs_functions=False,
        one_per_location=True,
        counts_hits=False,
        check_bound=_check_bound,
        function_alias=_alias,
        address_of=lambda expression: f"uintptr(&{expression})",
        # `824634 = 0xc95ba`
        value_at=lambda type, address: f"*(*{type})({address.split()[0]})",
    ),
    exceptions=Exceptions(
        offered=_offered,
        filter_of=lambda description: _KINDS.get(description),
        names={name: delve_name for delve_name, name in _FILTERS.items()},
        functions={failures.NAME: failures.FUNCTION},
        examine=_examine,
        read=_read_exception,
    ),
    frames=Frames(
        read=frames.read_frame,
        function_name=frames.function_name,
        thread_name=frames.thread_name,
        is_library=frames.is_library,
        sourceless_is_library=True,
        argument_names=frames.argument_names,
        names=lambda frame, innermost: unset.frame_names(
            frame.path or "", frame.line or 0, frame.function, innermost
        ),
    ),
    values=Values(
        enrich=values.enrich,
        hides=values.hides,
        pages=True,
        is_anonymous_member=values.is_nameless,
    ),
    expressions=Expressions(
        # In any other context delve ends a value after 256 characters.
        context="variables",
        statement_context="repl",
        brief_error=_brief_error,
    ),
    raw=Raw(
        prefix="dlv ",
        refusals={
            "command not available": "delve's DAP server has only config, examinemem, help, "
            "sources and target of delve's commands."
        },
    ),
    output=AdapterOutput(
        of_program=False,
        is_noise=lambda text: _CHATTER.match(text) is not None,
        log_delimiters=_LOG_MARKERS,
    ),
    children=Children(fork_modes=PARENT_ONLY),
)
