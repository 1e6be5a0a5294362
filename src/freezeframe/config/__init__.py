"""Settings from config.toml and the environment, with their defaults.

Every key is declared once, below, with its default, its bounds and its explanation. `dbg config`,
the check of the file and the suggestions in error messages all use that declaration. An unknown
key is a warning and a wrong value an error, both with the key's name; nothing is silently ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from freezeframe import files
from freezeframe.errors import BadConfig
from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.setup_answers import Setting

from ._values import FILE, checked, from_variable, keys, table, unknown


def _key(
    default: Any,
    explanation: str,
    *,
    least: float | None = None,
    most: float | None = None,
    env: str | None = None,
    env_scale: float = 1.0,
) -> Any:
    """Declare a key of config.toml.

    *env* names the variable that overrides the key; its number is multiplied by *env_scale* where
    variable and key have different units.
    """
    notes = {
        "explanation": explanation,
        "least": least,
        "most": most,
        "env": env,
        "env_scale": env_scale,
    }
    return field(default=default, metadata=notes)


_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds. Every wait has one."""

    initialize_s: float = _key(
        10.0, "for a debugger to start and become ready", least=0.1, most=_DAY_S
    )
    request_s: float = _key(
        30.0, "for a debugger to answer a request of any other kind", least=0.1, most=_DAY_S
    )
    value_s: float = _key(
        3.0, "for one value: a repr that never returns is abandoned", least=0.1, most=_DAY_S
    )
    resume_s: float = _key(
        30.0,
        "for the next stop after continue, next, step, …; then the answer is `running`",
        least=0,
        most=_DAY_S,
    )
    await_s: float = _key(300.0, "for the next stop in `await`", least=0, most=_DAY_S)
    daemon_ready_s: float = _key(
        20.0, "for a starting daemon to make progress", least=0.1, most=_DAY_S
    )
    connect_s: float = _key(2.0, "for a connection to be accepted", least=0.1, most=_DAY_S)
    control_s: float = _key(60.0, "for who took a session over to return", least=0.1, most=_DAY_S)
    build_s: float = _key(300.0, "for a program to be built from source", least=1, most=_DAY_S)


@dataclass(frozen=True, slots=True)
class Daemon:
    idle_minutes: float = _key(
        30.0,
        "without a session before the daemon exits",
        least=0.001,
        env="FREEZEFRAME_IDLE_TIMEOUT_S",
        env_scale=1 / 60,
    )

    session_idle_minutes: float = _key(
        60.0, "without a command for a session before answers mention it", least=0.001
    )
    end_idle_sessions: bool = _key(False, "end such a session instead")

    @property
    def idle_timeout_s(self) -> float:
        return self.idle_minutes * 60

    @property
    def session_idle_s(self) -> float:
        return self.session_idle_minutes * 60


@dataclass(frozen=True, slots=True)
class OutputLimits:
    """Limits of the output kept per session; the oldest is dropped and counted."""

    max_events: int = _key(10_000, "pieces of output kept", least=1)
    max_bytes_mb: float = _key(10.0, "megabytes of output kept", least=0.001, most=4096)

    @property
    def max_bytes(self) -> int:
        return int(self.max_bytes_mb * 1_000_000)


@dataclass(frozen=True, slots=True)
class Answers:
    budget_tokens: int = _key(
        2000,
        "the size that an answer must fit, 3 bytes counted as one token",
        least=60,
        env="FREEZEFRAME_BUDGET",
    )
    context_lines: int = _key(3, "lines of source on either side of a stop", least=0, most=1000)
    value_chars: int = _key(
        100, "bytes of one variable in a report before some is left out", least=40, most=1_000_000
    )
    hide_secrets: bool = _key(
        True,
        "hide values that are secret by name (history.exclude) or shape; `print --reveal` shows",
    )


@dataclass(frozen=True, slots=True)
class Defaults:
    adapter: str | None = _key(
        None,
        "the debugger to use without --adapter, or its kind (dap, console, "
        "inspector); empty: the best one for the program",
        env="FREEZEFRAME_DEBUGGER",
    )
    follow_children: bool = _key(
        True, "debug child processes too, where the debugger does so by itself"
    )
    just_my_code: bool = _key(False, "never stop or step in the code of libraries")
    simulator: str | None = _key(
        None, "the Xcode simulator of `attach --bundle-id`, by name or UDID; empty: the booted one"
    )
    bundle_id: str | None = _key(None, "the app of `attach --simulator`")


@dataclass(frozen=True, slots=True)
class StartConfig:
    hold: bool = _key(False, "stop every started program at its entry, as `start --hold` does")


_SECRET_NAMES = (
    *("*password*", "*passwd*", "*passphrase*", "*_pwd", "*db_pass", "*secret*", "*credential*"),
    *("*api_key*", "*apikey*", "*private_key*", "*access_key*", "*authorization*"),
    *("*access_token*", "*auth_token*", "*refresh_token*", "*bearer_token*"),
    *("cookie", "set-cookie", "set_cookie"),
)


@dataclass(frozen=True, slots=True)
class HistoryConfig:
    """What is recorded of every stop, and for how long."""

    record: bool = _key(True, "keep every stop of every session", env="FREEZEFRAME_RECORD")
    exclude: tuple[str, ...] = _key(
        _SECRET_NAMES,
        "variables, fields and keys of these names are hidden, upper and lower case alike",
    )
    max_age_days: float = _key(30.0, "before a recorded run that has no label goes", least=0.001)
    max_mb: float = _key(
        500.0, "megabytes of history; beyond them the oldest runs without a label go", least=1
    )


@dataclass(frozen=True, slots=True)
class AdapterConfig:
    """[adapters.NAME]: how a debugger is started; with `command`, a user-defined debug adapter."""

    path: str | None = _key(None, "the executable to start, instead of the one that is found")
    args: tuple[str, ...] = _key((), "arguments added to its command line")
    interpreter: str | None = _key(
        None, "the runtime to run programs with, instead of the caller's own"
    )
    command: tuple[str, ...] = _key(
        (), "a debug adapter of your own: the command that starts it; {port} where it needs one"
    )
    transport: str | None = _key(
        None, "how yours is reached: stdio, listen or connect (at {port}), or HOST:PORT"
    )
    languages: tuple[str, ...] = _key((), "what yours debugs, to be shown")
    patterns: tuple[str, ...] = _key((), "names of files that yours debugs: *.moon")
    shebangs: tuple[str, ...] = _key((), "interpreters of scripts that yours debugs")
    adapter_id: str | None = _key(None, "what yours calls itself (default: its name here)")
    launch: Mapping[str, Any] | None = _key(
        None, "yours' launch arguments; {program}, {args}, {cwd}, {env}, {stop_on_entry}, {project}"
    )
    attach: Mapping[str, Any] | None = _key(
        None, "yours' attach arguments; {pid}, {host}, {port}, {program}, {cwd}"
    )
    install: tuple[str, ...] = _key((), "commands that install yours, to be shown")
    locations: tuple[str, ...] = _key(
        (), "where yours may be, if its command is not on PATH: names, paths, patterns"
    )
    project_files: tuple[str, ...] = _key((), "files that mark the folder {project}: build.gradle")


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of one daemon; `sources` maps keys that are not defaults to their origin."""

    timeouts: Timeouts = Timeouts()
    daemon: Daemon = Daemon()
    output: OutputLimits = OutputLimits()
    answers: Answers = Answers()
    defaults: Defaults = Defaults()
    start: StartConfig = StartConfig()
    history: HistoryConfig = HistoryConfig()
    adapters: Mapping[str, AdapterConfig] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    #: what the file has and no setting reads
    warnings: tuple[str, ...] = ()

    def adapter(self, name: str) -> AdapterConfig:
        """Return the section of the debugger *name*; the defaults when the file has none."""
        return self.adapters.get(name, _NO_ADAPTER_CONFIG)


_NO_ADAPTER_CONFIG = AdapterConfig()
_SECTIONS: Mapping[str, type] = MappingProxyType(
    {
        "timeouts": Timeouts,
        "daemon": Daemon,
        "output": OutputLimits,
        "answers": Answers,
        "defaults": Defaults,
        "start": StartConfig,
        "history": HistoryConfig,
    }
)
#: keys of other debuggers' files → ours, with the same unit
_OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "timeouts.dap_initialize_secs": "initialize_s",
        "timeouts.dap_request_secs": "request_s",
        "timeouts.await_default_secs": "await_s",
        "daemon.idle_timeout_minutes": "idle_minutes",
    }
)
#: in bytes
_MAX_FILE = 1 << 20


# --- reading ------------------------------------------------------------------------------------


def load(path: str | Path | None, env: Mapping[str, str]) -> Config:
    """Return the settings of the file at *path*, overridden by *env*. Raises as `read` does."""
    return override(read(path, env), env)


def read(path: str | Path | None, env: Mapping[str, str]) -> Config:
    """Return the settings of the file at *path*; *env* is only used for HOME.

    A missing file means the defaults. An unknown key is one of the `warnings`. Raises BadConfig
    for a file that cannot be read, is not TOML, or has a wrong value.
    """
    return _from_table(_read(Path(path)) if path is not None else {}, env)


def override(config: Config, env: Mapping[str, str]) -> Config:
    """Return *config* with the overrides from the variables of *env*.

    Each caller has its own environment, so the daemon applies this to each request.
    """
    sources = dict(config.sources)
    changed: dict[str, Any] = {}
    for section, cls in _SECTIONS.items():
        for key in keys(cls):
            variable = key.metadata["env"]
            text = env.get(variable) if variable else None
            if not text:  # empty counts as unset
                continue
            value = from_variable(variable, text, key, cls)
            base = changed.get(section, getattr(config, section))
            changed[section] = replace(base, **{key.name: value})
            sources[f"{section}.{key.name}"] = variable
    if not changed:
        return config
    return replace(config, **changed, sources=MappingProxyType(sources))


def settings(config: Config) -> tuple[Setting, ...]:
    """Return every key with its value, default, origin and explanation."""
    rows: list[Setting] = []
    for section, cls in _SECTIONS.items():
        rows += _rows(section, cls, getattr(config, section), config.sources)
    # NAME is a placeholder, so that the keys are explained even when no debugger has a section.
    for name, adapter in (config.adapters or {"NAME": _NO_ADAPTER_CONFIG}).items():
        rows += _rows(f"adapters.{name}", AdapterConfig, adapter, config.sources)
    return tuple(rows)


def _rows(section: str, cls: type, values: object, sources: Mapping[str, str]) -> Iterator[Setting]:
    for key in keys(cls):
        name = f"{section}.{key.name}"
        yield Setting(
            key=name,
            value=getattr(values, key.name),
            default=key.default,
            explanation=key.metadata["explanation"],
            source=sources.get(name, "default"),
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        data = files.read_bytes(path, _MAX_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadConfig(f"{path} cannot be read: {reason}.", next=f"ls -l {path}") from error
    import tomllib  # most daemons have no file, and start without it

    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is not TOML: {error}.", next="dbg config") from error


def _from_table(content: Mapping[str, Any], env: Mapping[str, str]) -> Config:
    sources: dict[str, str] = {}
    warnings: list[str] = []
    sections: dict[str, Any] = {}
    adapters: dict[str, AdapterConfig] = {}
    for name, inside in content.items():
        if name == "adapters":
            for adapter, given in table(inside, "adapters").items():
                section = f"adapters.{adapter}"
                read = _section(section, AdapterConfig, given, sources, warnings)
                _check_user_defined(section, read)
                adapters[adapter] = _expand_home(read, env)
        elif name in _SECTIONS:
            sections[name] = _section(name, _SECTIONS[name], inside, sources, warnings)
        else:
            warnings.append(unknown(name, "", [*_SECTIONS, "adapters"]))
    return Config(
        **sections,
        adapters=MappingProxyType(adapters),
        sources=MappingProxyType(sources),
        warnings=tuple(warnings),
    )


def _section(
    section: str, cls: type, content: object, sources: dict[str, str], warnings: list[str]
) -> Any:
    declared = {key.name: key for key in keys(cls)}
    values: dict[str, object] = {}
    given = table(content, section)
    for written, value in given.items():
        name = _OTHER_NAMES.get(f"{section}.{written}", written)
        if name not in declared:
            warnings.append(unknown(name, f"{section}.", declared))
        elif name == written or name not in given:
            values[name] = checked(f"{section}.{written}", value, declared[name], cls)
            sources[f"{section}.{name}"] = FILE
    return cls(**values)


def _expand_home(adapter: AdapterConfig, env: Mapping[str, str]) -> AdapterConfig:
    """Expand a leading `~/` in paths."""

    def expand(path: str | None) -> str | None:
        home = env.get("HOME")
        return home + path[1:] if path and home and path.startswith("~/") else path

    return replace(adapter, path=expand(adapter.path), interpreter=expand(adapter.interpreter))


# --- user-defined debug adapters ----------------------------------------------------------------

#: key → the placeholders that it may contain
PLACEHOLDERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "command": ("port", "host"),
        "launch": (
            *("program", "args", "cwd", "env", "stop_on_entry", "port", "host"),
            *("just_my_code", "interpreter", "project", "adapter_root"),
        ),
        "attach": ("pid", "host", "port", "program", "cwd", "env"),
    }
)
_TRANSPORTS = ("stdio", "listen", "connect")
_BRACED = late_regex.compile(r"(?<!\$)\{(\w+)\}")


def _check_user_defined(section: str, adapter: AdapterConfig) -> None:
    """Raise BadConfig for a user-defined debug adapter that could never be started."""
    given = [key.name for key in keys(AdapterConfig)[3:] if getattr(adapter, key.name)]
    dialled = adapter.transport is not None and _is_address(adapter.transport)
    if given and not adapter.command and not dialled:
        raise BadConfig(
            f"{section}.command is missing; {given[0]} is for a debugger of your own.",
            next="dbg config",
        )
    for key in PLACEHOLDERS:
        for path, name in _placeholders(getattr(adapter, key), f"{section}.{key}"):
            if name not in PLACEHOLDERS[key]:
                known = ", ".join(f"{{{each}}}" for each in PLACEHOLDERS[key])
                raise BadConfig(f"{path} has {{{name}}}; there are {known}.", next="dbg config")
    if adapter.transport is None or dialled:
        return
    if adapter.transport not in _TRANSPORTS:
        raise BadConfig(
            f"{section}.transport must be {', '.join(_TRANSPORTS)} or HOST:PORT, "
            f"not {adapter.transport!r}.",
            next="dbg config",
        )
    if adapter.transport != "stdio" and "{port}" not in " ".join(adapter.command):
        raise BadConfig(
            f"{section}.command must contain {{port}}, which {adapter.transport!r} needs.",
            next="dbg config",
        )


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdigit()


def _placeholders(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield every placeholder, preceded by the path of its key."""
    if isinstance(value, str):
        for name in _BRACED.findall(value):
            yield path, name
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _placeholders(each, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _placeholders(each, path)
