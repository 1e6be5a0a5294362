"""What a launch configuration of an editor starts: the arguments of `start` or of `attach`.

Fields have the names that the debug extensions of VS Code and Zed give them; those that only
matter inside an editor are left out. The debugger is chosen by the program, as everywhere.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from typing import Any

from freezeframe import files
from freezeframe.errors import BadConfig, NotFound, Unsupported
from freezeframe.model.fast_dataclass import dataclass, field

from ._launch_program import LaunchRequest
from ._suggestions import quoted

_MAX_ENV_BYTES = 1 << 20
#: `NAME=value` of an envFile
_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=\s*(.*?)\s*")
#: types that debug something other than a program on this machine
_BROWSERS = frozenset({"chrome", "pwa-chrome", "msedge", "pwa-msedge", "firefox", "extensionHost"})
_TERMINALS = ("integratedTerminal", "externalTerminal")
#: fields with the number of a process to attach to
_PROCESS_IDS = ("processId", "process_id", "pid")
_HOSTS = ("host", "hostName", "address")


@dataclass(frozen=True, slots=True)
class ConfiguredAttach:
    """The arguments of `attach`."""

    where: str
    program: str | None = None
    map: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        options = ["--program", self.program] if self.program else []
        return quoted("attach", self.where, *options, *(w for m in self.map for w in ("--map", m)))


@dataclass(frozen=True, slots=True)
class ResolvedConfiguration:
    """What a configuration runs."""

    starts: LaunchRequest | ConfiguredAttach
    notes: tuple[str, ...] = ()
    #: files that are part of what it runs, with their content
    read: Mapping[str, bytes] = field(default_factory=dict)
    #: variables of an envFile, whose values are not shown
    file_env: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command without `dbg`, that does the same."""
        return self.starts.command if isinstance(self.starts, ConfiguredAttach) else self._start()

    def _start(self) -> str:
        assert isinstance(self.starts, LaunchRequest)
        request, options = self.starts, list[str]()
        for option, value in (
            ("--cwd", request.cwd),
            ("--interpreter", request.interpreter),
            ("--classpath", request.classpath),
        ):
            options += [option, value] if value else []
        names = {*self.file_env}
        for pair in request.env:
            name = pair.partition("=")[0]
            options += ["--env", f"{name}=…" if name in names else pair]
        options += ["--stop-on-entry"] * request.stop_on_entry + ["--tty"] * request.tty
        options += ["-m"] * request.module
        rest = ["--", *request.args] if request.args else []
        return quoted("start", *options, request.program or "", *rest)


def resolve(name: str, fields: Mapping[str, Any], folder: str) -> ResolvedConfiguration:
    """Return what the configuration *name* runs; its variables have been replaced.

    *folder* is the one that the editor has opened. Raises Unsupported or BadConfig.
    """
    kind = str(fields.get("type") or fields.get("adapter") or "")
    if kind in _BROWSERS:
        raise Unsupported(
            f"configuration {name!r} debugs a page in a browser ({kind}).", next="dbg adapters"
        )
    if fields.get("request") == "attach":
        return ResolvedConfiguration(_attach(name, fields), _notes(fields))
    program, args, module = _command(name, kind, fields)
    read: dict[str, bytes] = {}
    file_env = _env_file(fields, folder, read)
    classes = [each for each in _arguments(fields.get("classPaths")) if not each.startswith("$")]
    request = LaunchRequest(
        program,
        tuple(args),
        module=module,
        stop_on_entry=bool(
            fields.get("stopOnEntry") or fields.get("stopAtEntry") or fields.get("stopOnMain")
        ),
        cwd=_text(fields.get("cwd")) or folder,
        env=tuple(f"{k}={v}" for k, v in {**file_env, **_environment(fields)}.items()),
        tty=fields.get("console") in _TERMINALS or fields.get("externalConsole") is True,
        interpreter=_interpreter(fields) if not fields.get("pythonArgs") else None,
        classpath=os.pathsep.join(classes) or None,
        just_my_code=_flag(fields.get("justMyCode")),
        child={True: "follow", False: "ignore", None: None}[_flag(fields.get("subProcess"))],
    )
    return ResolvedConfiguration(request, _notes(fields), read, tuple(file_env))


def _command(name: str, kind: str, fields: Mapping[str, Any]) -> tuple[str, list[str], bool]:
    """Return the program or command, its arguments, and whether it is a module."""
    program = _text(fields.get("program") or fields.get("script"))
    module = _text(fields.get("module") or fields.get("mainClass"))
    args = _arguments(fields.get("args"))
    runtime, runtime_args = fields.get("runtimeExecutable"), _arguments(fields.get("runtimeArgs"))
    cargo = fields.get("cargo")
    if isinstance(cargo, dict) and _arguments(cargo.get("args")):
        return "cargo", [*_arguments(cargo.get("args")), *(["--", *args] if args else [])], False
    if python_args := _arguments(fields.get("pythonArgs")):
        target = ["-m", module] if module else [program] if program else []
        return _interpreter(fields) or "python3", [*python_args, *target, *args], False
    if runtime or runtime_args:
        target = [program] if program else []
        # Types are named after the runtime: `node`, `pwa-node`, `php`.
        return _text(runtime) or kind.removeprefix("pwa-"), [*runtime_args, *target, *args], False
    if module and not program:
        return module, args, not module.endswith(".java")
    if program and kind in ("go", "Delve") and fields.get("mode") == "test":
        return "test", [program, *args], True
    if not program:
        raise BadConfig(
            f"configuration {name!r} names no program.", next="dbg start PROGRAM -- ARGUMENTS"
        )
    return program, args, False


def _attach(name: str, fields: Mapping[str, Any]) -> ConfiguredAttach:
    server = fields.get("connect") or fields.get("tcp_connection") or fields
    server = server if isinstance(server, dict) else {}
    pid = next((_text(fields.get(each)) for each in _PROCESS_IDS if fields.get(each)), None)
    port = server.get("port")
    if pid is None and port is None:
        raise BadConfig(
            f"configuration {name!r} names neither a process nor a port.", next="dbg attach PID"
        )
    host = next((str(server[each]) for each in _HOSTS if server.get(each)), "127.0.0.1")
    pairs = [
        (each.get("remoteRoot"), each.get("localRoot"))
        for each in fields.get("pathMappings") or ()
        if isinstance(each, dict)
    ]
    pairs.append((fields.get("remoteRoot"), fields.get("localRoot")))
    folders = tuple(f"{remote}={local}" for remote, local in pairs if remote and local)
    return ConfiguredAttach(pid or f"{host}:{port}", _text(fields.get("program")), folders)


def _notes(fields: Mapping[str, Any]) -> tuple[str, ...]:
    found = []
    for name in ("preLaunchTask", "build"):
        task = fields.get(name)
        if task:
            label = task if isinstance(task, str) else _text(task.get("label") or task.get("task"))
            found.append(f"its {name} {label or ''} was not run: run it first if it is needed")
    if fields.get("buildFlags"):
        found.append("its buildFlags were left out")
    return tuple(found)


def _environment(fields: Mapping[str, Any]) -> dict[str, str]:
    env, entries = fields.get("env"), fields.get("environment")
    env = env if isinstance(env, dict) else {}
    found = {str(name): str(value) for name, value in env.items() if value is not None}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and "name" in entry:
            found[str(entry["name"])] = str(entry.get("value", ""))
    return found


def _env_file(fields: Mapping[str, Any], folder: str, read: dict[str, bytes]) -> dict[str, str]:
    """Return the variables of the configuration's envFile; its content goes into *read*."""
    named = _text(fields.get("envFile"))
    if named is None:
        return {}
    path = os.path.join(folder, named)
    try:
        content = files.read_bytes(path, _MAX_ENV_BYTES)
    except OSError as error:
        raise NotFound(
            f"the envFile {path} cannot be read: {error.strerror}.", next="dbg start PROGRAM"
        ) from None
    read[path] = content
    found = {}
    for line in content.decode("utf-8", "replace").splitlines():
        if assigned := _ASSIGNMENT.fullmatch(line):
            found[assigned[1]] = _unquoted(assigned[2])
    return found


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].replace("\\n", "\n") if text[0] == '"' else text[1:-1]
    return text.partition(" #")[0].rstrip()


def _interpreter(fields: Mapping[str, Any]) -> str | None:
    named = fields.get("python") or fields.get("pythonPath")
    return _text(next(iter(named), None) if isinstance(named, list) else named)


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and value != "" else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _arguments(value: Any) -> list[str]:
    """Return a list of arguments, which may be written as one string."""
    if isinstance(value, str):
        return shlex.split(value)
    return [str(each) for each in value] if isinstance(value, list) else []
