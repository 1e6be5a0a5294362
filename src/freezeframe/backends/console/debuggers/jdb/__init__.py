"""Java, and whatever else becomes class files, through the debug interface of the JDK.

jdb's own prompt has no types, no messages of exceptions, no `&&`, and prints texts without escapes
(measured with JDK 17). `probe/` stands on what jdb stands on, the Java Debug Interface, and has a
prompt whose answers can be read. It runs the program as a process of its own, which connects to it
over loopback: so nothing of a debugger is in the program's streams.
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
    Feature,
    Launch,
    RawFrame,
    RawValue,
    Sink,
    StepKind,
    Target,
)
from freezeframe.backends.console.prompt import probes
from freezeframe.backends.console.prompt.backend import PromptBackend
from freezeframe.backends.console.prompt.spelling import (
    Ask,
    At,
    Begin,
    Halt,
    Home,
    Line,
    Made,
    Spelling,
    nothing,
)
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.snapshots import Snapshot
from freezeframe.backends.transport import processes
from freezeframe.config import AdapterConfig, Config
from freezeframe.errors import EvaluationFailed, Unsupported
from freezeframe.model.places import Location
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit, StopReason, Thread
from freezeframe.model.values import ScopeKind

from . import probe, programs, snapshots

#: of the debugger's own JDK; the program may run on any
_OLDEST = 17
_answer = partial(probes.answer, "jdb")
_STEPS = {StepKind.OVER: "over", StepKind.INTO: "into", StepKind.OUT: "out"}
#: of the machine itself: it handles other signals, and ends with a code then
_SIGNALS = {134: "SIGABRT", 137: "SIGKILL", 139: "SIGSEGV"}
_INSTALL = ("apt install openjdk-17-jdk-headless", "brew install openjdk")
_AGENT = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:5005"
#: variables that Kotlin's compiler makes to tell debuggers what it has inlined; always 0
_MARKERS = ("$i$f$", "$i$a$")
#: calls, assignments and increments in an expression
_ACTS = re.compile(r"[\w$\]\)]\s*\(|(?<![=!<>])=(?!=)|\+\+|--|\bnew\b")
#: the address in the words of a machine that listens
_ADDRESS = re.compile(r"jdwp[=:]\S*?address=(?P<address>[^,\s]+)")


class Jdb(Spelling):
    """The words of our probe."""

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
    nearest = {
        Feature.MEMORY_READ: "dbg print EXPR",
        Feature.MEMORY_WRITE: "dbg set NAME VALUE",
        Feature.REGISTERS: "dbg locals",
        Feature.DISASSEMBLE: "javap -c CLASS",
        Feature.WATCHPOINTS: "dbg break FILE:LINE --condition 'NAME != OLD'",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.JUMP: "dbg restart",
    }

    def __init__(self, jdk: str) -> None:
        #: the folder of its commands
        self._jdk = jdk
        self._pid: int | None = None
        #: the folder of the probe's classes
        self.classes = ""

    # --- the line

    def mark(self, token: str) -> str:
        return f"ff_mark {token}"

    def begin(self, target: Target, config: AdapterConfig) -> Begin:
        settings: tuple[str, ...] = ()
        if isinstance(target, Launch):
            made = programs.read(target)
            classes = [each for each in made.classes if not each.endswith(".jar")]
            classes += [each for each in made.classes if each == target.program]
            look = ("\n".join(dict.fromkeys(classes)), "\n".join(programs.source_roots(target)))
            settings = (_command("ff_look", *look),)
            self._java = _java(target, config, self._jdk)
        elif isinstance(target, Attach):
            self._where = _address(target)
            settings = (_command("ff_look", "", "\n".join(programs.source_roots(target))),)
        else:
            raise Unsupported(
                "jdb opens no core files.", next="jhsdb clhsdb --exe JAVA --core FILE"
            )
        return Begin(
            (
                os.path.join(self._jdk, "java"),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                *config.args,
                "-cp",
                self.classes,
                probe.MAIN,
            ),
            target.cwd,
            probe.without_options(target.env),
            Line.STDIO,
            Home.LAUNCHED if isinstance(target, Launch) else Home.APART,
            settings=settings,
        )

    def read_greeting(self, text: str) -> str | None:
        hello = [line for line in text.splitlines() if line.startswith("@hello ")]
        return hello[0].partition(" ")[2] if hello else None

    def read_failure(self, words: str) -> str | None:
        return words.strip() or None

    # --- running

    def run(self, target: Launch) -> str:
        made = programs.read(target)
        given = programs.options_of_program(target.env, probe.MEANT_FOR_PROGRAMS)
        runtime = (self._java, "{agent}", *target.interpreter_args)
        words = (*given, "--", *runtime, *made.words, *target.args)
        return _command("ff_run", *words) + "\t{stdin}\t{stdout}\t{stderr}"

    def join(self, target: Target) -> str:
        return _command("ff_attach", *self._where)

    def entry(self, target: Launch) -> Location | None:
        main = programs.read(target).main
        return Location(function=f"{main}.main") if main else None

    def pid(self) -> Ask[int | None]:
        return Ask("ff_mark -", lambda text: self._pid)

    def resume(self, thread: int | None) -> str:
        return "ff_continue"

    def step(self, kind: StepKind, thread: int) -> str:
        return f"ff_step {_STEPS[kind]} {thread}"

    def force_return(self, at: At, value: str | None) -> Ask[None]:
        return Ask(_command("ff_return", str(at.thread), *([value] if value else [])), _unwound)

    def restart_frame(self, at: At) -> Ask[None]:
        return Ask(f"ff_pop {at.thread} {at.level}", _unwound)

    def pause(self) -> str:
        return "ff_pause"

    def detach(self) -> str:
        return "ff_detach"

    def read_stop(self, text: str) -> Halt | None:
        stop = probes.stop(text)
        if stop is None:
            return None
        self._pid = stop.get("pid", self._pid)
        if "exit" in stop:
            return Halt(exit=_exit(stop["exit"]))
        returned = stop.get("returned")
        return Halt(
            StopReason(stop["reason"]) if "reason" in stop else None,
            stop.get("path"),
            stop.get("line"),
            stop.get("function"),
            stop.get("thread"),
            tuple(stop["numbers"]) if "numbers" in stop else (),
            description=stop.get("description"),
            returned=probes.value(returned) if returned else None,
        )

    # --- breakpoints

    def takes(self, location: Location) -> Feature | None:
        return Feature.ADDRESS_BREAKPOINTS if location.address is not None else None

    def break_at(self, location: Location, condition: str | None) -> Ask[Made]:
        def read(text: str) -> Made:
            told = _answer(text)
            return Made(told["number"], told.get("path"), told.get("line"), told["verified"])

        # A false one costs no word of ours; what may change the program is evaluated once, by us.
        verb: tuple[str, ...] = ("ff_break",)
        if condition is not None and not _ACTS.search(condition):
            verb = ("ff_break_if", condition)
        if location.function is not None:
            module = f"{location.module}." if location.module else ""
            return Ask(_command(*verb, module + location.function), read)
        return Ask(_command(*verb, location.file or "", str(location.line)), read)

    def unbreak(self, number: str) -> str:
        return f"ff_unbreak {number}"

    def truth(self, condition: str, at: At) -> Ask[bool]:
        return Ask(_evaluation(condition, at, "truth"), lambda text: bool(_answer(text)))

    def log_text(self, expression: str, at: At) -> Ask[str]:
        return Ask(_evaluation(expression, at, "text"), lambda text: str(_answer(text)["text"]))

    def set_filters(self, filters: Sequence[ExceptionFilter]) -> Sequence[str]:
        return (_command("ff_filters", *(f"{f.name}={f.condition or ''}" for f in filters)),)

    # --- seeing

    def threads(self) -> Ask[Sequence[Thread]]:
        return Ask(
            "ff_threads",
            lambda text: [
                Thread(each["id"], each["name"], each["state"]) for each in _answer(text)
            ],
        )

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        return Ask(
            f"ff_frames {thread} {start} {count}",
            lambda text: [RawFrame(0, **each) for each in _answer(text)],
        )

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        return Ask(f"ff_scope {at.thread} {at.level}", _scope)

    def arguments(self, at: At) -> Ask[Sequence[str] | None]:
        return Ask(
            f"ff_scope {at.thread} {at.level}", lambda text: list(_answer(text)["arguments"])
        )

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]]:
        asked = (str(at.thread), str(at.level), expression, str(start))
        return Ask(
            _command("ff_children", *asked, str(-1 if count is None else count)),
            lambda text: [probes.value(each) for each in _answer(text)],
        )

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        return Ask(_evaluation(expression, at, "show"), lambda text: probes.value(_answer(text)))

    def assign(self, target: str, value: str, at: At) -> Ask[None]:
        asked = self.evaluate(f"{target} = {value}", at)
        return Ask(asked.command, lambda text: nothing(asked.read(text).text))

    def exception(self, thread: int) -> Ask[ExceptionInfo | None]:
        def read(text: str) -> ExceptionInfo | None:
            told = _answer(text)
            if not told:
                return None
            return ExceptionInfo(
                told["type"],
                told["message"],
                causes=tuple(told["causes"]),
                details=tuple(f"suppressed: {each}" for each in told["suppressed"]),
                mode=told["mode"],
            )

        return Ask("ff_exception", read)

    def raw(self, command: str) -> Ask[str]:
        def read(text: str) -> str:
            if text.startswith("***"):
                raise EvaluationFailed(probes.complaint(text))
            return text

        return Ask(command, read)


class JdbBackend(PromptBackend):
    """The probe must be there in classes before it is started."""

    def __init__(self, found: Found, config: Config) -> None:
        self._java = Jdb(os.path.dirname(found.path))
        super().__init__(self._java, found, config)

    async def start(
        self, target: Target, configuration: Configuration, sink: Sink
    ) -> Sequence[BoundBreakpoint]:
        javac = _javac(self._found)
        limit_s = self._config.timeouts.build_s
        self._java.classes = await probe.compiled(javac, env=target.env, timeout_s=limit_s)
        return await super().start(target, configuration, sink)

    async def snapshot(self, *, stacks: bool = True) -> Snapshot | None:
        if not stacks or not self._motion.running:
            return None
        return await self._talk.ask(Ask("ff_snapshot", lambda text: snapshots.read(_answer(text))))


async def _prepare(found: Found, env: Mapping[str, str], timeout_s: float) -> str | None:
    """Compile the probe, which takes seconds, before a session's time begins."""
    if os.path.isdir(probe.folder_for(_javac(found))):
        return None
    began = time.monotonic()
    await probe.compiled(_javac(found), env=env, timeout_s=timeout_s)
    took_s = time.monotonic() - began
    return f"compiled dbg's own part for Java {found.version or ''}, once: {took_s:.1f} s"


def _javac(found: Found) -> str:
    return os.path.join(os.path.dirname(found.path), "javac")


def _unwound(text: str) -> None:
    if text.startswith("***"):
        raise EvaluationFailed(probes.complaint(text))


def _command(verb: str, *words: str) -> str:
    return " ".join((verb, *(quote(word, safe="/{}:.$,*") or "%20" for word in words)))


def _evaluation(expression: str, at: At, how: str) -> str:
    return _command("ff_eval", str(at.thread), str(at.level), expression, how)


def _exit(code: int | None) -> Exit:
    signal = _SIGNALS.get(code) if code is not None else None
    return Exit(signal=signal) if signal else Exit(code=code)


def _java(target: Launch, config: AdapterConfig, jdk: str) -> str:
    """Return the machine that runs the program: the one named, the caller's, the debugger's."""
    chosen = target.interpreter or config.interpreter
    if chosen:
        return chosen
    home = target.env.get("JAVA_HOME")
    own = os.path.join(home, "bin", "java") if home else None
    if own and os.path.isfile(own):
        return own
    return shutil.which("java", path=target.env.get("PATH")) or os.path.join(jdk, "java")


def _address(target: Attach) -> tuple[str, str]:
    """Return host and port of a machine that listens. Raises Unsupported for one that does not."""
    if target.port is not None:
        return target.host or "127.0.0.1", str(target.port)
    words = " ".join(processes.command_line(target.pid)) if target.pid is not None else ""
    found = _ADDRESS.search(words)
    if found is None or "server=n" in words:
        raise Unsupported(
            f"process {target.pid} listens for no debugger; a Java program is joined when it was "
            "started with the debug agent.",
            next=f"java {_AGENT} …",
        )
    host, _, port = found["address"].rpartition(":")
    if port == "0" and target.pid is not None:
        # Any port that was free; only the system knows which.
        listening = sorted(processes.ports(target.pid))
        if len(listening) != 1:
            raise Unsupported(
                f"process {target.pid} listens on {len(listening)} ports, and its command does not "
                "say which is the debug agent's.",
                next="dbg attach 127.0.0.1:PORT --adapter jdb",
            )
        port = str(listening[0])
    return host.replace("*", "") or "127.0.0.1", port


def _scope(text: str) -> list[RawValue]:
    told = _answer(text)
    found = [probes.value(each) for each in told["values"] if not each["name"].startswith(_MARKERS)]
    # What the compiler did not note is not to be taken for what is not there.
    note = told.get("note")
    return [*found, RawValue("(locals)", f"unknown: {note}")] if note else found


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    """Look for a JDK: the one that is configured, JAVA_HOME's, the one on PATH."""
    home = env.get("JAVA_HOME")
    places = [config.path] if config.path else [home and os.path.join(home, "bin", "jdb")]
    places += [] if config.path else [shutil.which("jdb", path=env.get("PATH"))]
    for place in filter(None, places):
        jdb = os.path.realpath(os.path.expanduser(place))
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
    has_module=programs.has_class,
    rank=60,
    servers=("java",),
    prepare=_prepare,
)
