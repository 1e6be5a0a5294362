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
    Core,
    Feature,
    Launch,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.dap.adapters._descriptor import (
    Adapter,
    Breakpoints,
    Children,
    Dial,
    End,
    Exceptions,
    Expressions,
    Frames,
    Inquiry,
    Output,
    Plan,
    Raw,
    Returns,
    Reverse,
    Spawn,
    Start,
    Stops,
    Surroundings,
    Values,
    Wired,
    as_dap,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.forks import STAYS
from freezeframe.backends.native import check_program, explain_failure, go_flags, has_debug_info
from freezeframe.backends.transport.ask import version
from freezeframe.backends.transport.process import signal_name
from freezeframe.config import AdapterConfig
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason, TracebackLine

from . import failures, places, values

# --- where it is ---------------------------------------------------------------------------


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
    told = version((path, "version"), r"Version: (\d[\w.]*)")
    return Found(path, told, (path, *config.args))


def _remark(program: str) -> str | None:
    """Say so when less can be shown of a program than it seems: optimised, or stripped."""
    if os.path.isfile(program) and not has_debug_info(program):
        return (
            f"{os.path.basename(program)} has no debug information (-ldflags -w or -s): variables"
            " and goroutines cannot be read, only the stack of the thread that stopped, where a"
            " caller may be missing; build it without these flags"
        )
    flags = go_flags(program)
    if flags is None or "-N" in flags:
        return None
    how = "go build -gcflags='all=-N -l'"
    return f"{os.path.basename(program)} was built with optimisation: variables may lack ({how})"


# --- how it is started ---------------------------------------------------------------------

#: of what it loads for itself; more is asked for when the user wants to see it
_COMMON: dict[str, Any] = {
    "stackTraceDepth": 200,
    "hideSystemGoroutines": True,
    "showGlobalVariables": True,
    "showRegisters": True,
    "showPprofLabels": ["*"],
    "stopOnEntry": False,
}


def _is_served(target: Target) -> bool:
    """Whether the program is that of a `dlv --headless` somewhere."""
    return isinstance(target, Attach) and target.port is not None


def _plan(target: Target, around: Surroundings) -> Plan:
    if isinstance(target, Attach) and target.host is not None and target.port is not None:
        # A `dlv --headless` understands this protocol too, on the port that it listens at.
        remote = {**_COMMON, "mode": "remote", **target.options}
        return Plan(Dial(target.host, target.port), "attach", remote)
    assert around.endpoint is not None
    where = f"--client-addr={around.endpoint.host}:{around.endpoint.port}"
    # Whether it knows a Go version well enough is for it to say when it cannot read something.
    command = (*around.found.command, "dap", "--check-go-version=false", where)
    spawn = Spawn(command, target.cwd, target.env)
    if isinstance(target, Core):
        what: dict[str, Any] = {"program": target.program, "coreFilePath": target.core}
        # It would try to go on, and say that it cannot.
        what["stopOnEntry"] = True
        return Plan(Reverse(), "launch", {**_COMMON, "mode": "core", **what}, spawn)
    if isinstance(target, Attach):
        what = {"mode": "local", "processId": target.pid, **target.options}
        return Plan(Reverse(), "attach", {**_COMMON, **what}, spawn)
    check_program(target)
    what = {
        "program": target.program,
        "args": list(target.args),
        "cwd": target.cwd,
        **target.options,
    }
    arguments = {**_COMMON, "mode": "exec", **what}
    # The program inherits its standard streams: they are pipes of ours, live and apart.
    return Plan(Reverse(), "launch", arguments, replace(spawn, role="host"))


# --- ends ----------------------------------------------------------------------------------

_EXITED = re.compile(r"Process \d+ has exited with status (-?\d+)")


def _read_end(text: str) -> Exit | None:
    match = _EXITED.search(text)
    return _exit(int(match[1])) if match else None


def _exit(code: int) -> Exit:
    name = _signal(code, None)
    return Exit(signal=name) if name else Exit(code=code)


def _signal(code: int, last: str | None) -> str | None:
    """A program that a signal ended has the signal's number below zero for its status."""
    return signal_name(-code) if code < 0 else None


# --- stops ---------------------------------------------------------------------------------

_BAD_CONDITION = "error evaluating expression: "


def _read_stop(body: Mapping[str, Any]) -> tuple[StopReason, str | None] | None:
    """A condition that cannot be evaluated is told as if the program had failed."""
    text = str(body.get("text") or "")
    if not text.startswith(_BAD_CONDITION):
        return None
    return StopReason.BREAKPOINT, f"its condition fails: {text.removeprefix(_BAD_CONDITION)}"


#: its names of filters, and ours
_FILTERS = {"unrecovered-panic": "panic", "runtime-fatal-throw": "fatal"}


#: its words for what a stop is for
_KINDS = {"panic": "panic", "fatal error": "fatal"}


def _offered(offered: Sequence[ExceptionFilter], target: Target) -> Sequence[ExceptionFilter]:
    """Before 1.27 it has none, and stops for both; what is not wanted then runs on."""
    own = (failures.FILTER,) if failures.is_test(target) else ()
    if not offered:
        return (
            ExceptionFilter("panic", "Unrecovered Panics", default=True),
            ExceptionFilter("fatal", "Fatal Throws", default=True),
            *own,
        )
    renamed = [replace(each, name=_FILTERS.get(each.name, each.name)) for each in offered]
    return [*renamed, *own]


def _examine(description: str) -> Inquiry | None:
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
    """A panic, with the type of what it was raised with where that is no plain text."""
    kind = str(body.get("exceptionId") or "panic")
    stack = str((body.get("details") or {}).get("stackTrace") or "")
    lines = [
        TracebackLine(
            each["path"],
            int(each["line"]),
            places.function_name(each["function"]),
            library=places.is_library(each["path"], Attach()),
        )
        for each in _STACK.finditer(stack)
    ]
    message = _plain_reason(str(body.get("description") or ""))
    return ExceptionInfo(kind, message, tuple(reversed(lines)))


def _plain_reason(text: str) -> str:
    """Return what was panicked with as the program would print it, where that can be told."""
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

_MARKS = ("\x01", "\x02")


def _wire(wanted: Sequence[WantedBreakpoint], log_channel: str | None) -> list[Wired]:
    """Put a logpoint's message between marks, to know it again among the debugger's own words."""
    begin, end = _MARKS
    return [
        replace(entry, fields={**entry.fields, "logMessage": f"{begin}{entry.wanted.log}{end}"})
        if entry.wanted.log is not None
        else entry
        for entry in as_dap(wanted, log_channel)
    ]


#: may yet come true in another program of the workspace
_NOT_HERE = re.compile(r'could not find file|location ".*" not found')


_NO_CODE = re.compile(r"could not find statement at .*:(?P<line>\d+), .*")


def _check_bound(wanted: WantedBreakpoint, bound: BoundBreakpoint) -> BoundBreakpoint:
    """Everything is there when a Go program begins: what is not bound then never is."""
    if bound.verified or _NOT_HERE.match(bound.message or ""):
        return bound
    found = _NO_CODE.fullmatch(bound.message or "")
    message = f"line {found['line']} has no code" if found else bound.message
    return replace(bound, message=message, rejected=True)


def _alias(target: Target, name: str) -> str:
    """Return a function of the program's own package with that: others may be called the same."""
    if name == "main" or not name.isidentifier():
        return "main.main" if name == "main" else name
    recipe = target.recipe if isinstance(target, Launch) else None
    source = recipe.source if recipe is not None else target.cwd
    package = places.package_of(name, source if os.path.isdir(source) else os.path.dirname(source))
    if package == "main" and recipe is not None and recipe.product.endswith(".test"):
        return name  # a test's main is another one
    if package:
        return f"{package}.{name}"
    program = target.program if isinstance(target, Launch) else None
    return (places.own_function(name, program) if program else None) or name


_CHATTER = re.compile(
    r"> \[Go \d+\]: $|Closing client session|Type 'dlv help'|Process \d+ has exited"
    r"|Detaching|detaching|Step interrupted by a breakpoint|\s*$"
    # Said at the start, in our words.
    r"|Unable to retrieve goroutines: could not find goroutine array"
)


def _brief_error(text: str) -> str:
    text = re.sub(r"^it failed: interface \{\}\(.+?\) ", "the call panicked: ", text)
    return re.sub(
        r"^Unable to (evaluate expression|set variable|run dlv command): ", "", text
    ).strip()


def _call(expression: str, complaint: str) -> str | None:
    """Functions of the program are called only when that is said."""
    return f"call {expression}" if "without using 'call'" in complaint else None


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
    # Hits are counted here.
    extra_features=frozenset({Feature.REGISTERS, Feature.HIT_COUNTS, Feature.EXCEPTIONS}),
    # It starts a program again without stopping for breakpoints (1.27.2); we start it anew. Memory
    # it reads only where it named a slice or string itself, and no expression is told its name.
    lacks=frozenset({Feature.RESTART, Feature.MEMORY_READ, Feature.MEMORY_WRITE}),
    hints={
        Feature.DETACH: "dbg stop",
        Feature.STEP_BACK: "dbg restart",
        Feature.MEMORY_READ: "dbg print EXPRESSION",
        Feature.MEMORY_WRITE: "dbg set NAME VALUE",
    },
    start=Start(
        reverse=lambda target: not _is_served(target),
        entry_function=lambda target: "main.main",
        explain_failure=explain_failure,
    ),
    end=End(
        signal=_signal,
        read_output=_read_end,
        told_at_leave=True,
        # It ends what it started when it is left.
        leaves=lambda target: not isinstance(target, Launch),
        stays_halted=_is_served,
    ),
    stops=Stops(
        read=_read_stop,
        was_running=places.was_running,
        halts_unseen=True,
        # 1.27.2, of a program that is linked with C.
        deaf_to_pause=lambda target: isinstance(target, Attach) and not _is_served(target),
        leaves_step=lambda text: text.startswith("Step interrupted by a breakpoint"),
    ),
    returns=Returns(
        is_return=lambda text: text == "RET",
        is_padding=lambda text: text.startswith("INT "),
        results=places.result_names,
        frame="runtime.frameoff",
        condition=lambda thread, frame: (
            f"runtime.curg.goid == {thread} && runtime.frameoff == {frame}"
        ),
    ),
    breakpoints=Breakpoints(
        wire=_wire,
        logs_functions=False,
        one_a_place=True,
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
        names={ours: theirs for theirs, ours in _FILTERS.items()},
        functions={failures.NAME: failures.FUNCTION},
        examine=_examine,
        read=_read_exception,
    ),
    frames=Frames(
        read=places.read_frame,
        function_name=places.function_name,
        thread_name=places.thread_name,
        thread_id=places.thread_id,
        is_library=places.is_library,
        sourceless_is_library=True,
        argument_names=places.argument_names,
    ),
    values=Values(
        enrich=values.enrich,
        hides=values.hides,
        pages=True,
        nameless=values.is_nameless,
    ),
    expressions=Expressions(
        context="repl",
        statement_context="repl",
        brief_error=_brief_error,
        again=_call,
        failure="~panic",
    ),
    raw=Raw(prefix="dlv "),
    output=Output(
        of_program=False,
        chatter=lambda text: _CHATTER.match(text) is not None,
        log_marks=_MARKS,
    ),
    children=Children(ways=STAYS),
)
