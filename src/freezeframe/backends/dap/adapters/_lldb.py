"""What the debuggers built on LLDB have in common: its words, read; its language, written."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import (
    Feature,
    Launch,
    RawFrame,
    RawValue,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.native import (
    explain_failure,
    in_last_parentheses,
    is_rust,
    is_stripped,
    panic_info,
    plain_function,
    read_last_words,
    rust_main,
    without_parameters,
)
from freezeframe.backends.transport.ask import answer
from freezeframe.model.stops import Exit, StopReason

from . import _lldb_exceptions as exceptions
from ._descriptor import (
    Breakpoints,
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

_HERE = os.path.dirname(__file__)
_PROBE = os.path.join(_HERE, "lldb_formats_probe.py")
_RUST_PROBE = os.path.join(_HERE, "lldb_rust_probe.py")
#: Rust's own libraries, as its two ways of mangling spell them: not stepped into
_RUST_LIBRARIES = r"^(<|_\$LT\$|_?&|\[)*(std|core|alloc|hashbrown|gimli|miniz_oxide)(::|\.\.)"


def first_commands(target: Target) -> list[str]:
    """Return the commands that make LLDB show what it can."""
    commands = [
        "settings set target.inline-breakpoint-strategy always",
        "settings set target.process.stop-on-exec false",
        f'command script import "{_PROBE}"',
    ]
    if isinstance(target, Launch) and target.prefer_child:
        # LLDB follows one of the two; the other runs on without a debugger.
        commands.append("settings set target.process.follow-fork-mode child")
    program = target.program
    if program is not None and is_rust(program):
        commands += _rust_commands(target.env.get("PATH", os.defpath))
    return commands


def streams(stdio: tuple[str, str, str]) -> list[str]:
    """Return the commands that connect a program's streams, for adapters without a way of their
    own. They must come right before the launch."""
    names = ("input", "output", "error")
    return [
        f'settings set target.{name}-path "{path}"' for name, path in zip(names, stdio, strict=True)
    ]


#: SIGINT is LLDB's own way to interrupt; to a program it means what it means elsewhere.
SIGNALS = ("process handle SIGINT --pass true --stop true --notify true",)


def _rust_commands(path: str) -> list[str]:
    commands = [
        f"settings set target.process.thread.step-avoid-regexp '{_RUST_LIBRARIES}'",
    ]
    root = sysroot(path)
    if root is None:
        return commands
    library = os.path.join(root, "lib", "rustlib")
    if os.path.exists(os.path.join(library, "etc", "lldb_lookup.py")):
        commands += [
            f'command script import "{library}/etc/lldb_lookup.py"',
            f'command source -s 1 "{library}/etc/lldb_commands"',
            f'command script import "{_RUST_PROBE}"',
        ]
    return commands


@functools.cache
def sysroot(path: str) -> str | None:
    rustc = shutil.which("rustc", path=path)
    if rustc is None:
        return None
    return (answer([rustc, "--print", "sysroot"], timeout_s=10) or "").strip() or None


# --- stops --------------------------------------------------------------------------------------

_SIGNAL = re.compile(r"(?:signal )?(SIG\w+)(?:: (.*))?")


def read_stop(body: Mapping[str, Any]) -> tuple[StopReason, str | None] | None:
    """LLDB's adapters call every signal an exception, and that of a core file an entry."""
    words = body.get("description") or body.get("text") or ""
    if re.match(r"watchpoint \d+", words):
        return StopReason.WATCHPOINT, None  # a breakpoint, to lldb-dap 19
    match = _SIGNAL.match(words)
    if body.get("reason") not in ("exception", "signal", "entry") or match is None:
        return None
    if body.get("reason") == "entry" and match[1] == "SIGSTOP":
        return StopReason.PAUSE, None
    return StopReason.SIGNAL, f"{match[1]}: {_fault(match[2])}" if match[2] else match[1]


#: LLDB's words for what a fault's code means → ours
_FAULTS = {
    "address not mapped to object": "no memory",
    "invalid permissions for mapped object": "no permission",
    "address access protected": "no permission",
    "sent by kernel (SI_KERNEL)": "no valid address",
    "illegal address": "nothing behind the mapping",
    "illegal alignment": "not aligned",
}


def _fault(words: str) -> str:
    what, _, address = words.partition(" (fault address=")
    plain = _FAULTS.get(what, what)
    return f"{plain} at address {address.rstrip(')')}" if address else plain


#: between a frame's bare name and its name with arguments, in what we ask for
_BETWEEN = "\x1f"
FRAME_FORMAT = f"${{function.name-without-args}}{_BETWEEN}${{function.name-with-args}}"


def read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    """Take the arguments off the name, and the place off a frame that has only instructions."""
    name, between, full = str(body.get("name", "")).partition(_BETWEEN)
    arguments = in_last_parentheses(full) if between else None
    if arguments is not None:
        arguments = _ADDRESS.sub(lambda m: f"0x{m[1]}", arguments)
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
    module = path.partition("`")[0]
    return not os.path.isabs(module) or module.startswith(("/usr/", "/build/", "/rustc/", "/lib"))


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


_LAST_PACKET = re.compile(r"read packet: \$([WX])([0-9a-f]+)")


def read_exit(text: str) -> Exit | None:
    packets = _LAST_PACKET.findall(text)
    if not packets:
        return None
    kind, number = packets[-1][0], int(packets[-1][1], 16)
    if kind == "W":
        return Exit(code=number)
    try:
        return Exit(signal=signal.Signals(number).name)
    except ValueError:
        return Exit(signal=f"signal {number}")


# --- values -------------------------------------------------------------------------------------

_ADDRESS = re.compile(r"\b0x0+([0-9a-f]+)\b")
_COUNT = re.compile(r"size=(\d+)")
#: of Rust's Rc, Arc and RefCell: who holds it, not what is in it
_HELD = re.compile(r"strong=\d+, weak=\d+|borrow(_mut)?=\d+")
_RUST_CHAR = re.compile(r"(?:U\+0x[0-9a-f]+ )+U('(?:\\.|.)[^']*')", re.DOTALL)
#: of C++'s shared pointers where they point to, of its variants nothing: what is inside says it
_SHARED = re.compile(r".* @ (0x[0-9a-f]+)(?: (?:strong|weak)=\d+)*|\s*Active Type = .*", re.DOTALL)
_MEMBERS = re.compile(r"(?:(0x[0-9a-f]+) )?\{.*\}", re.DOTALL)
_UNREADABLE = re.compile(r"read memory from (0x[0-9a-f]+) failed")
#: pointers whose target says less than their own text
_PLAIN_POINTER = re.compile(r"(char|void|uchar|signed char|unsigned char|wchar_t|\(.*)\W*\*")
OPTIMIZED_OUT = re.compile(r"not available|DW_OP|no location|optimized out")


def enrich(value: RawValue, body: Mapping[str, Any]) -> RawValue:
    """Shorten addresses; open what shows only its type, its size or the address of a struct."""
    text = value.text
    if value.name == "<error>":
        # In place of all variables, where the compiler wrote only lines (-g1).
        return _failed(replace(value, name="variables"), text)
    if text.startswith(("<error:", "error:")):
        return _failed(value, text)
    before, quote, after = text.partition('"')
    text = _ADDRESS.sub(lambda m: f"0x{m[1]}", before) + quote + after
    text = _RUST_CHAR.sub(lambda m: m[1], text)
    if text.endswith("<parent is NULL>"):
        text = text.split()[0]
    if (optional := re.fullmatch(r"\s*Has Value=(true|false)\s*", text)) is not None:
        text = "" if optional[1] == "true" else "nullopt"
    if value.ref and (shared := _SHARED.fullmatch(text)) is not None:
        text = shared[1] or ""
    kind = value.type or ""
    if value.ref and (members := _MEMBERS.fullmatch(text)) is not None:
        # A few of its members, made for logpoints: what is opened shows them all.
        text = members[1] or kind
    bare = re.sub(r"^(const |volatile |struct |class |union |enum )+", "", kind)
    count = _COUNT.fullmatch(text)
    pointer = re.fullmatch(r"0x[0-9a-f]+", text) is not None
    if pointer and re.search(r"(unique|shared|weak)_ptr<", bare):
        opaque = True
    elif pointer and kind.endswith(("*", "&")):
        opaque = not _PLAIN_POINTER.match(bare) and not kind.endswith("**")
    else:
        opaque = text in ("", kind, bare, "{...}") or count is not None
        opaque = opaque or _HELD.fullmatch(text) is not None
    # A pointer to nothing has children all the same, each of them an error.
    ref = 0 if text in ("0x0", "nullopt") else value.ref
    return replace(
        value,
        text=text,
        ref=ref,
        opaque=opaque and ref != 0,
        whole=text.startswith('"'),
        count=int(count[1]) if count else value.count,
    )


def _failed(value: RawValue, text: str) -> RawValue:
    words = re.sub(r"^<?error: |>$", "", text).strip()
    if OPTIMIZED_OUT.search(words):
        return replace(value, text="<optimized out>", ref=0)
    if (unreadable := _UNREADABLE.search(words)) is not None:
        words = f"no memory at {_ADDRESS.sub(lambda m: f'0x{m[1]}', unreadable[1])}"
    return replace(value, text=words, failed=True, ref=0)


def hides(variable: Mapping[str, Any]) -> bool:
    """Values that the compiler made and gave no name."""
    return str(variable.get("name", "")).startswith("<null>") and not nameless(variable)


def nameless(variable: Mapping[str, Any]) -> bool:
    """Unions and structs that the user wrote without a name, in another one or among locals."""
    kind = str(variable.get("type", ""))
    return variable.get("name") == "<null>" and ("(unnamed " in kind or "(anonymous " in kind)


def brief_error(text: str) -> str:
    """Return what is wrong without LLDB's preamble and the drawing of the expression."""
    for line in text.splitlines():
        if "error:" in line:
            return re.sub(r"^.*?error: (?:<user expression \d+>:\d+:\d+: )?", "", line).strip()
    return text.strip().splitlines()[0] if text.strip() else "no reason was given"


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
    return rust_main(target.program) if name == "main" else name


def searches(target: Target) -> bool:
    return target.program is not None and is_rust(target.program)


def entry_address(target: Target) -> str | None:
    program = target.program
    return "$arg1" if program is not None and is_stripped(program) else None


def _make_breakpoint(wanted: WantedBreakpoint) -> str:
    location = wanted.location
    if location.module is None:
        # A generic function: its name goes on behind the one that the user knows.
        name = re.escape(location.function or "")
        command = f'breakpoint set --func-regex "(^|::){name}(<.*>)?(::h[0-9a-f]+)?$"'
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
STOPS = Stops(read=read_stop, together=True, watches_after=True)
BREAKPOINTS = Breakpoints(
    wire=wire_breakpoints,
    one_a_place=True,
    counts_hits=False,
    function_alias=function_alias,
    in_module=ModuleBreakpoint(
        _make_breakpoint, _made_breakpoint, lambda number: f"breakpoint delete {number}"
    ),
    searches=searches,
    watch_by_address=True,
    value_at=value_at,
)
EXCEPTIONS = Exceptions(
    offered=exceptions.offered,
    names={"throw": "cpp_throw", "catch": "cpp_catch"},
    commands=exceptions.commands,
    functions={"panic": FunctionFilter("rust_panic", panic_info)},
    examines=True,
    examine=exceptions.examine,
    read_last_words=read_last_words,
)
FRAMES = Frames(
    read=read_frame, is_library=is_library, sourceless_is_library=True, guesses_depth=True
)
VALUES = Values(
    hides=hides, nameless=nameless, enrich=enrich, returned_prefixes=("(Return Value)",)
)
EXPRESSIONS = Expressions(
    statement_context="watch",
    brief_error=brief_error,
    assignment=lambda target, value: f"{target} = {value}",
)
RAW = Raw(
    failure=raw_failure,
    save_core=lambda path: f'process save-core --style full "{path}"',
    jump=jump_command,
    resume_only=("thread list", thread_to_resume),
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
