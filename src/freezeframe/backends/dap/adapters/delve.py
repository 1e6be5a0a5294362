"""Go, through delve (`dlv dap`).

Measured with delve 1.20.2, 1.24.2 and 1.27.2.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import (
    Attach,
    Core,
    Feature,
    Launch,
    RawFrame,
    RawValue,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.native import check_program, explain_failure, go_flags
from freezeframe.backends.transport.ask import answer
from freezeframe.backends.transport.process import signal_name
from freezeframe.config import AdapterConfig
from freezeframe.errors import Unsupported
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, TracebackLine

from ._descriptor import (
    Adapter,
    Breakpoints,
    End,
    Exceptions,
    Expressions,
    Frames,
    Output,
    Plan,
    Raw,
    Reverse,
    Spawn,
    Start,
    Surroundings,
    Values,
    Wired,
    as_dap,
)

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
    version = _version(path, os.stat(path).st_mtime_ns)
    return Found(path, version, (path, *config.args))


@functools.cache
def _version(path: str, stamp: int) -> str | None:
    match = re.search(r"Version: (\d[\w.]*)", answer([path, "version"]) or "")
    return match[1] if match else None


def _remark(program: str) -> str | None:
    """Say so when a program was optimised: what is shown of it then is less than it seems."""
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


def _plan(target: Target, around: Surroundings) -> Plan:
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
        if target.pid is None:
            raise Unsupported("delve joins processes here, not servers.", next="dbg attach PID")
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

#: its names of filters, and ours
_FILTERS = {"unrecovered-panic": "panic", "runtime-fatal-throw": "fatal"}


def _offered(offered: Sequence[ExceptionFilter], target: Target) -> Sequence[ExceptionFilter]:
    return [replace(each, name=_FILTERS.get(each.name, each.name)) for each in offered]


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
            _function_name(each["function"]),
            library=_is_library(each["path"], Attach()),
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


def _alias(target: Target, name: str) -> str:
    return "main.main" if name == "main" else name


_CHATTER = re.compile(
    r"> \[Go \d+\]: $|Type 'dlv help'|Process \d+ has exited|Detaching|detaching"
    r"|Step interrupted by a breakpoint|\s*$"
)

# --- frames and threads --------------------------------------------------------------------

_THREAD = re.compile(
    r"(?:\* )?\[Go (?P<id>\d+)(?P<labels>[^\]]*)\] (?P<function>.*?)(?: \(Thread \d+\))?"
)


def _thread_name(name: str) -> str:
    """Return a goroutine's pprof labels, which are what it can be told by."""
    match = _THREAD.fullmatch(name)
    if match is None:
        return name
    labels = match["labels"].split()
    return " ".join(label.partition(":")[2] or label for label in labels)


#: what the runtime's functions are entered for
_WAITS = {
    "runtime.chanrecv": "chan receive",
    "runtime.chansend": "chan send",
    "runtime.selectgo": "select",
    "runtime.block": "select without cases",
    "runtime.netpollblock": "IO wait",
    "time.Sleep": "sleep",
    "sync.(*Mutex).Lock": "lock",
    "sync.(*RWMutex).Lock": "lock",
    "sync.(*RWMutex).RLock": "read lock",
    "sync.(*WaitGroup).Wait": "wait group",
    "sync.(*Cond).Wait": "condition",
    "syscall.Syscall": "system call",
    "syscall.Syscall6": "system call",
}


def _read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    waits = _WAITS.get(frame.function)
    return replace(frame, waits=waits) if waits else frame


def _is_library(path: str, target: Target) -> bool:
    if "/pkg/mod/" in path or "/vendor/" in path:
        return True
    root, source, inside = path.rpartition("/src/")
    if source and _is_goroot(root):
        return True
    # Built with -trimpath, or elsewhere: packages of the standard library have no dot in front.
    first = inside.partition("/")[0] if source else ""
    return bool(source) and "." not in first and re.search(r"/go[-\d.]*$", root) is not None


@functools.lru_cache(maxsize=64)
def _is_goroot(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "src", "runtime", "proc.go"))


def _function_name(name: str) -> str:
    """Return a function's name with the last part of its package's path only."""
    return _PATH.sub("", name)


#: the folders before a package's own name
_PATH = re.compile(r"(?<![\w./~-])(?:[\w.~-]+/)+(?=[\w-]+\.)")
_SIGNATURE = r"^func\s*(?:\((?P<receiver>[^)]*)\)\s*)?%s(?:\[[^\]]*\])?\s*\("


def _argument_names(path: str, line: int, function: str) -> Sequence[str] | None:
    """Return the names in the signature of the function around a line, as its source has it."""
    name = re.sub(r"(\.func\d+(\.\d+)*|\[\.\.\.\])", "", function).rpartition(".")[2]
    if ".func" in function:
        return None
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = "".join(next(file, "") for _ in range(line))
    except OSError:
        return None
    found = list(re.finditer(_SIGNATURE % re.escape(name), text, re.MULTILINE))
    if not found:
        return None
    names = _names_in(found[-1]["receiver"] or "")
    return names + _names_in(_until_closed(text[found[-1].end() :]))


def _until_closed(text: str) -> str:
    depth = 1
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return text[:at]
    return text


def _names_in(parameters: str) -> list[str]:
    """Return `a`, `b` and `c` for `a, b int, c func(x int)`."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(parameters):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(parameters[begin:at])
            begin = at + 1
    parts.append(parameters[begin:])
    words = [part.split() for part in parts if part.strip()]
    return [each[0] for each in words if each[0].isidentifier()]


# --- values --------------------------------------------------------------------------------

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_QUOTED_TYPE = re.compile(r'\((\**)"([^"]+)"\)')
#: unsigned numbers are shown twice
_HEX = re.compile(r"(?<=[\d)]) = 0x[0-9a-f]+\b")
_BYTES = re.compile(r"(\[\](?:uint8|byte) len: \d+, cap: \d+, )\[([\d,]+)\]")


def _enrich(value: RawValue, variable: Mapping[str, Any]) -> RawValue:
    kind = _PATH.sub("", value.type) if value.type else None
    # Beside its elements a container has its length for a child.
    count = variable.get("indexedVariables") or value.count
    # Registers stand right-aligned.
    return replace(value, name=value.name.strip(), text=_text(value.text), type=kind, count=count)


def _hides(variable: Mapping[str, Any]) -> bool:
    """What the compiler adds, results that have no name and are not there yet, and lengths."""
    return str(variable.get("name", "")).startswith((".", "~", "len()", "cap()"))


def _text(text: str) -> str:
    """Return a value as it is shown, with short types and numbers once; strings as they are."""
    text = _QUOTED_TYPE.sub(lambda m: f"({m[1]}{_PATH.sub('', m[2])})", text)
    strings = _STRING.findall(text)
    text = _tidy(_STRING.sub("\0", text))
    for string in strings:
        text = text.replace("\0", string, 1)
    return text


def _tidy(text: str) -> str:
    text = _HEX.sub("", _PATH.sub("", text))
    text = _BYTES.sub(lambda m: m[1] + _as_text(m[2]), text)
    text = re.sub(r",(?=[^\s])", ", ", text)
    return text.replace(", ]", "]").replace(", }", "}")


def _as_text(numbers: str) -> str:
    """Return bytes as the string that they spell, where they do."""
    spelled = bytes(int(number) for number in numbers.split(","))
    try:
        text = spelled.decode("utf-8")
    except UnicodeDecodeError:
        return f"[{numbers}]"
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else f"[{numbers}]"


def _brief_error(text: str) -> str:
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
    extra_features=frozenset({Feature.REGISTERS, Feature.HIT_COUNTS}),
    # It starts a program again without stopping for breakpoints (1.27.2); we start it anew.
    lacks=frozenset({Feature.RESTART}),
    hints={Feature.DETACH: "dbg stop", Feature.STEP_BACK: "dbg restart"},
    start=Start(
        reverse=lambda target: True,
        entry_function=lambda target: "main.main",
        explain_failure=explain_failure,
    ),
    end=End(
        signal=_signal,
        read_output=_read_end,
        told_at_leave=True,
        # It ends what it started when it is left.
        leaves=lambda target: not isinstance(target, Launch),
    ),
    breakpoints=Breakpoints(wire=_wire, one_a_place=True, counts_hits=False, function_alias=_alias),
    exceptions=Exceptions(
        offered=_offered,
        names={ours: theirs for theirs, ours in _FILTERS.items()},
        read=_read_exception,
    ),
    frames=Frames(
        read=_read_frame,
        function_name=_function_name,
        thread_name=_thread_name,
        is_library=_is_library,
        sourceless_is_library=True,
        argument_names=_argument_names,
    ),
    values=Values(
        enrich=_enrich,
        hides=_hides,
        pages=True,
        # What a pointer points to.
        nameless=lambda variable: variable.get("name") == "",
    ),
    expressions=Expressions(
        context="repl",
        statement_context="repl",
        brief_error=_brief_error,
        again=_call,
    ),
    raw=Raw(prefix="dlv "),
    output=Output(
        of_program=False,
        chatter=lambda text: _CHATTER.match(text) is not None,
        log_marks=_MARKS,
    ),
)
