"""The debuggers that the contract is held against. One small entry each.

What a debugger cannot do is stated here, and then tested: it must be refused as unsupported, not
skipped.
"""

from __future__ import annotations

import functools
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

from freezeframe.backends.select import survey
from freezeframe.config import Config
from harness import compilers, programs
from harness.client import Dbg
from harness.compilers import Language
from harness.interpreters import Interpreter, interpreters
from harness.programs import Program


def give_up(why: str) -> NoReturn:
    """Skip a test that needs what is not installed; in CI, which installs it, that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


def need(tool: str, install: str) -> None:
    """Give up where a program that a test runs itself is not there."""
    if shutil.which(tool) is None:
        give_up(f"there is no {tool}: {install}")


@dataclass(frozen=True)
class Failure:
    """What `uncaught` dies of, in the words of the language."""

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
    #: a word of the complaint about a name that is not there
    complaint: str = "no_such_name"
    #: its name in `--adapter`, where the program alone does not decide
    name: str | None = None
    language: Language | None = field(default=None, repr=False)
    interpreter: Interpreter | None = field(default=None, repr=False)

    def prepare(self, dbg: Dbg) -> None:
        """Make the caller's environment one in which this debugger is the natural choice."""
        if why := self._missing():
            give_up(why)
        if self.interpreter:
            dbg.use_interpreter(self.interpreter.path)
        if self.name:
            dbg.env["FREEZEFRAME_DEBUGGER"] = self.name

    def install(self, stem: str, project: Path) -> Program:
        """Put the contract's program of that stem into *project*, ready to be started."""
        source = programs.install(stem + self.suffix, project)
        return programs.compiled(source) if self.language else source

    def command(self, program: Program) -> list[str]:
        """Return the command line that runs a program without a debugger."""
        return [*([self.interpreter.path] if self.interpreter else []), str(program.path)]

    def _missing(self) -> str | None:
        """Return why it cannot be tried here, and what to install."""
        if self.language and (why := compilers.missing(self.language)):
            return why
        return _not_installed(self.name) if self.name else None

    def __str__(self) -> str:
        return self.id


@functools.cache
def _not_installed(name: str) -> str | None:
    found = {info.name: info for info in survey(os.environ, Config())}
    info = found[name]
    return None if info.found else f"{name}: {info.note}: {' or '.join(info.install)}"


PYTHONS = tuple(
    Debugger(
        id=f"python{interpreter.version}",
        suffix=".py",
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "watch total",
            "break *0x1000",
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


def _native(name: str, *, refuses: tuple[str, ...] = ()) -> tuple[Debugger, ...]:
    """One row for each language that a native debugger is held to."""
    return tuple(
        Debugger(
            id=f"{name}-{language.name}",
            suffix=language.suffix,
            refuses=refuses,
            failure=failure,
            name=name,
            language=language,
        )
        for language, failure in _FAILURES.items()
    )


NATIVE = _native("lldb-dap")

DEBUGGERS = (*PYTHONS, *NATIVE)


def held_against(module: str) -> tuple[Debugger, ...]:
    """Return the rows for a file of tests. One about a language names it; others are about all."""
    if "python" in module:
        return PYTHONS
    if "native" in module:
        language = (
            compilers.CPP
            if "cpp" in module
            else compilers.RUST
            if "rust" in module
            else compilers.C
        )
        return tuple(row for row in NATIVE if row.language is language)
    return DEBUGGERS
