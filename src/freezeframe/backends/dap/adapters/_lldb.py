"""What the LLDB-based adapters share: parsers of LLDB's output and the commands sent to LLDB."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends import lldb, native_tests, rust_symbols, sanitizers
from freezeframe.backends.backend import BreakpointRequest, Feature, RawFrame, RawValue, Target
from freezeframe.backends.debug_info import has_types
from freezeframe.backends.lldb import OPTIMIZED_OUT as OPTIMIZED_OUT
from freezeframe.backends.lldb import SIGNALS as SIGNALS
from freezeframe.backends.lldb import brief_error as brief_error
from freezeframe.backends.lldb import first_commands as first_commands
from freezeframe.backends.lldb import read_exit as read_exit
from freezeframe.backends.lldb import sysroot as sysroot
from freezeframe.backends.native import (
    explain_failure,
    has_abi_tags,
    in_last_parentheses,
    is_own_code,
    is_rust,
    is_stripped,
    panic_function,
    panic_info,
    plain_function,
    read_uncaught_exception,
    rust_main,
    without_parameters,
)
from freezeframe.backends.transport.system_calls import only_waits
from freezeframe.model.stops import StopReason

from . import _lldb_exceptions as exceptions
from . import _native_tests
from ._descriptor import (
    AdapterBreakpoint,
    AdapterOutput,
    Breakpoints,
    Children,
    End,
    Exceptions,
    Expressions,
    Frames,
    FunctionFilter,
    ModuleBreakpoint,
    Raw,
    Start,
    Stops,
    Values,
    as_dap,
)

# --- startup ------------------------------------------------------------------------------------


def streams(stdio: tuple[str, str, str]) -> list[str]:
    """Return the commands that redirect a program's streams, for adapters without an option for it.
    They must be sent right before the launch."""
    names = ("input", "output", "error")
    paths = [
        f'settings set target.{name}-path "{path}"' for name, path in zip(names, stdio, strict=True)
    ]
    return [*paths, lldb.OUTPUT_BY_LINE]


# --- stops --------------------------------------------------------------------------------------


def read_stop(body: Mapping[str, Any]) -> tuple[StopReason, str | None] | None:
    """Return the real reason: LLDB's adapters call every signal an exception, and that of a core
    file an entry."""
    description = body.get("description") or body.get("text") or ""
    if re.match(r"watchpoint \d+", description):
        return StopReason.WATCHPOINT, None  # a breakpoint, to lldb-dap 19
    reported = re.match(r"[A-Z]", description) is not None or sanitizers.is_lldb_stop(description)
    if body.get("reason") in ("breakpoint", "unknown") and reported:
        # A sanitizer's report, such as `Heap buffer overflow`, at LLDB's internal breakpoint.
        return StopReason.EXCEPTION, description
    signalled = lldb.read_signal(description)
    if body.get("reason") not in ("exception", "signal", "entry") or signalled is None:
        return None
    name, description = signalled
    if body.get("reason") == "entry" and name == "SIGSTOP":
        return StopReason.PAUSE, None
    return StopReason.SIGNAL, description


#: separates a frame's bare name from its name with arguments, in the frame format requested
_BETWEEN = "\x1f"
FRAME_FORMAT = f"${{function.name-without-args}}{_BETWEEN}${{function.name-with-args}}"


def read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    """Remove the arguments from the name, and the source location from a frame without source."""
    name, between, full = str(body.get("name", "")).partition(_BETWEEN)
    arguments = in_last_parentheses(full) if between else None
    if arguments is not None:
        arguments = lldb.ADDRESS.sub(lambda m: f"0x{m[1]}", arguments)
        arguments = arguments.replace("=<unavailable>", "=<optimized out>")
        # How Rust's formatters show a slice, and the environment of a closure.
        arguments = re.sub(r"=size=(\d+)", r"=(\1 items)", arguments)
        arguments = re.sub(r"(^|, )\(null\)=[^,]*", "", arguments).removeprefix(", ")
    if re.fullmatch(r"0x[0-9a-fA-F]+|___lldb_unnamed_symbol\w+", name):
        name = "??"
    name = without_parameters(name.removeprefix("::"))
    frame = replace(
        frame, function=plain_function(name) or frame.function, arguments=arguments or None
    )
    if frame.address is not None:
        frame = replace(frame, address=f"{int(frame.address, 0):#x}")
    if frame.path is not None and "`" in os.path.basename(frame.path):
        # The "source" is a listing of the instructions of one function in a module.
        module = os.path.basename(frame.path.partition("`")[0])
        return replace(frame, path=None, line=None, column=None, module=module, source_reference=0)
    return replace(frame, module=None) if frame.path is not None else frame


def is_library(path: str, target: Target) -> bool:
    return lldb.is_library(path.partition("`")[0])


def is_own(frame: RawFrame, target: Target) -> bool:
    return is_own_code(target.program, frame.module, frame.function)


def exit_signal(code: int, last_signal: str | None) -> str | None:
    """Return the fatal signal, whose number LLDB gives as the exit code."""
    if last_signal is None:
        return None
    try:
        return last_signal if signal.Signals[last_signal].value == code else None
    except KeyError:
        return None


def exit_question(code: int) -> str | None:
    """Return the command for an exit code that may be a signal number: the server's packets
    decide."""
    return "process plugin packet history" if 0 < code < 65 else None


# --- values -------------------------------------------------------------------------------------


_INNARDS = re.compile(r"(?:\.(?:_M_|__)\w+)+->\[")


def enrich(value: RawValue, body: Mapping[str, Any]) -> RawValue:
    # LLDB's path of a pointer member dereferences the pointer: `*(node->next)`.
    path = re.fullmatch(r"\*\((.+)\)", value.expression or "")
    if path and re.search(rf"(->|\.){re.escape(value.name)}$", path[1]):
        value = replace(value, expression=path[1])
    # Its path of a pointer's target is not an expression either: `x->*x`.
    target = re.fullmatch(r"(.+?)(?:->|\.)\*\w+", value.expression or "")
    if target is not None and value.name.startswith("*"):
        value = replace(value, expression=f"*{target[1]}")
    # A path to an element through a container's internal members is not an expression:
    # `cart.rows._M_impl._M_start->[1]`.
    if value.expression is not None and "->[" in value.expression:
        value = replace(value, expression=_INNARDS.sub("[", value.expression))
    if value.expression is not None and re.match(r"\*?\(?\[|.*\.key ", value.expression):
        # A formatter made the value: LLDB has no path to it.
        value = replace(value, expression=None)
    return lldb.enriched(value)


#: LLDB's name of a variable that shares its name with another: `x @ app.c:18`
_ONE_OF_SEVERAL = re.compile(r"(?P<name>\S+) @ .*:(?P<line>\d+)")


def visible(values: Sequence[RawValue]) -> Sequence[RawValue]:
    """Return only the innermost of several variables of one name: LLDB lists outer blocks first."""
    found: list[RawValue] = []
    at: dict[str, int] = {}
    for value in values:
        match = _ONE_OF_SEVERAL.fullmatch(value.name)
        if match is None:
            found.append(value)
            continue
        name = match["name"]
        value = replace(value, name=name, expression=name, declared=int(match["line"]))
        if name in at:
            found[at[name]] = value
        else:
            at[name] = len(found)
            found.append(value)
    return found


def hides(variable: Mapping[str, Any]) -> bool:
    """Return True for values that the compiler made and gave no name."""
    return str(variable.get("name", "")).startswith("<null>") and not nameless(variable)


def nameless(variable: Mapping[str, Any]) -> bool:
    """Return True for unnamed unions and structs, in another one or among locals."""
    kind = str(variable.get("type", ""))
    return variable.get("name") in ("<null>", "") and ("(unnamed " in kind or "(anonymous " in kind)


#: LLDB's message where a file has no variables, and where the debug information lists none
_NO_VARIABLES = "no variable information is available"


def absent(variable: Mapping[str, Any], target: Target) -> bool:
    """Return True if there are no variables although the debug information would list them."""
    unavailable = variable.get("name") == "<error>" and _NO_VARIABLES in str(variable.get("value"))
    return unavailable and target.program is not None and has_types(target.program)


#: the command that lists the arguments of a frame
ARGUMENTS = "frame variable --no-locals --depth 0 --ptr-depth 0"


def read_arguments(text: str) -> Sequence[str]:
    """Return the names in the output of `frame variable`: each follows its type."""
    lines = [line for line in text.splitlines() if line.startswith("(") and " = " in line]
    return [line.partition(" = ")[0].rpartition(" ")[2] for line in lines]


def thread_to_resume(listing: str, thread: int) -> str | None:
    """Return the command that resumes only that thread, by LLDB's index of the thread."""
    match = re.search(rf"thread #(\d+): tid = (?:{thread}|{thread:#06x}|{thread:#x})\b", listing)
    return f"thread continue {match[1]}" if match else None


def jump_command(path: str, line: int) -> str:
    return f'thread jump --file "{path}" --line {line} --force'


def value_at(type: str, address: str) -> str | None:
    return f"*({type} *)({address})" if type and "[" not in type and "&" not in type else None


_LINE_ENTRY = re.compile(r"LineEntry: .*?\): (/.+?):(\d+)(?::\d+)?$", re.MULTILINE)


def read_line(text: str) -> tuple[str, int] | None:
    """Return the location in the output of `image lookup --verbose` for an address."""
    match = _LINE_ENTRY.search(text)
    return (match[1], int(match[2])) if match is not None else None


def disassemble_command(address: str, count: int) -> str:
    return f"disassemble --bytes --start-address {address} --count {count}"


_INSTRUCTION = re.compile(
    r"(?:->)?\s+(0x[0-9a-f]+)(?: <\+\d+>)?: +((?:[0-9a-f]{2} )*[0-9a-f]{2})  +(.*)"
)


def read_disassembly(text: str) -> Sequence[Mapping[str, Any]]:
    """Return the instructions of a listing as DAP has them."""
    return [
        {"address": match[1], "instructionBytes": match[2], "instruction": match[3]}
        for match in map(_INSTRUCTION.match, text.splitlines())
        if match is not None
    ]


# --- logpoints ----------------------------------------------------------------------------------

LOG_DELIMITERS = ("\x01log\x01", "\x02log\x02")
_PADDED = re.compile(r"\b0x[0-9a-f]{16}\b")
_LOG_ERROR = re.compile(r"<error: (.*?)\n>", re.DOTALL)


def encode_breakpoints(
    requests: Sequence[BreakpointRequest], log_channel: str | None
) -> list[AdapterBreakpoint]:
    """Put a logpoint's message between markers, to recognize it on the console."""
    begin, end = LOG_DELIMITERS
    return [
        replace(entry, fields={**entry.fields, "logMessage": f"{begin}{entry.request.log}{end}"})
        if entry.request.log is not None
        else entry
        for entry in as_dap(requests, log_channel)
    ]


def log_text(text: str) -> str:
    text = _LOG_ERROR.sub(lambda m: f"<{brief_error(m[1])}>", text)
    return _PADDED.sub(lambda m: hex(int(m[0], 16)), text)


# --- locations ----------------------------------------------------------------------------------


def entry_function(target: Target) -> str | None:
    """Return the user's main; for a program without symbols, the function that gets its address."""
    program = target.program
    if program is not None and is_stripped(program):
        return "__libc_start_main"
    return rust_main(program)


def function_alias(target: Target, name: str) -> str:
    if name == "rust_panic":
        return panic_function(target.program)
    if name == native_tests.FUNCTION:
        return native_tests.function_of(target.program) or name
    return rust_main(target.program) if name == "main" else name


def searches(target: Target) -> bool:
    return target.program is not None and (is_rust(target.program) or has_abi_tags(target.program))


def entry_address(target: Target) -> str | None:
    program = target.program
    return "$arg1" if program is not None and is_stripped(program) else None


def _make_breakpoint(request: BreakpointRequest, target: Target) -> str:
    location = request.location
    symbols = rust_symbols.matching(target.program, location.function or "")
    if location.module is None and symbols:
        command = "breakpoint set" + "".join(f' --name "{each}"' for each in symbols)
    elif location.module is None:
        command = f'breakpoint set --func-regex "{lldb.generic_function(location.function or "")}"'
    else:
        command = f'breakpoint set --shlib "{location.module}" --name "{location.function}"'
    if request.condition is not None:
        quoted = request.condition.replace("\\", "\\\\").replace('"', '\\"')
        command += f' --condition "{quoted}"'
    return command


def _read_breakpoint(text: str) -> tuple[int, bool] | None:
    match = re.search(r"Breakpoint (\d+): (no locations)?", text)
    return (int(match[1]), match[2] is None) if match else None


# --- shared groups ------------------------------------------------------------------------------

START = Start(
    stdio_fifos=True,
    entry_function=entry_function,
    explain_failure=explain_failure,
)
END = End(signal=exit_signal, question=exit_question, read=read_exit)
STOPS = Stops(
    read=read_stop,
    # LLDB that is halted while it loads libraries does not resume the program.
    halts_unseen=lambda pid: pid is not None and only_waits(pid),
    watches_after=True,
)
BREAKPOINTS = Breakpoints(
    encode=encode_breakpoints,
    one_per_location=True,
    # LLDB 22 evaluates the old condition if it was evaluated before it was changed.
    keeps_conditions=True,
    counts_hits=False,
    function_alias=function_alias,
    in_module=ModuleBreakpoint(
        _make_breakpoint, _read_breakpoint, lambda number: f"breakpoint delete {number}"
    ),
    searches=searches,
    # A hook that writes replaces `once_a_pass`.
    logs=lambda target: target.program is None or not is_rust(target.program),
    reads_see_writes=True,
    watch_by_address=True,
    value_at=value_at,
)
EXCEPTIONS = Exceptions(
    offered=exceptions.offered,
    names={"throw": "cpp_throw", "catch": "cpp_catch"},
    commands=exceptions.commands,
    functions={"panic": FunctionFilter("rust_panic", panic_info), **_native_tests.FUNCTIONS},
    examines=True,
    examine=exceptions.examine,
    complete=sanitizers.complete,
    read_uncaught_exception=read_uncaught_exception,
)
FRAMES = Frames(
    read=read_frame,
    is_library=is_library,
    sourceless_is_library=True,
    guesses_depth=True,
    unset_command=lldb.UNSET,
    code_query=lldb.optimized.command,
    read_code=lldb.optimized.read,
)
VALUES = Values(
    hides=hides,
    pages_unsized=True,
    is_anonymous_member=nameless,
    enrich=enrich,
    returned_prefixes=("(Return Value)",),
)
EXPRESSIONS = Expressions(
    statement_context="watch",
    brief_error=brief_error,
    assignment=lambda target, value: f"{target} = {value}",
)
RAW = Raw(
    save_core=lambda path: f'process save-core --style full "{path}"',
    jump=jump_command,
    force_return=lambda value: f"thread return {value or ''}".rstrip(),
    line_at=lambda address: f"image lookup --verbose --address {address:#x}",
    read_line=read_line,
)
OUTPUT = AdapterOutput(log_delimiters=LOG_DELIMITERS, log_text=log_text)
#: features that the adapters do not advertise but have, through the commands above
FEATURES = frozenset({Feature.REGISTERS, Feature.SET, Feature.JUMP, Feature.SINGLE_THREAD})

# --- children -----------------------------------------------------------------------------------

CHILDREN = Children(fork_modes=lldb.FORKS)
