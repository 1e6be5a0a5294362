"""Answers of the commands that set Freezeframe up: checks, debuggers, settings, changed files."""

from __future__ import annotations

from .fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One check of `doctor`. `status`: `ok`, `warn`, `fail`, `skip`."""

    name: str
    status: str
    detail: str
    #: a command that fixes it
    fix: str | None = None
    #: what `--fix` did about it
    mended: str | None = None
    #: the check is about a debugger
    debugger: bool = False


@dataclass(frozen=True, slots=True)
class Checkup:
    checks: tuple[Check, ...]
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdapterInfo:
    name: str
    kind: str
    languages: tuple[str, ...]
    found: bool
    version: str | None = None
    path: str | None = None
    tested: bool = False
    note: str | None = None
    install: tuple[str, ...] = ()
    #: config.toml describes it
    yours: bool = False
    #: what it claims: file name patterns, shebangs, kinds of binaries
    claims: tuple[str, ...] = ()
    #: supported and unsupported features at the last try; both empty: never tried
    can: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdapterList:
    adapters: tuple[AdapterInfo, ...]
    #: of an adapter requested by name: the result of trying it now
    tried: Check | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A command that installs something: `ready`, `blocked`, `by hand`, `ran` or `failed`."""

    command: str
    state: str
    #: why it was not run, or how it failed
    why: str | None = None
    #: the end of its output
    output: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """One thing that can be installed: whether it is present, and the ways to install it."""

    name: str
    #: the languages of a debugger
    purpose: str
    here: bool
    #: version and path, or why it is missing
    detail: str
    steps: tuple[SetupStep, ...] = ()
    #: the result of trying it after the installation
    tried: Check | None = None


@dataclass(frozen=True, slots=True)
class Setups:
    setups: tuple[Setup, ...]
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file of another program: `written`, `unchanged` or `would change`."""

    path: str
    #: what it is: the servers or the skill of a host
    what: str
    state: str
    #: removed and added lines, without context
    diff: str = ""


@dataclass(frozen=True, slots=True)
class FileChanges:
    changes: tuple[FileChange, ...]
    note: str | None = None
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    value: object
    default: object
    explanation: str
    #: `default`, `config.toml`, or the environment variable that set it
    source: str = "default"


@dataclass(frozen=True, slots=True)
class Settings:
    path: str
    exists: bool
    settings: tuple[Setting, ...]
    #: why the file cannot be used
    error: str | None = None
