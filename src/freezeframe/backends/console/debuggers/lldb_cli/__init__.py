"""C, C++ and Rust through LLDB's own prompt, for machines that have it and no debug adapter.

`main_probe.py` gives LLDB one more command, that takes and answers JSON; so an LLDB without Python
is refused. Measured with LLDB 22.1.8 on Debian 12.
"""

from __future__ import annotations

import functools
import glob
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
    is_rust,
    is_stripped,
    panic_info,
    plain_function,
    read_last_words,
    rust_main,
    without_parameters,
)
from freezeframe.backends.transport.ask import answer
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.answers import Instruction
from freezeframe.model.places import Location
from freezeframe.model.stops import (
    ExceptionFilter,
    ExceptionInfo,
    Exit,
    StopReason,
    Thread,
    WatchHit,
)
from freezeframe.model.values import ScopeKind

_PROBE = str(Path(__file__).with_name("main_probe.py"))
_PREFIX = "@ff "
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
    # LLDB waits for the program, and for nothing else. Its program is not given this signal.
    interrupt = signal.SIGSTOP
    interrupts_program = True
    nearest = {Feature.STEP_BACK: "dbg restart"}
    scopes = (
        (ScopeKind.LOCALS, "Locals"),
        (ScopeKind.GLOBALS, "Globals"),
        (ScopeKind.REGISTERS, "Registers"),
    )

    def __init__(self, path: str) -> None:
        self._path = path
        self._target: Target | None = None

    # --- the line

    def mark(self, token: str) -> str:
        # Of LLDB's own words the one that says any other again, with or without Python.
        return f"apropos {token}"

    def begin(self, target: Target, config: AdapterConfig) -> Begin:
        if isinstance(target, Attach) and target.pid is None:
            raise Unsupported(f"{self.name} joins processes by number.", next="dbg attach PID")
        if isinstance(target, Launch):
            check_program(target)
        self._target = target
        program = target.program if target.program and binary_kind(target.program) else ""
        rust = bool(program) and is_rust(program)
        if not isinstance(target, Core):
            self.filters = (
                ExceptionFilter("throw", "C++ exceptions where they are thrown"),
                ExceptionFilter("catch", "C++ exceptions where they are caught"),
                ExceptionFilter("panic", "Rust panics", default=rust),
                ExceptionFilter("signal", "signals that end a program", default=True),
            )
        return Begin(
            (
                self._path,
                *config.args,
                "--no-lldbinit",
                "--no-use-colors",
                "-O",
                f'command script import "{_PROBE}"',
            ),
            target.cwd,
            target.env,
            Line.STDIO,
            Home.LAUNCHED if isinstance(target, Launch) else Home.APART,
            settings=(
                *lldb.first_commands(target),
                _ff("open_target", program),
                *lldb.SIGNALS,
            ),
        )

    def read_greeting(self, text: str) -> str | None:
        told = _told(text)
        if told is None:
            raise Unsupported(
                f"{self._path} cannot run Python, which {self.name} needs.", next="dbg adapters"
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
        rest = _json(told).replace("{std", "\\u007bstd")
        return f'ff ["launch", {streams}, {rest}]'

    def join(self, target: Target) -> str | None:
        if isinstance(target, Attach):
            return _ff("attach", target.pid)
        return _ff("core", target.core) if isinstance(target, Core) else None

    def explain(self, target: Target, words: str) -> tuple[str, str | None] | None:
        why = lldb.brief_error((_told(words) or {}).get("error") or words)
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
        return _ff("go")

    def resume_only(self, thread: int) -> str:
        return _ff("go", thread)

    def step(self, kind: StepKind, thread: int) -> str:
        return _ff("step", _STEPS[kind], thread)

    def step_instruction(self, kind: StepKind, thread: int) -> str | None:
        if kind is StepKind.OUT:
            return None
        return _ff("step", f"instruction-{_STEPS[kind]}", thread)

    def read_stop(self, text: str) -> Halt | None:
        told = (_told(text) or {}).get("answer")
        if not isinstance(told, dict):
            return None
        if "exit" in told:
            exit = lldb.read_exit(told.get("packets") or "")
            return Halt(exit=exit or Exit(code=told["exit"]))
        stop = told.get("stop")
        return None if stop is None else _halt(stop)

    def refusal(self, text: str) -> str | None:
        told = _told(text) or {}
        if "error" in told:
            return lldb.brief_error(told["error"])
        said = (told.get("answer") or {}).get("said")
        return str(said).strip() if said else super().refusal(text)

    def moves(self, command: str) -> bool:
        return _MOVING.match(command.strip()) is not None

    def moving(self, command: str) -> str:
        return _ff("raw", command)

    def jump(self, at: At, path: str, line: int) -> Ask[None]:
        def read(text: str) -> None:
            try:
                _answer(text)
            except EvaluationFailed as error:
                raise DebuggerError(
                    f"no jump to line {line} from here: {error.message.rstrip('.')}.",
                    code="bad-jump",
                    next="dbg next",
                ) from None

        return Ask(_ff("jump", at.thread, path, line), read)

    def pid(self) -> Ask[int | None]:
        return Ask(_ff("pid"), lambda text: int(_answer(text)))

    def kill(self) -> str:
        return _ff("kill")

    def detach(self) -> str:
        return _ff("detach")

    # --- breakpoints

    def break_at(self, location: Location, condition: str | None) -> Ask[Made]:
        place: dict[str, object]
        if location.address is not None:
            place = {"address": location.address}
        elif location.function is not None:
            program = self._target.program if self._target is not None else None
            alias = rust_main(program) if location.function == "main" else location.function
            place = {"function": alias, "module": location.module}
        else:
            place = {"path": location.file, "line": location.line}

        def read(text: str) -> Made:
            told = _answer(text)
            return Made(told["number"], told.get("path"), told.get("line"), told["bound"])

        return Ask(_ff("break_at", place, condition), read)

    def unbreak(self, number: str) -> str:
        return _ff("unbreak", int(number))

    def truth(self, condition: str, at: At) -> Ask[bool]:
        return Ask(_evaluation(condition, at, "truth"), lambda text: bool(_answer(text)))

    def log_text(self, expression: str, at: At) -> Ask[str]:
        def read(text: str) -> str:
            return lldb.ADDRESS.sub(lambda m: f"0x{m[1]}", str(_answer(text)))

        return Ask(_evaluation(expression, at, "text"), read)

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        return (_ff("filters", [each.name for each in filters]),)

    # --- seeing

    def select(self, at: At, from_: At) -> Sequence[str]:
        return (_ff("select", at.thread, at.level),)

    def threads(self) -> Ask[Sequence[Thread]]:
        return Ask(
            _ff("threads"),
            lambda text: [Thread(each["id"], each["name"]) for each in _answer(text)],
        )

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        return Ask(
            _ff("frames", thread, start, count),
            lambda text: [_frame(each) for each in _answer(text)],
        )

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        return Ask(_ff("scope", at.thread, at.level, _KINDS[kind]), _values)

    def arguments(self, at: At) -> Ask[Sequence[str] | None]:
        return Ask(_ff("arguments", at.thread, at.level), _answer)

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]]:
        return Ask(_ff("children", at.thread, at.level, expression, start, count), _values)

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        def read(text: str) -> RawValue:
            value = _value(_answer(text))
            if value.failed:
                raise EvaluationFailed(value.text)
            return value

        return Ask(_evaluation(expression, at, "show"), read)

    def assign(self, target: str, value: str, at: At) -> Ask[None]:
        return Ask(_evaluation(f"{target} = {value}", at, "truth"), _done)

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        return Ask(_ff("exception", thread), lambda text: ExceptionInfo(**_answer(text)))

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
            told = _answer(text)
            if not told["good"]:
                raise EvaluationFailed(lldb.brief_error(told["said"]))
            return str(told["said"])

        return Ask(_ff("raw", command), read)

    # --- machine level

    def read_memory(self, address: str, count: int) -> Ask[tuple[str, bytes, int]]:
        begin = int(address, 0)

        def read(text: str) -> tuple[str, bytes, int]:
            data = bytes.fromhex(_answer(text))
            if not data:
                raise DebuggerError(f"no memory at {begin:#x} can be read.", code="no-memory")
            return f"{begin:#x}", data, count - len(data)

        return Ask(_ff("read_memory", begin, count), read)

    def write_memory(self, address: str, data: bytes) -> Ask[int]:
        begin = int(address, 0)

        def read(text: str) -> int:
            try:
                return int(_answer(text))
            except EvaluationFailed:
                raise DebuggerError(
                    f"no memory at {begin:#x} can be written.", code="no-memory"
                ) from None

        return Ask(_ff("write_memory", begin, data.hex()), read)

    def disassemble(self, address: str, count: int, offset: int) -> Ask[Sequence[Instruction]]:
        begin = int(address, 0)

        def read(text: str) -> Sequence[Instruction]:
            return [
                Instruction(
                    **{**each, "symbol": _function(each["symbol"]) if each["symbol"] else None},
                    current=int(each["address"], 0) == begin,
                )
                for each in _answer(text)
            ]

        return Ask(_ff("disassemble", begin, count, offset), read)

    def watch(self, expression: str, access: str, condition: str | None, at: At) -> Ask[Made]:
        words = (at.thread, at.level, expression, access, condition)
        return Ask(_ff("watch", *words), lambda text: Made(_answer(text)["number"]))

    def unwatch(self, number: str) -> str:
        return _ff("unwatch", int(number))

    def save_core(self, path: str) -> Ask[None]:
        return Ask(_ff("save_core", path), _done)


# --- writing and reading ------------------------------------------------------------------------


def _json(words: object) -> str:
    # Between backticks LLDB would evaluate before anybody reads.
    return json.dumps(words).replace("`", "\\u0060")


def _ff(name: str, *words: object) -> str:
    return f"ff {_json([name, *words])}"


def _evaluation(expression: str, at: At, how: str) -> str:
    return _ff("evaluate", at.thread, at.level, expression, how)


def _told(text: str) -> dict[str, Any] | None:
    """Return what the probe says last; None where it says nothing."""
    said = [line for line in text.splitlines() if line.startswith(_PREFIX)]
    told = json.loads(said[-1].removeprefix(_PREFIX)) if said else None
    return told if isinstance(told, dict) else None


def _answer(text: str) -> Any:
    """Return the answer. Raises EvaluationFailed with LLDB's own complaint."""
    told = _told(text)
    if told is None or told.get("bug"):
        words = (told["error"] if told else text).strip()
        raise DebuggerError(f"LLDB answered {words[-300:]!r}.", next="dbg logs")
    if "error" in told:
        raise EvaluationFailed(lldb.brief_error(told["error"]).rstrip("."))
    return told["answer"]


def _done(text: str) -> None:
    _answer(text)


def _halt(stop: Mapping[str, Any]) -> Halt:
    reason = StopReason(stop["reason"])
    description = stop.get("description")
    if reason is StopReason.SIGNAL:
        signalled = lldb.read_signal(description or "")
        description = signalled[1] if signalled else stop.get("signal") or description
        if stop.get("signal") == "SIGSTOP":
            reason, description = StopReason.PAUSE, None
    elif reason is StopReason.EXCEPTION:
        description = None
    watch = stop.get("watch")
    returned = stop.get("returned")
    return Halt(
        reason,
        stop["path"],
        stop["line"],
        _function(stop["function"] or ""),
        stop["thread"],
        tuple(stop["numbers"]),
        description,
        _value(returned) if returned else None,
        WatchHit(watch["number"], "", _plain(watch["old"]), _plain(watch["new"]))
        if watch
        else None,
    )


def _plain(text: str) -> str:
    return lldb.enriched(RawValue("", text)).text


def _function(name: str) -> str:
    if not name or re.fullmatch(r"0x[0-9a-fA-F]+|___lldb_unnamed_symbol\w*", name):
        return "??"
    return plain_function(without_parameters(name.removeprefix("::")))


def _frame(told: Mapping[str, Any]) -> RawFrame:
    path = told["path"]
    shown = [f"{name}={_brief(text)}" for name, text in told["arguments"]]
    return RawFrame(
        0,
        _function(told["function"]),
        path,
        told["line"],
        told["column"],
        told["module"] if path is None else None,
        told["address"],
        path is None or lldb.is_library(path),
        arguments=", ".join(shown) or None,
    )


def _brief(text: str) -> str:
    value = _plain(text)
    count = re.fullmatch(r"size=(\d+)", value)
    return f"({count[1]} items)" if count else value


def _values(text: str) -> list[RawValue]:
    return [_value(each) for each in _answer(text)]


def _value(told: Mapping[str, Any]) -> RawValue:
    return lldb.enriched(
        RawValue(
            told["name"],
            told["text"],
            told.get("type"),
            told["ref"],
            told.get("count"),
            told.get("expression"),
            told.get("address"),
        )
    )


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
    if sys.platform == "darwin":
        found = (answer(["xcrun", "--find", "lldb"]) or "").strip()
        if os.path.isabs(found):
            return _found(found)
    return Missing("there is no lldb on PATH")


def _found(path: str) -> Found:
    return Found(path, _version(path, os.stat(path).st_mtime_ns), (path,))


@functools.cache
def _version(path: str, stamp: int) -> str | None:
    match = re.search(r"(?:version |lldb-)(\d[\w.]*)", answer([path, "--version"]) or "")
    return match[1] if match else None


DEBUGGER = Debugger(
    name="lldb-cli",
    kind="console",
    languages=("C", "C++", "Rust"),
    patterns=(),
    shebangs=(),
    binaries=("elf", "mach-o"),
    install=("apt-get install lldb", "brew install llvm"),
    find=_find,
    make=lambda found, config: prompted(lambda: Lldb(found.path))(found, config),
    rank=60,
)
