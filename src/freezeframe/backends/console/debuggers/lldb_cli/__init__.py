"""C, C++ and Rust through LLDB's own prompt, for machines that have it and no debug adapter.

`main_probe.py` gives LLDB one more command, that takes and answers JSON; so an LLDB without Python
is refused. Measured with LLDB 14.0.6, 19.1.7 and 22.1.8 on Debian 12.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from freezeframe.backends import lldb
from freezeframe.backends.backend import (
    Attach,
    Core,
    Feature,
    Launch,
    RawFrame,
    RawValue,
    StepKind,
    Target,
)
from freezeframe.backends.console.prompt.backend import prompted
from freezeframe.backends.console.prompt.spelling import (
    Ask,
    At,
    Begin,
    Halt,
    Home,
    Line,
    Made,
    Spelling,
)
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.native import (
    binary_kind,
    check_program,
    explain_failure,
    is_stripped,
    panic_info,
    read_last_words,
    rust_main,
)
from freezeframe.backends.transport import xcrun
from freezeframe.backends.transport.ask import version
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.answers import Instruction
from freezeframe.model.places import Location
from freezeframe.model.stops import (
    ExceptionFilter,
    ExceptionInfo,
    Exit,
    Thread,
)
from freezeframe.model.values import ScopeKind

from . import words

_PROBE = str(Path(__file__).with_name("main_probe.py"))
_STEPS = {StepKind.OVER: "over", StepKind.INTO: "into", StepKind.OUT: "out"}
_KINDS = {
    ScopeKind.LOCALS: "locals",
    ScopeKind.GLOBALS: "globals",
    ScopeKind.REGISTERS: "registers",
}
#: words of LLDB's own that let the program run, or end it
_MOVING = re.compile(
    r"(c|continue|s|step|si|stepi|n|next|ni|nexti|finish|r|run|kill"
    r"|(process|pr\w*)\s+(continue|launch|kill)|(thread|t|th\w*)\s+(continue|step-\S+|until))(\s|$)"
)
#: words that would end the conversation, or begin one that waits for a person
_LEAVING = re.compile(r"(q|quit|exit|detach|process\s+detach)(\s|$)")
_ASKING = re.compile(r"(script|expression|expr|e|p|print|gui)\s*$|.*\bcommand\s+add\s+[^-]*$")


class Lldb(Spelling):
    """LLDB's words, and the one that the probe adds to them."""

    name = "lldb-cli"
    prompt = r"\(lldb\) "
    # LLDB repeats what it reads where nobody types; its answer names the token once more.
    marked = r"(?:apropos |No commands found pertaining to ')"
    own_conditions = True
    typed_filters = True
    # LLDB waits for the program, and for nothing else. Its program is not given this signal.
    interrupt = signal.SIGSTOP
    interrupts_program = True
    nearest = {Feature.STEP_BACK: "dbg restart"}
    scopes = (
        (ScopeKind.LOCALS, "Locals"),
        (ScopeKind.GLOBALS, "Globals"),
        (ScopeKind.REGISTERS, "Registers"),
    )

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._target: Target | None = None

    # --- the line

    def mark(self, token: str) -> str:
        # Of LLDB's own words the one that says any other again, with or without Python.
        # It asks when it reads, not before: the line behind makes it ask.
        return f"apropos {token}\nversion"

    def begin(self, target: Target, config: AdapterConfig) -> Begin:
        if isinstance(target, Launch):
            check_program(target)
        self._target = target
        program = target.program if target.program and binary_kind(target.program) else ""
        if not isinstance(target, Core):
            self.filters = (
                ExceptionFilter("throw", "C++ exceptions where they are thrown"),
                ExceptionFilter("catch", "C++ exceptions where they are caught"),
                *lldb.own_filters(target),
            )
        return Begin(
            (
                *self._command,
                *config.args,
                "--no-lldbinit",
                "--no-use-colors",
                "-O",
                f'command script import "{_PROBE}"',
            ),
            target.cwd,
            lldb.surroundings(target.env, self._command[0]),
            Line.STDIO,
            Home.LAUNCHED if isinstance(target, Launch) else Home.APART,
            settings=(
                *lldb.first_commands(target),
                words.ff("open_target", program),
                *lldb.SIGNALS,
            ),
        )

    def read_greeting(self, text: str) -> str | None:
        told = words.heard(text)
        if told is None:
            raise Unsupported(
                f"{' '.join(self._command)} cannot run Python, which {self.name} needs.",
                next="dbg adapters",
            )
        match = re.search(r"version (\S+)", str(told.get("hello", "")))
        return match[1] if match else None

    # --- running

    def run(self, target: Launch) -> str:
        streams = '["{stdin}", "{stdout}", "{stderr}"]'
        told = {
            "args": target.args,
            "cwd": target.cwd,
            "env": [f"{key}={value}" for key, value in target.env.items()],
        }
        # Braces of the program's own are not to be taken for the names of its files.
        rest = words.written(told).replace("{std", "\\u007bstd")
        return f'ff ["launch", {streams}, {rest}]'

    def join(self, target: Target) -> str | None:
        if isinstance(target, Attach) and target.host is not None:
            return words.ff("connect", target.host, target.port)
        if isinstance(target, Attach):
            return words.ff("attach", target.pid)
        return words.ff("core", target.core) if isinstance(target, Core) else None

    def explain(self, target: Target, said: str) -> tuple[str, str | None] | None:
        why = lldb.brief_error((words.heard(said) or {}).get("error") or said)
        if isinstance(target, Launch):
            return f"{os.path.basename(target.program)} could not be started: {why}.", "dbg logs"
        if isinstance(target, Core):
            name = os.path.basename(target.core)
            return f"{name} could not be opened: {why}.", "dbg core PROGRAM CORE"
        return explain_failure(target, why)

    def entry(self, target: Launch) -> Location:
        if is_stripped(target.program):
            # The function that is told where the nameless main is.
            return Location(function="__libc_start_main")
        return Location(function=rust_main(target.program))

    def resume(self, thread: int | None) -> str:
        return words.ff("go")

    def resume_only(self, thread: int) -> str:
        return words.ff("go", thread)

    def step(self, kind: StepKind, thread: int) -> str:
        return words.ff("step", _STEPS[kind], thread)

    def step_instruction(self, kind: StepKind, thread: int) -> str | None:
        if kind is StepKind.OUT:
            return None
        return words.ff("step", f"instruction-{_STEPS[kind]}", thread)

    def read_stop(self, text: str) -> Halt | None:
        told = (words.heard(text) or {}).get("answer")
        if not isinstance(told, dict):
            return None
        if "exit" in told:
            exit = lldb.read_exit(told.get("packets") or "")
            return Halt(exit=exit or Exit(code=told["exit"]))
        stop = told.get("stop")
        return None if stop is None else words.halt(stop)

    def refusal(self, text: str) -> str | None:
        told = words.heard(text) or {}
        if told.get("bug"):
            return f"LLDB's Python failed: {told['error'].strip().splitlines()[-1]}"
        if "error" in told:
            return lldb.brief_error(told["error"])
        said = (told.get("answer") or {}).get("said")
        return str(said).strip() if said else super().refusal(text)

    def moves(self, command: str) -> bool:
        return _MOVING.match(command.strip()) is not None

    def moving(self, command: str) -> str:
        return words.ff("raw", command)

    def jump(self, at: At, path: str, line: int) -> Ask[None]:
        def read(text: str) -> None:
            try:
                words.answer(text)
            except EvaluationFailed as error:
                raise DebuggerError(
                    f"no jump to line {line} from here: {error.message.rstrip('.')}.",
                    code="bad-jump",
                    next="dbg next",
                ) from None

        return Ask(words.ff("jump", at.thread, path, line), read)

    def force_return(self, at: At, value: str | None) -> Ask[None]:
        return Ask(words.ff("force_return", at.thread, value), lambda text: words.answer(text))

    def pid(self) -> Ask[int | None]:
        return Ask(words.ff("pid"), lambda text: int(words.answer(text)))

    def kill(self) -> str:
        return words.ff("kill")

    def detach(self) -> str:
        return words.ff("detach")

    # --- breakpoints

    def break_at(self, location: Location, condition: str | None) -> Ask[Made]:
        place: dict[str, object]
        if location.address is not None:
            place = {"address": location.address}
        elif location.function is not None:
            program = self._target.program if self._target is not None else None
            alias = rust_main(program) if location.function == "main" else location.function
            generic = lldb.generic_function(alias)
            place = {"function": alias, "module": location.module, "generic": generic}
        else:
            place = {"path": location.file, "line": location.line}

        return Ask(
            words.ff("break_at", place, condition), lambda text: words.made(words.answer(text))
        )

    def unbreak(self, number: str) -> str:
        return words.ff("unbreak", int(number))

    def truth(self, condition: str, at: At) -> Ask[bool]:
        return Ask(words.evaluation(condition, at, "truth"), lambda text: bool(words.answer(text)))

    def log_text(self, expression: str, at: At) -> Ask[str]:
        def read(text: str) -> str:
            return lldb.ADDRESS.sub(lambda m: f"0x{m[1]}", str(words.answer(text)))

        return Ask(words.evaluation(expression, at, "text"), read)

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        wanted = {each.name: each.condition or "" for each in filters}
        return (words.ff("filters", wanted, lldb.handle_fatal(wanted)),)

    # --- seeing

    def select(self, at: At, from_: At) -> Sequence[str]:
        return (words.ff("select", at.thread, at.level),)

    def threads(self) -> Ask[Sequence[Thread]]:
        return Ask(
            words.ff("threads"),
            lambda text: [Thread(each["id"], each["name"]) for each in words.answer(text)],
        )

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        target = self._target
        asks = target is not None and lldb.optimized.ask(target, start, count) is not None

        def read(text: str) -> Sequence[RawFrame]:
            told = words.answer(text)
            frames = [words.frame(each) for each in told]
            if target is None or not asks:
                return frames
            codes = lldb.optimized.codes(target, [each["code"] for each in told])
            return [
                replace(frame, optimized=code.optimized)
                for frame, code in zip(frames, codes, strict=True)
            ]

        return Ask(words.ff("frames", thread, start, count, asks), read)

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        return Ask(words.ff("scope", at.thread, at.level, _KINDS[kind]), words.values)

    def arguments(self, at: At) -> Ask[Sequence[str] | None]:
        return Ask(words.ff("arguments", at.thread, at.level), words.answer)

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]]:
        return Ask(
            words.ff("children", at.thread, at.level, expression, start, count), words.values
        )

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        def read(text: str) -> RawValue:
            value = words.value(words.answer(text))
            if value.failed:
                raise EvaluationFailed(value.text)
            return value

        return Ask(words.evaluation(expression, at, "show"), read)

    def assign(self, target: str, value: str, at: At) -> Ask[None]:
        return Ask(words.evaluation(f"{target} = {value}", at, "truth"), words.done)

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        return Ask(words.ff("exception", thread), lambda text: ExceptionInfo(**words.answer(text)))

    def last_words(self, info: ExceptionInfo, words: str) -> ExceptionInfo:
        if info.mode == "unhandled":
            return read_last_words("SIGABRT", words) or info
        return panic_info(words) if info.type == "panic" else info

    def raw(self, command: str) -> Ask[str]:
        plain = command.strip()
        if _LEAVING.match(plain):
            raise Unsupported(
                f"`{plain}` would end the session behind its back.", next="dbg detach"
            )
        if _ASKING.match(plain):
            raise Unsupported(f"`{plain}` waits for a person to type.", next=f"dbg raw '{plain} …'")

        def read(text: str) -> str:
            told = words.answer(text)
            if not told["good"]:
                raise EvaluationFailed(lldb.brief_error(told["said"]))
            return words.printed(text) + str(told["said"])

        return Ask(words.ff("raw", command), read)

    # --- machine level

    def read_memory(self, address: str, count: int) -> Ask[tuple[str, bytes, int]]:
        begin = int(address, 0)

        def read(text: str) -> tuple[str, bytes, int]:
            data = bytes.fromhex(words.answer(text))
            if not data:
                raise DebuggerError(f"no memory at {begin:#x} can be read.", code="no-memory")
            return f"{begin:#x}", data, count - len(data)

        return Ask(words.ff("read_memory", begin, count), read)

    def write_memory(self, address: str, data: bytes) -> Ask[int]:
        begin = int(address, 0)

        def read(text: str) -> int:
            try:
                return int(words.answer(text))
            except EvaluationFailed:
                raise DebuggerError(
                    f"no memory at {begin:#x} can be written.", code="no-memory"
                ) from None

        return Ask(words.ff("write_memory", begin, data.hex()), read)

    def disassemble(self, address: str, count: int, offset: int) -> Ask[Sequence[Instruction]]:
        begin = int(address, 0)

        def read(text: str) -> Sequence[Instruction]:
            return [
                Instruction(
                    **{
                        **each,
                        "symbol": words.function(each["symbol"]) if each["symbol"] else None,
                    },
                    current=int(each["address"], 0) == begin,
                )
                for each in words.answer(text)
            ]

        return Ask(words.ff("disassemble", begin, count, offset), read)

    def watch(self, expression: str, access: str, condition: str | None, at: At) -> Ask[Made]:
        what = (at.thread, at.level, expression, access, condition)
        return Ask(words.ff("watch", *what), lambda text: Made(words.answer(text)["number"]))

    def unwatch(self, number: str) -> str:
        return words.ff("unwatch", int(number))

    def save_core(self, path: str) -> Ask[None]:
        def read(text: str) -> None:
            try:
                words.answer(text)
            except EvaluationFailed as error:
                raise Unsupported(
                    f"this LLDB writes no core file: {error.message.rstrip('.')}.",
                    next="dbg backtrace --all-threads",
                ) from None

        return Ask(words.ff("save_core", path), read)


# --- where it is --------------------------------------------------------------------------------

_NAMES = ("lldb", *(f"lldb-{n}" for n in range(30, 12, -1)))


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    path = env.get("PATH", os.defpath)
    if config.path is not None:
        found = shutil.which(os.path.expanduser(config.path), path=path)
        return _found(found) if found else Missing(f"there is no program {config.path}")
    for name in _NAMES:
        if (found := shutil.which(name, path=path)) is not None:
            return _found(found)
    for found in sorted(glob.glob("/usr/lib/llvm-*/bin/lldb"), reverse=True):
        return _found(found)
    if xcrun.tool("lldb", env) is not None:
        return _find_in_xcode(env, config)
    return Missing("there is no lldb on PATH")


def _find_in_xcode(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    if config.path is not None:
        return _find(env, config)
    runner, found = xcrun.program(env), xcrun.tool("lldb", env)
    if runner is None or found is None:
        return Missing("Xcode has no lldb here")
    # By its runner, which sets up what Xcode's own needs.
    return replace(_found(found), command=(runner, "lldb"))


def _found(path: str) -> Found:
    return Found(path, version((path, "--version"), r"(?:version |lldb-)(\d[\w.]*)"), (path,))


DEBUGGER = Debugger(
    name="lldb-cli",
    kind="console",
    languages=("C", "C++", "Rust", "Swift", "Objective-C"),
    patterns=(),
    shebangs=(),
    binaries=("elf", "mach-o", "swift"),
    install=("apt-get install lldb", "brew install llvm"),
    find=_find,
    find_in_xcode=_find_in_xcode,
    holds=True,
    aliases=("lldb",),
    make=lambda found, config: prompted(lambda: Lldb(found.command))(found, config),
    rank=60,
    remark=lldb.remark,
    servers=("gdbserver", "lldb-server", "debugserver"),
    forks=lldb.FORKS,
    tested=True,
)
