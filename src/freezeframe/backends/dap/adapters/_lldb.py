"""What the debuggers built on LLDB have in common: its words, read; its language, written."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
from collections.abc import Generator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import Core, Launch, RawFrame, RawValue, Target, WantedBreakpoint
from freezeframe.backends.native import is_rust, is_stripped, plain_function, rust_main
from freezeframe.backends.transport.ask import answer
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason

from ._descriptor import Ask, Inquiry, ModuleBreakpoint, Thrown, Wired, as_dap

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


#: SIGINT is LLDB's own way to interrupt; to a program it means what it means elsewhere.
SIGNALS = ("process handle SIGINT --pass true --stop true --notify true",)


def _rust_commands(path: str) -> list[str]:
    commands = [
        f"settings set target.process.thread.step-avoid-regexp '{_RUST_LIBRARIES}'",
    ]
    root = _sysroot(path)
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
def _sysroot(path: str) -> str | None:
    rustc = shutil.which("rustc", path=path)
    if rustc is None:
        return None
    return (answer([rustc, "--print", "sysroot"], timeout_s=10) or "").strip() or None


# --- stops --------------------------------------------------------------------------------------

_SIGNAL = re.compile(r"(?:signal )?(SIG\w+)(?:: (.*))?")


def read_stop(body: Mapping[str, Any]) -> tuple[StopReason, str | None] | None:
    """LLDB's adapters call every signal an exception, and that of a core file an entry."""
    match = _SIGNAL.match(body.get("description") or "")
    if body.get("reason") not in ("exception", "signal", "entry") or match is None:
        return None
    if body.get("reason") == "entry" and match[1] == "SIGSTOP":
        return StopReason.PAUSE, None
    return StopReason.SIGNAL, f"{match[1]}: {match[2]}" if match[2] else match[1]


#: between a frame's bare name and its name with arguments, in what we ask for
_BETWEEN = "\x1f"
FRAME_FORMAT = f"${{function.name-without-args}}{_BETWEEN}${{function.name-with-args}}"


def read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    """Take the arguments off the name, and the place off a frame that has only instructions."""
    name, between, full = str(body.get("name", "")).partition(_BETWEEN)
    arguments = _in_last_parentheses(full) if between else None
    if arguments is not None:
        arguments = _ADDRESS.sub(lambda m: f"0x{m[1]}", arguments)
    if re.fullmatch(r"0x[0-9a-fA-F]+|___lldb_unnamed_symbol\w+", name):
        name = "??"
    name = _without_parameters(name.removeprefix("::"))
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


def _without_parameters(name: str) -> str:
    """Return a C++ function's name without the types of its parameters."""
    plain = re.sub(r"( const| volatile| &+)*$", "", name)
    inside = _in_last_parentheses(plain)
    if inside is None or plain.endswith(("operator()", "(anonymous namespace)")):
        return name
    return plain[: -len(inside) - 2] or name


def _in_last_parentheses(text: str) -> str | None:
    text = text.rstrip()
    if not text.endswith(")"):
        return None
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[index], 0)
        if depth == 0:
            return text[index + 1 : -1]
    return None


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
_UNREADABLE = re.compile(r"read memory from (0x[0-9a-f]+) failed")
#: pointers whose target says less than their own text
_PLAIN_POINTER = re.compile(r"(char|void|uchar|signed char|unsigned char|wchar_t|\(.*)\W*\*")
_OPTIMIZED_OUT = re.compile(r"not available|DW_OP|no location|optimized out")


def enrich(value: RawValue, body: Mapping[str, Any]) -> RawValue:
    """Shorten addresses; open what shows only its type, its size or the address of a struct."""
    text = value.text
    if text.startswith(("<error:", "error:")):
        return _failed(value, text)
    before, quote, after = text.partition('"')
    text = _ADDRESS.sub(lambda m: f"0x{m[1]}", before) + quote + after
    text = _RUST_CHAR.sub(lambda m: m[1], text)
    if (optional := re.fullmatch(r"\s*Has Value=(true|false)\s*", text)) is not None:
        text = "" if optional[1] == "true" else "nullopt"
    kind = value.type or ""
    bare = re.sub(r"^(const |volatile |struct |class |union |enum )+", "", kind)
    count = _COUNT.fullmatch(text)
    pointer = re.fullmatch(r"0x[0-9a-f]+", text) is not None
    if pointer and "unique_ptr<" in bare:
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
    if _OPTIMIZED_OUT.search(words):
        return replace(value, text="<optimized out>", ref=0)
    if (unreadable := _UNREADABLE.search(words)) is not None:
        words = f"no memory at {_ADDRESS.sub(lambda m: f'0x{m[1]}', unreadable[1])}"
    return replace(value, text=words, failed=True, ref=0)


def hides(variable: Mapping[str, Any]) -> bool:
    """Values that the compiler made and gave no name."""
    return str(variable.get("name", "")).startswith("<null>")


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

LOG_MARKS = ("\x01", "\x02")
_PADDED = re.compile(r"\b0x0{4}([0-9a-f]{12})\b")
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
    return _PADDED.sub(lambda m: f"0x{m[1]}", text)


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


MODULE_BREAKPOINT = ModuleBreakpoint(
    _make_breakpoint, _made_breakpoint, lambda number: f"breakpoint delete {number}"
)

# --- exceptions ---------------------------------------------------------------------------------


def offered_filters(
    offered: Sequence[ExceptionFilter], target: Target
) -> tuple[ExceptionFilter, ...]:
    """C++'s own two under the names users know, and Rust's panics."""
    if isinstance(target, Core):
        return ()
    kept = [f for f in offered if f.name in ("cpp_throw", "cpp_catch")]
    renamed = [ExceptionFilter(f.name.removeprefix("cpp_"), f.label, default=False) for f in kept]
    rust = target.program is not None and is_rust(target.program)
    return (
        *renamed,
        ExceptionFilter("panic", "Rust panics", default=rust),
        ExceptionFilter("signal", "signals that end a program", default=True),
    )


#: signals that end a program by themselves, and mean that it is broken
_FATAL = "SIGSEGV SIGABRT SIGBUS SIGFPE SIGILL SIGSYS"


def filter_commands(names: Set[str]) -> Sequence[str]:
    stop = "true" if "signal" in names else "false"
    return (f"process handle --stop {stop} --notify {stop} --pass true {_FATAL}",)


#: the way from the unwinder's header back to the type in a C++ exception's own, on 64 bits
_TYPE_BEFORE_HEADER, _OBJECT_AFTER_HEADER = 80, 32
#: types that keep what they say behind their virtual table
_SAYING = ("std::runtime_error", "std::logic_error")
_MAX_BASES = 16


def examine(description: str) -> Inquiry | None:
    """Ask for the type and the words of a C++ exception, at the runtime's own functions."""
    lower = description.lower()
    if "throw" in lower:
        return _thrown("$arg2", "$arg1")
    if "catch" in lower:
        return _thrown(
            f"*(unsigned long*)($arg1 - {_TYPE_BEFORE_HEADER})",
            f"$arg1 + {_OBJECT_AFTER_HEADER}",
        )
    return None


def _thrown(type_expression: str, object_expression: str) -> Inquiry:
    info = yield Ask(f"(unsigned long)({type_expression})")
    where = yield Ask(f"(unsigned long)({object_expression})")
    first = _number(info)
    if not first:
        return None
    types = yield from _types(first)
    if not types:
        return None
    message = ""
    address = _number(where)
    if address and any(name in _SAYING for name in types):
        said = yield Ask(f"*(char**)({address + 8:#x})")
        message = _quoted(said or "")
    return Thrown(ExceptionInfo(types[0], message), tuple(types))


def _types(first: int) -> Generator[Ask, str | None, list[str]]:
    """Return the name of a type and of every one that it inherits from."""
    names: list[str] = []
    waiting = [first]
    while waiting and len(names) < _MAX_BASES:
        info = waiting.pop(0)
        mangled = _quoted((yield Ask(f"*(char**)({info + 8:#x})")) or "").lstrip("*")
        if not mangled:
            continue
        told = yield Ask(f"language cplusplus demangle _ZTS{mangled}", raw=True)
        name = (told or "").partition("typeinfo name for ")[2].strip()
        if not name or name in names:
            continue
        names.append(name)
        table = _number((yield Ask(f"*(unsigned long*)({info:#x})")))
        kind = (yield Ask(f"image lookup --address {table:#x}", raw=True)) if table else None
        if kind and "__si_class_type_info" in kind:
            waiting.append(_number((yield Ask(f"*(unsigned long*)({info + 16:#x})"))) or 0)
        elif kind and "__vmi_class_type_info" in kind:
            count = _number((yield Ask(f"*(unsigned int*)({info + 20:#x})"))) or 0
            for index in range(min(count, _MAX_BASES)):
                base = yield Ask(f"*(unsigned long*)({info + 24 + 16 * index:#x})")
                waiting.append(_number(base) or 0)
        waiting = [each for each in waiting if each]
    return names


def _number(text: str | None) -> int | None:
    try:
        return int((text or "").split()[0], 0)
    except (IndexError, ValueError):
        return None


def _quoted(text: str) -> str:
    """Return the string behind a pointer's address."""
    inside = text.partition('"')[2]
    return inside.removesuffix('"').replace('\\"', '"')


_TERMINATE = re.compile(
    r"terminate called after throwing an instance of '(?P<type>.+)'"
    r"(?:\n\s*what\(\): +(?P<what>.*(?:\n(?! ).*)*))?"
)
_TERMINATING = re.compile(
    r"libc\+\+abi: terminating.*? exception of type (?P<type>[^:\n]+(?:::[^:\n]+)*)"
    r"(?:: (?P<what>.*))?"
)


def read_last_words(signal_name: str, words: str) -> ExceptionInfo | None:
    """Return the C++ exception that nobody caught, as the runtime told it before it aborted."""
    if signal_name != "SIGABRT":
        return None
    for pattern in (_TERMINATE, _TERMINATING):
        found = list(pattern.finditer(words))
        if found:
            return ExceptionInfo(
                found[-1]["type"], (found[-1]["what"] or "").strip(), mode="unhandled"
            )
    return None
