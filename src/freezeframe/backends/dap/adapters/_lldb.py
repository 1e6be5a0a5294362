"""What the debuggers built on LLDB have in common: its words, read; its language, written."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends import lldb, native_tests
from freezeframe.backends.backend import (
    Feature,
    RawFrame,
    RawValue,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.lldb import OPTIMIZED_OUT as OPTIMIZED_OUT
from freezeframe.backends.lldb import SIGNALS as SIGNALS
from freezeframe.backends.lldb import brief_error as brief_error
from freezeframe.backends.lldb import first_commands as first_commands
from freezeframe.backends.lldb import read_exit as read_exit
from freezeframe.backends.lldb import sysroot as sysroot
from freezeframe.backends.native import (
    explain_failure,
    in_last_parentheses,
    is_own_code,
    is_rust,
    is_stripped,
    panic_function,
    panic_info,
    plain_function,
    read_last_words,
    rust_main,
    without_parameters,
)
from freezeframe.backends.sources import has_types
from freezeframe.model.stops import StopReason

from . import _lldb_exceptions as exceptions
from . import _native_tests
from ._descriptor import (
    Breakpoints,
    Children,
    End,
    Exceptions,
    Expressions,
    Frames,
    FunctionFilter,
    ModuleBreakpoint,
    Output,
    Raw,
    Start,
    Stops,
    Values,
    Wired,
    as_dap,
)

# --- what it is told first ----------------------------------------------------------------------


def streams(stdio: tuple[str, str, str]) -> list[str]:
    """Return the commands that connect a program's streams, for adapters without a way of their
    own. They must come right before the launch."""
    names = ("input", "output", "error")
    return [
        f'settings set target.{name}-path "{path}"' for name, path in zip(names, stdio, strict=True)
    ]


# --- stops --------------------------------------------------------------------------------------


def read_stop(body: Mapping[str, Any]) -> tuple[StopReason, str | None] | None:
    """LLDB's adapters call every signal an exception, and that of a core file an entry."""
    words = body.get("description") or body.get("text") or ""
    if re.match(r"watchpoint \d+", words):
        return StopReason.WATCHPOINT, None  # a breakpoint, to lldb-dap 19
    if body.get("reason") in ("breakpoint", "unknown") and re.match(r"[A-Z]", words):
        # What a sanitizer found: `Heap buffer overflow`, at a breakpoint of LLDB's own.
        return StopReason.EXCEPTION, words
    signalled = lldb.read_signal(words)
    if body.get("reason") not in ("exception", "signal", "entry") or signalled is None:
        return None
    name, description = signalled
    if body.get("reason") == "entry" and name == "SIGSTOP":
        return StopReason.PAUSE, None
    return StopReason.SIGNAL, description


#: between a frame's bare name and its name with arguments, in what we ask for
_BETWEEN = "\x1f"
FRAME_FORMAT = f"${{function.name-without-args}}{_BETWEEN}${{function.name-with-args}}"


def read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    """Take the arguments off the name, and the place off a frame that has only instructions."""
    name, between, full = str(body.get("name", "")).partition(_BETWEEN)
    arguments = in_last_parentheses(full) if between else None
    if arguments is not None:
        arguments = lldb.ADDRESS.sub(lambda m: f"0x{m[1]}", arguments)
        arguments = arguments.replace("=<unavailable>", "=<optimized out>")
        # What Rust's formatters say of a slice, and the environment of a closure.
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
        # Its "source" is a listing of the instructions of one function in a module.
        module = os.path.basename(frame.path.partition("`")[0])
        return replace(frame, path=None, line=None, column=None, module=module, source_reference=0)
    return replace(frame, module=None) if frame.path is not None else frame


def is_library(path: str, target: Target) -> bool:
    return lldb.is_library(path.partition("`")[0])


def is_own(frame: RawFrame, target: Target) -> bool:
    return is_own_code(target.program, frame.module, frame.function)


def exit_signal(code: int, last_signal: str | None) -> str | None:
    """LLDB gives the number of a fatal signal as the exit code."""
    if last_signal is None:
        return None
    try:
        return last_signal if signal.Signals[last_signal].value == code else None
    except KeyError:
        return None


def exit_question(code: int) -> str | None:
    """An exit code that could as well be a signal: the packets that its server sent tell."""
    return "process plugin packet history" if 0 < code < 65 else None


# --- values -------------------------------------------------------------------------------------


_INNARDS = re.compile(r"(?:\.(?:_M_|__)\w+)+->\[")


def enrich(value: RawValue, body: Mapping[str, Any]) -> RawValue:
    # LLDB's path of a member that is a pointer leads to what it points to: `*(node->next)`.
    path = re.fullmatch(r"\*\((.+)\)", value.expression or "")
    if path and re.search(rf"(->|\.){re.escape(value.name)}$", path[1]):
        value = replace(value, expression=path[1])
    # Nor is the way to an element through a container's own members an expression:
    # `cart.rows._M_impl._M_start->[1]`.
    if value.expression is not None and "->[" in value.expression:
        value = replace(value, expression=_INNARDS.sub("[", value.expression))
    return lldb.enriched(value)


#: LLDB's name of a variable that another one of its name is beside: `x @ app.c:18`
_ONE_OF_SEVERAL = re.compile(r"(?P<name>\S+) @ .*:(?P<line>\d+)")


def visible(values: Sequence[RawValue]) -> Sequence[RawValue]:
    """Of variables of one name the innermost is meant: LLDB lists outer blocks first."""
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
    """Values that the compiler made and gave no name."""
    return str(variable.get("name", "")).startswith("<null>") and not nameless(variable)


def nameless(variable: Mapping[str, Any]) -> bool:
    """Unions and structs that the user wrote without a name, in another one or among locals."""
    kind = str(variable.get("type", ""))
    return variable.get("name") == "<null>" and ("(unnamed " in kind or "(anonymous " in kind)


#: LLDB's words where a file has no variables, and where its debug information tells none
_NO_VARIABLES = "no variable information is available"


def absent(variable: Mapping[str, Any], target: Target) -> bool:
    """There are simply none, where the debug information would tell them."""
    said = variable.get("name") == "<error>" and _NO_VARIABLES in str(variable.get("value"))
    return said and target.program is not None and has_types(target.program)


def raw_failure(text: str) -> str | None:
    return brief_error(text) if text.lstrip().startswith("error:") else None


def read_arguments(text: str) -> Sequence[str]:
    """Return the names in what `frame variable` prints: each behind its type."""
    lines = [line for line in text.splitlines() if line.startswith("(") and " = " in line]
    return [line.partition(" = ")[0].rpartition(" ")[2] for line in lines]


def thread_to_resume(listing: str, thread: int) -> str | None:
    """Return the command that resumes only that thread: LLDB counts threads for itself."""
    match = re.search(rf"thread #(\d+): tid = (?:{thread}|{thread:#06x}|{thread:#x})\b", listing)
    return f"thread continue {match[1]}" if match else None


def jump_command(path: str, line: int) -> str:
    return f'thread jump --file "{path}" --line {line} --force'


def value_at(type: str, address: str) -> str | None:
    return f"*({type} *)({address})" if type and "[" not in type and "&" not in type else None


_LINE_ENTRY = re.compile(r"LineEntry: .*?\): (/.+?):(\d+)(?::\d+)?$", re.MULTILINE)


def read_line(text: str) -> tuple[str, int] | None:
    """Return the place in what `image lookup --verbose` says of an address."""
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

LOG_MARKS = ("\x01log\x01", "\x02log\x02")
_PADDED = re.compile(r"\b0x[0-9a-f]{16}\b")
_LOG_ERROR = re.compile(r"<error: (.*?)\n>", re.DOTALL)


def wire_breakpoints(wanted: Sequence[WantedBreakpoint], log_channel: str | None) -> list[Wired]:
    """Put a logpoint's message between marks, to know it again on the console."""
    begin, end = LOG_MARKS
    return [
        replace(entry, fields={**entry.fields, "logMessage": f"{begin}{entry.wanted.log}{end}"})
        if entry.wanted.log is not None
        else entry
        for entry in as_dap(wanted, log_channel)
    ]


def log_text(text: str) -> str:
    text = _LOG_ERROR.sub(lambda m: f"<{brief_error(m[1])}>", text)
    return _PADDED.sub(lambda m: hex(int(m[0], 16)), text)


# --- places -------------------------------------------------------------------------------------


def entry_function(target: Target) -> str | None:
    """The user's main; of a program without symbols the function that is told where that is."""
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
    return target.program is not None and is_rust(target.program)


def entry_address(target: Target) -> str | None:
    program = target.program
    return "$arg1" if program is not None and is_stripped(program) else None


def _make_breakpoint(wanted: WantedBreakpoint) -> str:
    location = wanted.location
    if location.module is None:
        command = f'breakpoint set --func-regex "{lldb.generic_function(location.function or "")}"'
    else:
        command = f'breakpoint set --shlib "{location.module}" --name "{location.function}"'
    if wanted.condition is not None:
        quoted = wanted.condition.replace("\\", "\\\\").replace('"', '\\"')
        command += f' --condition "{quoted}"'
    return command


def _made_breakpoint(text: str) -> tuple[int, bool] | None:
    match = re.search(r"Breakpoint (\d+): (no locations)?", text)
    return (int(match[1]), match[2] is None) if match else None


# --- what its adapters share --------------------------------------------------------------------

START = Start(
    stdio_fifos=True,
    entry_function=entry_function,
    entry_address=entry_address,
    explain_failure=explain_failure,
)
END = End(signal=exit_signal, question=exit_question, read=read_exit)
STOPS = Stops(
    read=read_stop,
    ask_signal=lldb.ask_signal,
    read_signal=lldb.with_address,
    together=True,
    watches_after=True,
)
BREAKPOINTS = Breakpoints(
    wire=wire_breakpoints,
    one_a_place=True,
    counts_hits=False,
    function_alias=function_alias,
    in_module=ModuleBreakpoint(
        _make_breakpoint, _made_breakpoint, lambda number: f"breakpoint delete {number}"
    ),
    searches=searches,
    # A hook that writes takes the place of `once_a_pass`.
    logs=lambda target: not searches(target),
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
    read_last_words=read_last_words,
)
FRAMES = Frames(
    read=read_frame,
    is_library=is_library,
    is_own=is_own,
    sourceless_is_library=True,
    guesses_depth=True,
    ask_code=lldb.optimized.ask,
    read_code=lldb.optimized.read,
)
VALUES = Values(
    absent=absent,
    hides=hides,
    pages_unsized=True,
    nameless=nameless,
    visible=visible,
    enrich=enrich,
    returned_prefixes=("(Return Value)",),
)
EXPRESSIONS = Expressions(
    written=lldb.written,
    statement_context="watch",
    brief_error=brief_error,
    assignment=lambda target, value: f"{target} = {value}",
)
RAW = Raw(
    failure=raw_failure,
    save_core=lambda path: f'process save-core --style full "{path}"',
    jump=jump_command,
    force_return=lambda value: f"thread return {value or ''}".rstrip(),
    resume_only=("thread list", thread_to_resume),
    forget_steps=lldb.FORGET_STEPS,
    fresh_frames=lldb.FRESH_FRAMES,
    arguments="frame variable --no-locals --depth 0 --ptr-depth 0",
    read_arguments=read_arguments,
    line_at=lambda address: f"image lookup --verbose --address {address:#x}",
    read_line=read_line,
    disassemble=disassemble_command,
    read_disassembly=read_disassembly,
)
OUTPUT = Output(log_marks=LOG_MARKS, log_text=log_text)
#: what they do not advertise but can, by what stands above
FEATURES = frozenset({Feature.REGISTERS, Feature.SET, Feature.JUMP, Feature.SINGLE_THREAD})

# --- children -----------------------------------------------------------------------------------

CHILDREN = Children(ways=lldb.FORKS)
