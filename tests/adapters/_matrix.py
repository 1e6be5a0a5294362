"""The debuggers that the contract is held against. One small entry each.

What a debugger cannot do is stated here, and then tested: it must be refused as unsupported, not
skipped.
"""

from __future__ import annotations

import functools
import os
import re
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path

from freezeframe.backends.debugger import Found
from freezeframe.backends.selection import known
from freezeframe.config import AdapterConfig
from harness import compilers, programs
from harness.client import REPOSITORY, Dbg
from harness.compilers import Language
from harness.interpreters import Interpreter, interpreters
from harness.programs import Program
from harness.requirements import give_up


@dataclass(frozen=True)
class Failure:
    """The exception that ends `uncaught`, as the language prints it."""

    #: why the program stops: `exception` or `signal`
    reason: str
    #: of the exception, where it dies of one
    type: str = ""
    message: str = ""
    #: what the program itself writes to its standard error
    words: str = ""
    exit_code: int | None = None
    exit_signal: str | None = None


@dataclass(frozen=True)
class Debugger:
    """A debugger and a language, as one row of the contract."""

    id: str
    #: `loop` + suffix is the contract's program in this language
    suffix: str
    failure: Failure
    #: operations that must be refused as unsupported, as command lines tried at a stop
    refuses: tuple[str, ...] = ()
    #: a word of the error message for an unknown name
    complaint: str = "no_such_name"
    #: the marker at which a step into a function arrives: its first line, or where it begins
    entered: str = "callee"
    #: its name in `--adapter`, where the program alone does not decide
    name: str | None = None
    #: the folder that it was unpacked into for us, where the system has no package of it
    folder: Path | None = field(default=None, repr=False)
    language: Language | None = field(default=None, repr=False)
    interpreter: Interpreter | None = field(default=None, repr=False)
    #: it attaches to running processes
    joins: bool = True
    #: it debugs the processes that a program forks beside it
    follows: bool = True
    #: its program can be given input
    fed: bool = True
    #: the prefix of the name of a variable
    sigil: str = ""
    #: the language has threads that it sees
    threaded: bool = True
    #: it holds a running program
    pauses: bool = True
    #: it reports what a function returned
    returns: bool = True
    #: it shows who called whom
    stacked: bool = True
    #: a step over a call stops at a breakpoint in it
    meets: bool = True
    #: a program that waits for input can be held, and a breakpoint set in it
    hears: bool = True
    #: what runs a program so that it can be attached to later, where that takes more than its name
    runner: tuple[str, ...] = ()
    #: a folder of the daemon's cache that is kept from test to test: it takes long to make
    kept: str | None = None

    def prepare(self, dbg: Dbg) -> None:
        """Make the caller's environment one in which this debugger is the natural choice."""
        if why := self._missing():
            give_up(why)
        if self.interpreter:
            dbg.use_interpreter(self.interpreter.path)
        if self.name:
            dbg.env["FREEZEFRAME_DEBUGGER"] = self.name
        dbg.env["PATH"] = self._path(dbg.env["PATH"])
        if self.kept:
            folder = REPOSITORY / ".cache" / self.kept
            folder.mkdir(parents=True, exist_ok=True)
            (dbg.home / "cache").mkdir(mode=0o700, exist_ok=True)
            if not (kept := dbg.home / "cache" / self.kept).exists():
                kept.symlink_to(folder)

    def install(self, stem: str, project: Path) -> Program:
        """Put the contract's program of that stem into *project*, ready to be started."""
        source = programs.install(stem + self.suffix, project)
        return programs.compiled(source) if self.language else source

    def says(self, expression: str) -> str:
        """Return an expression of plain names and operators as this language writes it."""
        return re.sub(r"\b([a-z_]+)\b", lambda name: self.sigil + name[1], expression)

    def command(self, program: Program) -> list[str]:
        """Return the command line that runs a program without a debugger."""
        runner = [self.interpreter.path] if self.interpreter else self.runner
        return [*runner, str(program.path)]

    def facts(self) -> dict[str, object]:
        """Return what the page of promises must know of this row."""
        name = self.name or "debugpy"
        language = self.language.name if self.language else known()[name].languages[0]
        can = {
            "attach": self.joins,
            "input": self.fed,
            "pause": self.pauses,
            "thread": self.threaded,
            "backtrace": self.stacked,
            "returned": self.returns and "finish" not in self.refuses,
        }
        refuses = [*self.refuses, *(word for word, able in can.items() if not able)]
        return {"id": self.id, "name": name, "language": language, "refuses": refuses}

    def _missing(self) -> str | None:
        """Return why it cannot be tried here, and what to install."""
        if self.language and (why := compilers.missing(self.language)):
            return why
        return _not_installed(self.name, self._path(os.environ["PATH"])) if self.name else None

    def _path(self, path: str) -> str:
        return f"{self.folder}{os.pathsep}{path}" if self.folder else path

    def __str__(self) -> str:
        return self.id


@functools.cache
def _not_installed(name: str, path: str) -> str | None:
    debugger = known()[name]
    found = debugger.find({**os.environ, "PATH": path}, AdapterConfig())
    if isinstance(found, Found):
        return None
    return f"{name}: {found.reason}: {' or '.join(debugger.install)}"


PYTHONS = tuple(
    Debugger(
        id=f"python{interpreter.version}",
        suffix=".py",
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "break *0x1000",
            "return 1",
            "restart-frame",
        ),
        failure=Failure(
            reason="exception",
            type="ZeroDivisionError",
            message="division by zero",
            words="ZeroDivisionError",
            exit_code=1,
        ),
        complaint="NameError",
        interpreter=interpreter,
    )
    for interpreter in interpreters()
)

#: the second route to Python, through its own prompt
PROMPTED = tuple(
    replace(
        row,
        id=f"pdb-{row.id}",
        name="pdb",
        refuses=(*row.refuses, "detach"),
        joins=False,
    )
    for row in PYTHONS
)

#: by language, the same for every debugger
_FAILURES = {
    compilers.C: Failure(reason="signal", exit_signal="SIGFPE"),
    compilers.CPP: Failure(
        reason="exception",
        type="std::domain_error",
        message="division by zero",
        words="std::domain_error",
        exit_signal="SIGABRT",
    ),
    compilers.RUST: Failure(
        reason="exception",
        type="panic",
        message="attempt to divide by zero",
        words="attempt to divide by zero",
        exit_code=101,
    ),
}


def _native(
    name: str,
    *,
    refuses: tuple[str, ...] = ("restart-frame",),
    folder: Path | None = None,
    follows: bool = False,
) -> tuple[Debugger, ...]:
    """One row for each language that a native debugger is held to."""
    return tuple(
        Debugger(
            id=f"{name}-{language.name}",
            suffix=language.suffix,
            refuses=refuses,
            failure=failure,
            name=name,
            folder=folder,
            follows=follows,
            language=language,
        )
        for language, failure in _FAILURES.items()
    )


NATIVE = (*_native("lldb-dap"), *_native("gdb-mi", follows=True))
#: held to the contract, and to a file of its own instead of the native ones
CODELLDB = _native("codelldb", folder=REPOSITORY / ".cache" / "codelldb" / "adapter")
GDB_DAP = _native("gdb-dap", folder=REPOSITORY / ".cache" / "gdb" / "bin", follows=True)
#: the second route, through a prompt
LLDB_CLI = _native("lldb-cli")

RUBY = (
    Debugger(
        id="ruby",
        suffix=".rb",
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "break *0x1000",
            "jump 1",
            "return 1",
            "restart-frame",
        ),
        failure=Failure(
            reason="exception",
            type="ZeroDivisionError",
            message="divided by 0",
            words="ZeroDivisionError",
            exit_code=1,
        ),
        complaint="NameError",
        name="rdbg",
        runner=("ruby", "-r", "debug/open_nonstop"),
    ),
)

GO = (
    Debugger(
        id="delve-Go",
        suffix=".go",
        # It ends what it started when it is left.
        refuses=(
            "jump loop.go:25",
            "detach",
            "memory read 0x1000",
            "memory write 0x1000 00",
            "return 1",
            "restart-frame",
        ),
        failure=Failure(
            reason="exception",
            type="panic",
            message="runtime error: integer divide by zero",
            words="integer divide by zero",
            exit_code=2,
        ),
        entered="entered",
        name="delve",
        # `sh check.sh` installs it there.
        folder=REPOSITORY / ".cache" / "go" / "bin",
        language=compilers.GO,
    ),
)

NODE = tuple(
    Debugger(
        id=id,
        suffix=suffix,
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "break *0x1000",
            f"jump loop{suffix}:16",
            "return 1",
        ),
        failure=Failure(
            reason="exception",
            type="RangeError",
            message="Division by zero",
            words="RangeError: Division by zero",
            exit_code=1,
        ),
        complaint="ReferenceError",
        name="node",
        language=language,
        # Of its own choice: other tests would take the same one.
        runner=("node", "--inspect-port=0"),
    )
    for id, suffix, language in (
        ("node-js", ".js", None),
        ("node-ts", ".ts", compilers.TYPESCRIPT),
    )
)

JAVA = (
    Debugger(
        id="jdb-Java",
        suffix=".java",
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "break *0x1000",
            "jump loop.java:23",
        ),
        failure=Failure(
            reason="exception",
            type="ArithmeticException",
            message="/ by zero",
            words="java.lang.ArithmeticException: / by zero",
            exit_code=1,
        ),
        name="jdb",
        language=compilers.JAVA,
        kept="agents",
        runner=(
            "java",
            "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0,quiet=y",
            "-jar",
        ),
    ),
)


PERL = (
    Debugger(
        id="perl",
        suffix=".pl",
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "break *0x1000",
            "jump loop.pl:21",
            "return 1",
            "restart-frame",
            "detach",
        ),
        failure=Failure(
            reason="exception",
            type="die",
            message="Illegal division by zero",
            words="Illegal division by zero at",
            exit_code=255,
        ),
        name="perl",
        joins=False,
        sigil="$",
        threaded=False,
        runner=("perl",),
    ),
)

PHP = (
    Debugger(
        id="xdebug-PHP",
        suffix=".php",
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "break *0x1000",
            "jump loop.php:20",
            "return 1",
            "restart-frame",
        ),
        failure=Failure(
            reason="exception",
            type="DivisionByZeroError",
            message="Division by zero",
            words="Uncaught DivisionByZeroError: Division by zero",
            exit_code=255,
        ),
        name="xdebug",
        joins=False,
        sigil="$",
        threaded=False,
        runner=("php",),
    ),
    Debugger(
        id="phpdbg-PHP",
        suffix=".php",
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "break *0x1000",
            "jump loop.php:20",
            "return 1",
            "restart-frame",
            "detach",
            "input hello",
        ),
        failure=Failure(
            reason="exception",
            type="DivisionByZeroError",
            message="Division by zero",
            # It reports the exception in the program's output.
            words="",
            exit_code=255,
        ),
        # Where its arguments are received.
        entered="entered",
        name="phpdbg",
        returns=False,
        joins=False,
        fed=False,
        sigil="$",
        threaded=False,
        runner=("php",),
    ),
)

OCAML = (
    Debugger(
        id="ocaml",
        suffix=".ml",
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "break *0x1000",
            "jump loop.ml:20",
            "return 1",
            "restart-frame",
            "set total 1",
            "detach",
        ),
        # Its debugger reports the exception: the program does not write anything.
        failure=Failure(reason="exception", type="Division_by_zero", exit_code=2),
        complaint="Unbound identifier",
        name="ocamldebug",
        returns=False,
        joins=False,
        threaded=False,
        hears=False,
        runner=("ocaml",),
    ),
)


HASKELL = (
    Debugger(
        id="ghci",
        suffix=".hs",
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "break *0x1000",
            "jump loop.hs:21",
            "return 1",
            "restart-frame",
            "detach",
            "finish",
            "set total 100",
            "watch total",
        ),
        failure=Failure(
            reason="exception",
            type="ErrorCall",
            message="division by zero",
            words="division by zero",
            exit_code=1,
        ),
        entered="entered",
        name="ghci",
        joins=False,
        threaded=False,
        pauses=False,
        stacked=False,
        meets=False,
        hears=False,
        runner=("runghc",),
    ),
)

#: every promise is held against every row
_EVERY = os.environ.get("FREEZEFRAME_TEST_ROWS") == "all"


def _by_debugger(rows: tuple[Debugger, ...]) -> list[tuple[Debugger, ...]]:
    names = dict.fromkeys(row.name for row in rows)
    return [tuple(row for row in rows if row.name == name) for name in names]


#: rows of which one is enough for a promise: those of a debugger, in its languages or versions, and
#: those of the debuggers of native code that nobody gets without asking for them
_FAMILIES = (
    PYTHONS,
    PROMPTED,
    *_by_debugger(NATIVE),
    (*CODELLDB, *GDB_DAP, *LLDB_CLI),
    RUBY,
    GO,
    NODE,
    JAVA,
    PERL,
    *_by_debugger(PHP),
    OCAML,
    HASKELL,
)


def _of_every_debugger(
    test: str, families: tuple[tuple[Debugger, ...], ...] = _FAMILIES
) -> tuple[Debugger, ...]:
    """Return the rows that a promise of all is held against.

    One row of each family: which, the promise's name decides, so that they take turns and a run has
    an end. FREEZEFRAME_TEST_ROWS=all is every debugger in all.
    """
    if _EVERY:
        return tuple(row for family in families for row in family)
    turn = zlib.crc32(test.encode())
    return tuple(family[turn % len(family)] for family in families if family)


#: what the name of a file has in it → the rows for its tests
_BY_LANGUAGE = {
    "ruby": RUBY,
    "_go": GO,
    "java": JAVA,
    "perl": PERL,
    "haskell": HASKELL,
    "ocaml": OCAML,
}


def _compiled_language(module: str) -> compilers.Language:
    if "cpp" in module:
        return compilers.CPP
    return compilers.RUST if "rust" in module else compilers.C


def _in(
    language: compilers.Language, rows: tuple[Debugger, ...], name: str = ""
) -> tuple[Debugger, ...]:
    return tuple(row for row in rows if row.language is language and name in (row.name or ""))


def held_against(module: str, test: str) -> tuple[Debugger, ...]:
    """Return the rows for a test. A file about a language names it; others are about all."""
    language = _compiled_language(module)
    if "python_untraced" in module or "python_watchpoints" in module:
        # The oldest is traced by sys.settrace, all others by sys.monitoring.
        return PYTHONS if _EVERY else tuple(dict.fromkeys((PYTHONS[0], PYTHONS[-1])))
    if "python_shared_tracing" in module:
        return tuple(dict.fromkeys((PYTHONS[0], *_of_every_debugger(test, (PYTHONS,)))))
    if "python" in module:
        return _of_every_debugger(test, (PYTHONS,))
    if "hooks" in module:
        # Python and Ruby have programs of their own; others run no code of the program's.
        return (*NODE[:1], *JAVA, *PERL, *PHP)
    for word, rows in _BY_LANGUAGE.items():
        if word in module:
            return rows
    if "php" in module:
        return PHP[1:] if "phpdbg" in module else PHP[:1]
    if "node" in module:
        return NODE[:1]
    if "of_lldb" in module:
        return _of_every_debugger(
            test, (_in(language, NATIVE, "lldb"), _in(language, (*LLDB_CLI, *CODELLDB), "lldb"))
        )
    if "of_gdb" in module:
        return _in(language, (*NATIVE, *GDB_DAP), "gdb")
    for word, rows in (("codelldb", CODELLDB), ("lldb_cli", LLDB_CLI), ("gdb_dap", GDB_DAP)):
        if word in module:
            return _in(compilers.CPP, rows)
    if "native" in module:
        rows = (*NATIVE, *LLDB_CLI) if _EVERY else NATIVE
        return _in(language, (*rows, *GDB_DAP) if "forks" in module else rows)
    return _of_every_debugger(test)
