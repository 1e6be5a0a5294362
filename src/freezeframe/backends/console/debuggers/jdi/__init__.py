"""Debug Java and other JVM languages through the Java Debug Interface (JDI) of the JDK.

jdb's own prompt has no types, no exception messages, no `&&`, and prints strings without escapes
(measured with JDK 17). `agent/` uses JDI, as jdb does, and has a prompt whose answers can be
parsed. It runs the program as a separate process, which connects to it over loopback: so no output
of a debugger is in the program's streams.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import quote

from freezeframe import files
from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    Configuration,
    EventSink,
    Feature,
    Launch,
    RawFrame,
    RawValue,
    StepKind,
    Target,
)
from freezeframe.backends.console.prompt import agent_messages
from freezeframe.backends.console.prompt.backend import PromptBackend
from freezeframe.backends.console.prompt.command_set import (
    CommandSet,
    ConsoleQuery,
    ControlTransport,
    DebuggeeHost,
    DebuggerBreakpoint,
    FrameRef,
    LaunchSpec,
    StopInfo,
    nothing,
)
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.snapshots import Snapshot
from freezeframe.backends.transport import process_table
from freezeframe.config import AdapterConfig, Config
from freezeframe.errors import EvaluationFailed, Unsupported
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason, Thread
from freezeframe.model.values import ScopeKind

from . import agent_build, java_programs, jdb_commands, snapshots, watchpoints

#: of the debugger's JDK; the program may run on any version
_OLDEST = 17
_answer = partial(agent_messages.answer, "jdb")
_STEPS = {StepKind.OVER: "over", StepKind.INTO: "into", StepKind.OUT: "out"}
#: exit codes of a JVM killed by a signal: it handles other signals, and ends with a code then
_SIGNALS = {134: "SIGABRT", 137: "SIGKILL", 139: "SIGSEGV"}
_INSTALL = ("apt install openjdk-17-jdk-headless", "brew install openjdk")
_AGENT = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:5005"
#: variables that Kotlin's compiler generates to mark inlined code for debuggers; always 0
_MARKERS = ("$i$f$", "$i$a$")
#: calls, assignments and increments in an expression
_SIDE_EFFECTS = re.compile(r"[\w$\]\)]\s*\(|(?<![=!<>])=(?!=)|\+\+|--|\bnew\b")
#: the option that passes the agent to a build, for the JVM that it starts (`gradle_agent.gradle`)
_TO_BUILD = "-Dfreezeframe.agent="
#: a build compiles before it starts the program
_BUILD_S = 300.0
#: the address in the command line of a listening JVM
_ADDRESS = re.compile(r"jdwp[=:]\S*?address=(?P<address>[^,\s]+)")


class Jdb(CommandSet):
    """The commands of our agent."""

    name = "jdb"
    prompt = r"\(jdb\) "
    asynchronous = True
    returns_when_run = True
    typed_filters = True
    own_conditions = True
    filters = (
        ExceptionFilter("uncaught", "exceptions that nobody catches", default=True),
        ExceptionFilter("raised", "every exception that your own code raises or catches"),
    )
    alternatives = {
        Feature.DISASSEMBLE: "javap -c CLASS",
    }

    def __init__(self, jdk: str) -> None:
        #: the folder of the JDK's commands
        self._jdk = jdk
        self._pid: int | None = None
        #: the folder of the agent's classes
        self.classes = ""

    # --- the channel

    def echo(self, token: str) -> str:
        return f"ff_mark {token}"

    def begin(self, target: Target, config: AdapterConfig) -> LaunchSpec:
        settings: tuple[str, ...] = ()
        if isinstance(target, Launch):
            made = java_programs.read(target)
            classes = [each for each in made.classes if not each.endswith(".jar")]
            classes += [each for each in made.classes if each == target.program]
            look = (
                "\n".join(dict.fromkeys(classes)),
                "\n".join(java_programs.source_roots(target)),
            )
            settings = (_command("ff_look", *look),)
            self._java = _java(target, config, self._jdk)
        elif isinstance(target, Attach):
            self._where = _address(target)
            settings = (_command("ff_look", "", "\n".join(java_programs.source_roots(target))),)
        else:
            raise Unsupported(
                "jdb opens no core files.", next="jhsdb clhsdb --exe JAVA --core FILE"
            )
        return LaunchSpec(
            (
                os.path.join(self._jdk, "java"),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                *config.args,
                "-cp",
                self.classes,
                agent_build.MAIN,
            ),
            target.cwd,
            agent_build.without_options(target.env),
            ControlTransport.STDIO,
            DebuggeeHost.LAUNCHED if isinstance(target, Launch) else DebuggeeHost.APART,
            settings=settings,
        )

    def read_greeting(self, text: str) -> str | None:
        hello = [line for line in text.splitlines() if line.startswith("@hello ")]
        return hello[0].partition(" ")[2] if hello else None

    def read_failure(self, output: str) -> str | None:
        return output.strip() or None

    # --- running

    def run(self, target: Launch) -> str:
        made = java_programs.read(target)
        given = java_programs.options_of_program(target.env, agent_build.PROGRAM_VARIABLES)
        # A build that starts the program itself gets the agent through an option.
        builds = _TO_BUILD in target.args
        args = [f"{each}{{agent}}" if each == _TO_BUILD else each for each in target.args]
        runtime = (self._java, *(() if builds else ("{agent}",)), *target.interpreter_args)
        arguments = (*given, "--", *runtime, *made.args, *args)
        return _command("ff_run", *arguments) + "\t{stdin}\t{stdout}\t{stderr}"

    def run_limit_s(self, target: Launch) -> float | None:
        return _BUILD_S if _TO_BUILD in target.args else None

    def join(self, target: Target) -> str:
        return _command("ff_attach", *self._where)

    def entry(self, target: Launch) -> Location | None:
        main = java_programs.read(target).main
        return Location(function=f"{main}.main") if main else None

    def pid(self) -> ConsoleQuery[int | None]:
        return ConsoleQuery("ff_mark -", lambda text: self._pid)

    def resume(self, thread: int | None) -> str:
        return "ff_continue"

    def step(self, kind: StepKind, thread: int) -> str:
        return f"ff_step {_STEPS[kind]} {thread}"

    def force_return(self, at: FrameRef, value: str | None) -> ConsoleQuery[None]:
        return ConsoleQuery(
            _command("ff_return", str(at.thread), *([value] if value else [])), _unwound
        )

    def restart_frame(self, at: FrameRef) -> ConsoleQuery[None]:
        return ConsoleQuery(f"ff_pop {at.thread} {at.level}", _unwound)

    def pause(self) -> str:
        return "ff_pause"

    def refusal(self, text: str) -> str | None:
        return agent_messages.error_text(text) if text.strip() else None

    def detach(self) -> str:
        return "ff_detach"

    def read_stop(self, text: str) -> StopInfo | None:
        stop = agent_messages.stop(text)
        if stop is None:
            return None
        self._pid = stop.get("pid", self._pid)
        if "exit" in stop:
            return StopInfo(exit=_exit(stop["exit"]))
        returned = stop.get("returned")
        return StopInfo(
            StopReason(stop["reason"]) if "reason" in stop else None,
            stop.get("path"),
            stop.get("line"),
            stop.get("function"),
            stop.get("thread"),
            tuple(stop["numbers"]) if "numbers" in stop else (),
            description=stop.get("description"),
            returned=agent_messages.value(returned) if returned else None,
            watch=watchpoints.hit(stop.get("watches") or ()),
        )

    # --- breakpoints

    def missing_feature(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(
        self, location: Location, condition: str | None
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        def read(text: str) -> DebuggerBreakpoint:
            answer = _answer(text)
            return DebuggerBreakpoint(
                answer["number"], answer.get("path"), answer.get("line"), answer["verified"]
            )

        # The agent evaluates conditions without side effects; the others are evaluated once, by us.
        verb: tuple[str, ...] = ("ff_break",)
        if condition is not None and not _SIDE_EFFECTS.search(condition):
            verb = ("ff_break_if", condition)
        if location.function is not None:
            module = f"{location.module}." if location.module else ""
            return ConsoleQuery(_command(*verb, module + location.function), read)
        return ConsoleQuery(_command(*verb, location.file or "", str(location.line)), read)

    def delete_breakpoint(self, number: str) -> str:
        return f"ff_unbreak {number}"

    def watch(
        self, expression: str, access: str, condition: str | None, at: FrameRef
    ) -> ConsoleQuery[DebuggerBreakpoint]:
        if access != "write":
            raise Unsupported("jdb has watchpoints on writes only.", next=f"dbg watch {expression}")
        args = (str(at.thread), str(at.level), expression, condition or "")
        return ConsoleQuery(
            _command("ff_watch", *args), lambda text: watchpoints.watchpoint(_answer(text))
        )

    def unwatch(self, number: str) -> str:
        return f"ff_unwatch {number}"

    def evaluate_condition(self, condition: str, at: FrameRef) -> ConsoleQuery[bool]:
        return ConsoleQuery(_evaluation(condition, at, "truth"), lambda text: bool(_answer(text)))

    def log_text(self, expression: str, at: FrameRef) -> ConsoleQuery[str]:
        return ConsoleQuery(
            _evaluation(expression, at, "text"), lambda text: str(_answer(text)["text"])
        )

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        return (_command("ff_filters", *(f"{f.name}={f.condition or ''}" for f in filters)),)

    # --- inspection

    def threads(self) -> ConsoleQuery[Sequence[Thread]]:
        return ConsoleQuery(
            "ff_threads",
            lambda text: [
                Thread(each["id"], each["name"], each["state"]) for each in _answer(text)
            ],
        )

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        return ConsoleQuery(
            f"ff_frames {thread} {start} {count}",
            lambda text: [RawFrame(0, **each) for each in _answer(text)],
        )

    def scope(self, kind: ScopeKind, at: FrameRef) -> ConsoleQuery[Sequence[RawValue]]:
        return ConsoleQuery(f"ff_scope {at.thread} {at.level}", _scope)

    def arguments(self, at: FrameRef) -> ConsoleQuery[Sequence[str] | None]:
        return ConsoleQuery(
            f"ff_scope {at.thread} {at.level}", lambda text: list(_answer(text)["arguments"])
        )

    def children(
        self, expression: str, at: FrameRef, start: int, count: int | None
    ) -> ConsoleQuery[Sequence[RawValue]]:
        args = (str(at.thread), str(at.level), expression, str(start))
        return ConsoleQuery(
            _command("ff_children", *args, str(-1 if count is None else count)),
            lambda text: [agent_messages.value(each) for each in _answer(text)],
        )

    def evaluate(self, expression: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        return ConsoleQuery(
            _evaluation(expression, at, "show"), lambda text: agent_messages.value(_answer(text))
        )

    def assign(self, target: str, value: str, at: FrameRef) -> ConsoleQuery[None]:
        query = self.evaluate(f"{target} = {value}", at)
        return ConsoleQuery(query.command, lambda text: nothing(query.read(text).text))

    def exception(self, thread: int) -> ConsoleQuery[ExceptionInfo | None]:
        def read(text: str) -> ExceptionInfo | None:
            answer = _answer(text)
            if not answer:
                return None
            return ExceptionInfo(
                answer["type"],
                answer["message"],
                causes=tuple(answer["causes"]),
                details=(
                    *((f"created at {answer['created']}",) if "created" in answer else ()),
                    *(f"suppressed: {each}" for each in answer["suppressed"]),
                ),
                mode=answer["mode"],
            )

        return ConsoleQuery("ff_exception", read)

    def raw(self, command: str, at: FrameRef) -> ConsoleQuery[str]:
        if (query := jdb_commands.query(self, command, at)) is not None:
            return query

        def read(text: str) -> str:
            if text.startswith("***"):
                raise EvaluationFailed(agent_messages.error_text(text))
            return text

        return ConsoleQuery(command, read)


class JdbBackend(PromptBackend):
    """Compiles the agent before it is started."""

    def __init__(self, found: Found, config: Config) -> None:
        self._java = Jdb(os.path.dirname(found.path))
        super().__init__(self._java, found, config)

    async def start(
        self, target: Target, configuration: Configuration, sink: EventSink
    ) -> Sequence[BoundBreakpoint]:
        javac = _javac(self._found)
        limit_s = self._config.timeouts.build_s
        self._java.classes = await agent_build.compiled(javac, env=target.env, timeout_s=limit_s)
        return await super().start(target, configuration, sink)

    async def snapshot(self, *, stacks: bool = True, waits: bool = False) -> Snapshot | None:
        if not stacks or not self._execution.running:
            return None
        return await self._queries.run(
            ConsoleQuery("ff_snapshot", lambda text: snapshots.read(_answer(text)))
        )


async def _prepare(found: Found, env: Mapping[str, str], timeout_s: float) -> str | None:
    """Compile the agent, which takes seconds, before the time limit of a start begins."""
    if os.path.isdir(agent_build.folder_for(_javac(found))):
        return None
    began = time.monotonic()
    await agent_build.compiled(_javac(found), env=env, timeout_s=timeout_s)
    took_s = time.monotonic() - began
    return f"compiled dbg's own part for Java {found.version or ''}, once: {took_s:.1f} s"


def _javac(found: Found) -> str:
    return os.path.join(os.path.dirname(found.path), "javac")


def _unwound(text: str) -> None:
    if text.startswith("***"):
        raise EvaluationFailed(agent_messages.error_text(text))


def _command(verb: str, *args: str) -> str:
    return " ".join((verb, *(quote(arg, safe="/{}:.$,*") or "%20" for arg in args)))


def _evaluation(expression: str, at: FrameRef, how: str) -> str:
    return _command("ff_eval", str(at.thread), str(at.level), expression, how)


def _exit(code: int | None) -> Exit:
    signal = _SIGNALS.get(code) if code is not None else None
    return Exit(signal=signal) if signal else Exit(code=code)


def _java(target: Launch, config: AdapterConfig, jdk: str) -> str:
    """Return the JVM for the program: the configured one, the caller's, or the debugger's."""
    chosen = target.interpreter or config.interpreter
    if chosen:
        return chosen
    home = target.env.get("JAVA_HOME")
    own = os.path.join(home, "bin", "java") if home else None
    if own and os.path.isfile(own):
        return own
    return shutil.which("java", path=target.env.get("PATH")) or os.path.join(jdk, "java")


def _address(target: Attach) -> tuple[str, str]:
    """Return host and port of a listening JVM. Raises Unsupported if it does not listen."""
    if target.port is not None:
        return target.host or "127.0.0.1", str(target.port)
    command_line = (
        " ".join(process_table.command_line(target.pid)) if target.pid is not None else ""
    )
    found = _ADDRESS.search(command_line)
    if found is None or "server=n" in command_line:
        raise Unsupported(
            f"process {target.pid} does not listen for a debugger; a Java program must have been "
            "started with the debug agent.",
            next=f"java {_AGENT} …",
        )
    host, _, port = found["address"].rpartition(":")
    if port == "0" and target.pid is not None:
        # A free port was chosen; only the system knows which.
        listening = sorted(process_table.ports(target.pid))
        if len(listening) != 1:
            raise Unsupported(
                f"process {target.pid} listens on {len(listening)} ports, and its command does not "
                "say which is the debug agent's.",
                next="dbg attach 127.0.0.1:PORT --adapter jdb",
            )
        port = str(listening[0])
    elif target.pid is not None and _is_foreign(target.pid, port):
        # Another process that has the port now would be taken for this one.
        raise Unsupported(
            f"process {target.pid} does not listen on port {port}, which its command names: a "
            "debugger is already attached, or the process is another user's.",
            next=f"dbg attach {host.replace('*', '') or '127.0.0.1'}:{port} --adapter jdb",
        )
    return host.replace("*", "") or "127.0.0.1", port


def _is_foreign(pid: int, port: str) -> bool:
    return port.isdecimal() and process_table.listens(pid, int(port)) is False


def _scope(text: str) -> list[RawValue]:
    answer = _answer(text)
    found = [
        agent_messages.value(each)
        for each in answer["values"]
        if not each["name"].startswith(_MARKERS)
    ]
    # Missing debug information does not mean that there are no variables.
    note = answer.get("note")
    return [*found, RawValue("(locals)", f"unknown: {note}")] if note else found


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    """Look for a JDK: the configured one, JAVA_HOME's, or the one on PATH."""
    home = env.get("JAVA_HOME")
    candidates = [config.path] if config.path else [home and os.path.join(home, "bin", "jdb")]
    candidates += [] if config.path else [shutil.which("jdb", path=env.get("PATH"))]
    for path in filter(None, candidates):
        jdb = os.path.realpath(os.path.expanduser(path))
        folder = os.path.dirname(jdb)
        if all(os.path.isfile(os.path.join(folder, each)) for each in ("jdb", "javac", "java")):
            version = _version(os.path.dirname(folder))
            major = re.match(r"\d+", version or "")
            if major and int(major[0]) < _OLDEST:
                return Missing(f"the JDK at {folder} is {version}, and {_OLDEST} is needed")
            return Found(jdb, version)
    if config.path:
        return Missing(f"{config.path} is not in a JDK")
    return Missing("no JDK (jdb and javac) on PATH or in JAVA_HOME")


def _version(home: str) -> str | None:
    try:
        text = files.read_text(os.path.join(home, "release"))
        found = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    except OSError:
        return None
    return found[1] if found else None


DEBUGGER = Debugger(
    name="jdb",
    kind="console",
    languages=("Java", "Kotlin"),
    patterns=("*.jar", "*.class"),
    shebangs=("java",),
    binaries=("jvm",),
    install=_INSTALL,
    find=_find,
    make=JdbBackend,
    modules=True,
    has_module=java_programs.has_class,
    rank=60,
    debug_servers=("java",),
    prepare=_prepare,
)
