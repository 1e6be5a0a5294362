"""Debug C, C++ and Rust through LLDB's prompt, on machines without a debug adapter for LLDB.

`agent.py` adds one command to LLDB that takes and answers JSON, so an LLDB without Python is
refused. Measured with LLDB 14.0.6, 19.1.7 and 22.1.8 on Debian 12.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from freezeframe.backends import lldb, rust_symbols, sanitizers
from freezeframe.backends.backend import (
    Attach,
    Core,
    Launch,
    RawFrame,
    RawValue,
    StepKind,
    Target,
)
from freezeframe.backends.console.prompt.backend import prompted
from freezeframe.backends.console.prompt.command_set import (
    CommandSet,
    ConsoleQuery,
    ControlTransport,
    DebuggeeHost,
    DebuggerBreakpoint,
    FrameRef,
    LaunchSpec,
    StopInfo,
)
from freezeframe.backends.debugger import Debugger
from freezeframe.backends.native import (
    binary_kind,
    check_program,
    explain_failure,
    is_own_code,
    is_stripped,
    panic_info,
    read_uncaught_exception,
    rust_main,
)
from freezeframe.backends.transport.process import signal_number
from freezeframe.config import AdapterConfig
from freezeframe.errors import DebuggerError, EvaluationFailed, Unsupported
from freezeframe.model.answers import Instruction
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, Thread
from freezeframe.model.values import ScopeKind

from . import agent_messages, discovery

_AGENT = str(Path(__file__).with_name("agent.py"))
_STEPS = {StepKind.OVER: "over", StepKind.INTO: "into", StepKind.OUT: "out"}
_KINDS = {
    ScopeKind.LOCALS: "locals",
    ScopeKind.GLOBALS: "globals",
    ScopeKind.REGISTERS: "registers",
}
#: LLDB commands that resume the program, or end it
_RESUMING = re.compile(
    r"(c|continue|s|step|si|stepi|n|next|ni|nexti|finish|r|run|kill"
    r"|(process|pr\w*)\s+(continue|launch|kill)|(thread|t|th\w*)\s+(continue|step-\S+|until))(\s|$)"
)
#: commands that would end the session, or wait for interactive input
_ENDING = re.compile(r"(q|quit|exit|detach|process\s+detach)(\s|$)")
_INTERACTIVE = re.compile(r"(script|expression|expr|e|p|print|gui)\s*$|.*\bcommand\s+add\s+[^-]*$")


class Lldb(CommandSet):
    """LLDB's commands, and the one that the agent adds."""

    name = "lldb-cli"
    prompt = r"\(lldb\) "
    # LLDB echoes its input if it is not a terminal; its answer repeats the token.
    marked = r"(?:apropos |No commands found pertaining to ')"
    own_conditions = True
    typed_filters = True
    # LLDB waits for the program, and for nothing else. The program does not receive this signal.
    interrupt = signal_number("SIGSTOP")
    interrupts_program = True
    scopes = (
        (ScopeKind.LOCALS, "Locals"),
        (ScopeKind.GLOBALS, "Globals"),
        (ScopeKind.REGISTERS, "Registers"),
    )

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._target: Target | None = None

    # --- the channel

    def echo(self, token: str) -> str:
        # `apropos` repeats any token, with or without Python. LLDB writes its prompt when it reads
        # the next line: `version` makes it do so.
        return f"apropos {token}\nversion"

    def begin(self, target: Target, config: AdapterConfig) -> LaunchSpec:
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
        return LaunchSpec(
            (
                *self._command,
                *config.args,
                "--no-lldbinit",
                "--no-use-colors",
                "-O",
                f'command script import "{_AGENT}"',
            ),
            target.cwd,
            lldb.surroundings(target.env, self._command[0]),
            ControlTransport.STDIO,
            DebuggeeHost.LAUNCHED if isinstance(target, Launch) else DebuggeeHost.APART,
            settings=(
                *lldb.first_commands(target),
                agent_messages.ff("open_target", program),
                *lldb.SIGNALS,
                *((lldb.OUTPUT_BY_LINE,) if isinstance(target, Launch) else ()),
            ),
        )

    def read_greeting(self, text: str) -> str | None:
        message = agent_messages.parse(text)
        if message is None:
            raise Unsupported(
                f"{' '.join(self._command)} cannot run Python, which {self.name} needs.",
                next="dbg adapters",
            )
        match = re.search(r"version (\S+)", str(message.get("hello", "")))
        return match[1] if match else None

    # --- running

    def run(self, target: Launch) -> str:
        streams = '["{stdin}", "{stdout}", "{stderr}"]'
        options = {
            "args": target.args,
            "cwd": target.cwd,
            "env": [f"{key}={value}" for key, value in target.env.items()],
        }
        # Braces in the program's arguments must not be taken for the names of its files.
        rest = agent_messages.encode(options).replace("{std", "\\u007bstd")
        return f'ff ["launch", {streams}, {rest}]'

    def join(self, target: Target) -> str | None:
        if isinstance(target, Attach) and target.host is not None:
            return agent_messages.ff("connect", target.host, target.port)
        if isinstance(target, Attach):
            return agent_messages.ff("attach", target.pid)
        return agent_messages.ff("core", target.core) if isinstance(target, Core) else None

    def explain(self, target: Target, output: str) -> tuple[str, str | None] | None:
        why = lldb.brief_error((agent_messages.parse(output) or {}).get("error") or output)
        if isinstance(target, Launch):
            return f"{os.path.basename(target.program)} could not be started: {why}.", "dbg logs"
        if isinstance(target, Core):
            name = os.path.basename(target.core)
            return f"{name} could not be opened: {why}.", "dbg core PROGRAM CORE"
        return explain_failure(target, why)

    def entry(self, target: Launch) -> Location:
        if is_stripped(target.program):
            # The function that receives the address of the nameless main.
            return Location(function="__libc_start_main")
        return Location(function=rust_main(target.program))

    def resume(self, thread: int | None) -> str:
        return agent_messages.ff("go")

    def resume_only(self, thread: int) -> str:
        return agent_messages.ff("go", thread)

    def step(self, kind: StepKind, thread: int) -> str:
        return agent_messages.ff("step", _STEPS[kind], thread)

    def step_instruction(self, kind: StepKind, thread: int) -> str | None:
        if kind is StepKind.OUT:
            return None
        return agent_messages.ff("step", f"instruction-{_STEPS[kind]}", thread)

    def read_stop(self, text: str) -> StopInfo | None:
        answer = (agent_messages.parse(text) or {}).get("answer")
        if not isinstance(answer, dict):
            return None
        if "exit" in answer:
            exit = lldb.read_exit(answer.get("packets") or "")
            return StopInfo(exit=exit or Exit(code=answer["exit"]))
        stop = answer.get("stop")
        return None if stop is None else agent_messages.stop_info(stop)

    def refusal(self, text: str) -> str | None:
        message = agent_messages.parse(text) or {}
        if message.get("bug"):
            return f"LLDB's Python failed: {message['error'].strip().splitlines()[-1]}"
        if "error" in message:
            return lldb.brief_error(message["error"])
        output = (message.get("answer") or {}).get("output")
        return str(output).strip() if output else super().refusal(text)

    def resumes(self, command: str) -> bool:
        return _RESUMING.match(command.strip()) is not None

    def moving(self, command: str) -> str:
        return agent_messages.ff("raw", command)

    def jump(self, at: FrameRef, path: str, line: int) -> ConsoleQuery[None]:
        def read(text: str) -> None:
            try:
                agent_messages.answer(text)
            except EvaluationFailed as error:
                raise DebuggerError(
                    f"no jump to line {line} from here: {error.message.rstrip('.')}.",
                    code="bad-jump",
                    next="dbg next",
                ) from None

        return ConsoleQuery(agent_messages.ff("jump", at.thread, path, line), read)

    def force_return(self, at: FrameRef, value: str | None) -> ConsoleQuery[None]:
        return ConsoleQuery(
            agent_messages.ff("force_return", at.thread, value),
            lambda text: agent_messages.answer(text),
        )

    def pid(self) -> ConsoleQuery[int | None]:
        return ConsoleQuery(agent_messages.ff("pid"), lambda text: int(agent_messages.answer(text)))

    def kill(self) -> str:
        return agent_messages.ff("kill")

    def detach(self) -> str:
        return agent_messages.ff("detach")

    # --- breakpoints

    def break_at(
        self, location: Location, condition: str | None
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        spec: dict[str, object]
        if location.address is not None:
            spec = {"address": location.address}
        elif location.function is not None:
            program = self._target.program if self._target is not None else None
            alias = rust_main(program) if location.function == "main" else location.function
            generic = lldb.generic_function(alias)
            symbols = rust_symbols.matching(program, alias)
            spec = {
                "function": alias,
                "module": location.module,
                "symbols": symbols,
                "generic": generic,
            }
        else:
            spec = {"path": location.file, "line": location.line}

        return ConsoleQuery(
            agent_messages.ff("break_at", spec, condition),
            lambda text: agent_messages.breakpoint_info(agent_messages.answer(text)),
        )

    def delete_breakpoint(self, number: str) -> str:
        return agent_messages.ff("unbreak", int(number))

    def evaluate_condition(self, condition: str, at: FrameRef) -> ConsoleQuery[bool]:
        return ConsoleQuery(
            agent_messages.evaluation(condition, at, "truth"),
            lambda text: bool(agent_messages.answer(text)),
        )

    def log_text(self, expression: str, at: FrameRef) -> ConsoleQuery[str]:
        def read(text: str) -> str:
            return lldb.ADDRESS.sub(lambda m: f"0x{m[1]}", str(agent_messages.answer(text)))

        return ConsoleQuery(agent_messages.evaluation(expression, at, "text"), read)

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        types = {each.name: each.condition or "" for each in filters}
        return (agent_messages.ff("filters", types, lldb.handle_fatal(types)),)

    # --- inspection

    def select(self, at: FrameRef, from_: FrameRef) -> Sequence[str]:
        return (agent_messages.ff("select", at.thread, at.level),)

    def threads(self) -> ConsoleQuery[Sequence[Thread]]:
        return ConsoleQuery(
            agent_messages.ff("threads"),
            lambda text: [Thread(each["id"], each["name"]) for each in agent_messages.answer(text)],
        )

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        target = self._target
        has_optimized = (
            target is not None and lldb.optimized.command(target, start, count) is not None
        )

        def read(text: str) -> Sequence[RawFrame]:
            listed = agent_messages.answer(text)
            program = target.program if target is not None else None
            frames = [
                replace(each, library=False)
                if each.path is None and is_own_code(program, each.module, each.function)
                else each
                for each in agent_messages.frames(listed, thread)
            ]
            if target is None or not has_optimized:
                return frames
            codes = lldb.optimized.codes(target, [each["code"] for each in listed])
            return [
                replace(frame, optimized=code.optimized)
                for frame, code in zip(frames, codes, strict=True)
            ]

        return ConsoleQuery(agent_messages.ff("frames", thread, start, count, has_optimized), read)

    def scope(self, kind: ScopeKind, at: FrameRef) -> ConsoleQuery[Sequence[RawValue]]:
        return ConsoleQuery(
            agent_messages.ff("scope", at.thread, at.level, _KINDS[kind]), agent_messages.values
        )

    def arguments(self, at: FrameRef) -> ConsoleQuery[Sequence[str] | None]:
        return ConsoleQuery(
            agent_messages.ff("arguments", at.thread, at.level), agent_messages.answer
        )

    def children(
        self, expression: str, at: FrameRef, start: int, count: int | None
    ) -> ConsoleQuery[Sequence[RawValue]]:
        return ConsoleQuery(
            agent_messages.ff("children", at.thread, at.level, expression, start, count),
            agent_messages.values,
        )

    def evaluate(self, expression: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        def read(text: str) -> RawValue:
            value = agent_messages.value(agent_messages.answer(text))
            if value.failed:
                raise EvaluationFailed(value.text)
            return value

        return ConsoleQuery(agent_messages.evaluation(expression, at, "show"), read)

    def assign(self, target: str, value: str, at: FrameRef) -> ConsoleQuery[None]:
        return ConsoleQuery(
            agent_messages.evaluation(f"{target} = {value}", at, "truth"), agent_messages.done
        )

    def exception(self, thread: int) -> ConsoleQuery[ExceptionInfo | None]:
        return ConsoleQuery(
            agent_messages.ff("exception", thread),
            lambda text: ExceptionInfo(**agent_messages.answer(text)),
        )

    def complete_exception(self, info: ExceptionInfo, output: str) -> ExceptionInfo:
        if info.mode == "unhandled":
            return read_uncaught_exception("SIGABRT", output) or info
        return panic_info(output) if info.type == "panic" else sanitizers.complete(info, output)

    def raw(self, command: str, at: FrameRef) -> ConsoleQuery[str]:
        plain = command.strip()
        if _ENDING.match(plain):
            raise Unsupported(f"`{plain}` would end the session without notice.", next="dbg detach")
        if _INTERACTIVE.match(plain):
            raise Unsupported(f"`{plain}` waits for a person to type.", next=f"dbg raw '{plain} …'")

        def read(text: str) -> str:
            result = agent_messages.answer(text)
            if not result["good"]:
                raise EvaluationFailed(lldb.brief_error(result["output"]))
            return agent_messages.printed(text) + str(result["output"])

        return ConsoleQuery(agent_messages.ff("raw", command), read)

    # --- machine level

    def read_memory(self, address: str, count: int) -> ConsoleQuery[tuple[str, bytes, int]]:
        begin = int(address, 0)

        def read(text: str) -> tuple[str, bytes, int]:
            data = bytes.fromhex(agent_messages.answer(text))
            if not data:
                raise DebuggerError(f"no memory at {begin:#x} can be read.", code="no-memory")
            return f"{begin:#x}", data, count - len(data)

        return ConsoleQuery(agent_messages.ff("read_memory", begin, count), read)

    def write_memory(self, address: str, data: bytes) -> ConsoleQuery[int]:
        begin = int(address, 0)

        def read(text: str) -> int:
            try:
                return int(agent_messages.answer(text))
            except EvaluationFailed:
                raise DebuggerError(
                    f"no memory at {begin:#x} can be written.", code="no-memory"
                ) from None

        return ConsoleQuery(agent_messages.ff("write_memory", begin, data.hex()), read)

    def disassemble(
        self, address: str, count: int, offset: int
    ) -> ConsoleQuery[Sequence[Instruction]]:
        begin = int(address, 0)

        def read(text: str) -> Sequence[Instruction]:
            return [
                Instruction(
                    **{
                        **each,
                        "symbol": agent_messages.function(each["symbol"])
                        if each["symbol"]
                        else None,
                    },
                    current=int(each["address"], 0) == begin,
                )
                for each in agent_messages.answer(text)
            ]

        return ConsoleQuery(agent_messages.ff("disassemble", begin, count, offset), read)

    def watch(
        self, expression: str, access: str, condition: str | None, at: FrameRef
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        what = (at.thread, at.level, expression, access, condition)
        return ConsoleQuery(
            agent_messages.ff("watch", *what),
            lambda text: DebuggerBreakpoint(agent_messages.answer(text)["number"]),
        )

    def unwatch(self, number: str) -> str:
        return agent_messages.ff("unwatch", int(number))

    def save_core(self, path: str) -> ConsoleQuery[None]:
        def read(text: str) -> None:
            try:
                agent_messages.answer(text)
            except EvaluationFailed as error:
                raise Unsupported(
                    f"this LLDB writes no core file: {error.message.rstrip('.')}.",
                    next="dbg backtrace --all-threads",
                ) from None

        return ConsoleQuery(agent_messages.ff("save_core", path), read)


DEBUGGER = Debugger(
    name="lldb-cli",
    kind="console",
    languages=("C", "C++", "Rust", "Swift", "Objective-C"),
    patterns=(),
    shebangs=(),
    binaries=("elf", "mach-o", "swift"),
    install=("apt-get install lldb", "brew install llvm"),
    find=discovery.find,
    find_in_xcode=discovery.find_in_xcode,
    attach_can_stay_stopped=True,
    aliases=("lldb",),
    make=lambda found, config: prompted(lambda: Lldb(found.command))(found, config),
    rank=60,
    remark=lldb.remark,
    debug_servers=("gdbserver", "lldb-server", "debugserver"),
    forks=lldb.FORKS,
    tested=True,
)
