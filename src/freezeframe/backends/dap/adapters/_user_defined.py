"""Debug adapters without code: an `[adapters.NAME]` section with a `command`.

config.toml has those of the user, documented.toml those that were never run here.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from freezeframe.backends.backend import Attach, Core, Launch, Target
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.errors import Unsupported

from ._descriptor import Adapter, Connect, LaunchEnvironment, Listen, Plan, Spawn, Start, Stdio

#: Sent where a section has no `launch`: the arguments that most adapters read.
_LAUNCH: Mapping[str, Any] = MappingProxyType(
    {
        "program": "{program}",
        "args": "{args}",
        "cwd": "{cwd}",
        "env": "{env}",
        "stopOnEntry": "{stop_on_entry}",
    }
)
#: `${name}` is left to the adapter.
_PLACEHOLDER = re.compile(r"(?<!\$)\{([\w.]+)\}")

#: Computed values by the name of their placeholder; each gets the target and its project's folder.
Computed = Mapping[str, Callable[[Launch, str], Any]]


def adapter_of(
    name: str, section: AdapterConfig, *, rank: int = 1, computed: Computed | None = None
) -> Adapter | None:
    """Return the adapter that a section describes; None if it describes none."""
    if not section.command and _address(section.transport) is None:
        return None
    return Adapter(
        name=name,
        adapter_id=section.adapter_id or name,
        languages=section.languages,
        patterns=section.patterns,
        shebangs=section.shebangs,
        install=section.install,
        find=lambda env, config: _find(section, env, config),
        plan=lambda target, around: _plan(name, section, computed or {}, target, around),
        rank=rank,
        tested=False,
        start=Start(
            reverse=lambda target: section.transport == "connect",
            needs_port=lambda target: section.transport == "listen",
        ),
    )


def _find(section: AdapterConfig, env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    """Find the program of a section's command; `path` and `args` of *config* are the user's."""
    if not section.command:
        return Found(section.transport or "", None)
    search = env.get("PATH", os.defpath)
    executables = (config.path,) if config.path else (section.command[0], *section.locations)
    rest = (*section.command[1:], *config.args)
    for path in (path for each in executables for path in _matches(each, env)):
        if path.endswith(".js"):
            node = shutil.which("node", path=search)
            if node is None:
                return Missing(f"{path} needs node, and there is none on PATH")
            return Found(path, None, (node, path, *rest))
        found = shutil.which(path, path=search)
        if found is not None:
            return Found(found, None, (found, *rest))
    return Missing(f"{os.path.basename(executables[0])} was not found")


def _matches(executable: str, env: Mapping[str, str]) -> list[str]:
    """Return a name, or the files that a path or pattern matches, the highest version first."""
    if executable.startswith("~/"):
        executable = env.get("HOME", "~") + executable[1:]
    if os.sep not in executable:
        return [executable]
    return sorted(glob.glob(executable), reverse=True)


def _address(transport: str | None) -> tuple[str, int] | None:
    host, colon, port = (transport or "").rpartition(":")
    return (host, int(port)) if colon and port.isdigit() else None


def _plan(
    name: str,
    section: AdapterConfig,
    computed: Computed,
    target: Target,
    around: LaunchEnvironment,
) -> Plan:
    if isinstance(target, Core):
        raise Unsupported(f"{name} cannot open core files.", next="dbg adapters")
    address = _address(section.transport)
    host, port = address or ("127.0.0.1", around.port)
    if around.endpoint is not None:
        host, port = around.endpoint.host, around.endpoint.port
    values: dict[str, Any] = {"host": host, "port": port}
    spawn = None
    if around.found.command:
        argv = tuple(str(_filled(arg, values)) for arg in around.found.command)
        spawn = Spawn(argv, target.cwd, target.env)
    stream: Stdio | Listen | Connect = Stdio()
    if section.transport == "connect":
        stream = Listen()
    elif address is not None or section.transport == "listen":
        stream = Connect(host, port)
    values |= {"cwd": target.cwd, "env": dict(target.env), "program": target.program or ""}
    if isinstance(target, Attach):
        template = _attach_template(name, section, target)
        values["pid"] = target.pid
        if target.host is not None:
            values |= {"host": target.host, "port": target.port}
    else:
        template = section.launch or _LAUNCH
        values |= _launch_values(section, target, around.found.path)
        used = set(_PLACEHOLDER.findall(str(template)))
        values |= {key: computed[key](target, values["project"]) for key in used & computed.keys()}
    arguments = {**_filled(template, values), **target.options}
    return Plan(stream, "launch" if isinstance(target, Launch) else "attach", arguments, spawn)


def _launch_values(section: AdapterConfig, target: Launch, adapter: str) -> dict[str, Any]:
    return {
        "args": list(target.args),
        "stop_on_entry": target.stop_on_entry,
        "just_my_code": target.just_my_code,
        "interpreter": target.interpreter or next(iter(section.shebangs), None),
        "project": _project(section, target),
        "adapter_root": os.path.dirname(os.path.dirname(adapter)),
    }


def _project(section: AdapterConfig, target: Launch) -> str:
    """Return the nearest folder at or above the program that has one of the `project_files`."""
    folder = os.path.dirname(target.program) or target.cwd
    while not any(os.path.exists(os.path.join(folder, each)) for each in section.project_files):
        parent = os.path.dirname(folder)
        if parent == folder:
            return target.cwd
        folder = parent
    return folder


def _attach_template(name: str, section: AdapterConfig, target: Attach) -> Mapping[str, Any]:
    if not section.attach:
        raise Unsupported(
            f"{name} only starts programs: its section has no `attach`.", next="dbg start PROGRAM"
        )
    if target.pid is None and set(_PLACEHOLDER.findall(str(section.attach))) == {"pid"}:
        raise Unsupported(f"{name} attaches to a process, not to a port.", next="dbg attach PID")
    return section.attach


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with its `{placeholders}` filled in.

    A lone placeholder keeps its value's type; a key whose value is None is left out.
    """
    if isinstance(template, str):
        alone = _PLACEHOLDER.fullmatch(template)
        if alone is not None and alone[1] in values:
            return values[alone[1]]
        return _PLACEHOLDER.sub(lambda match: str(values.get(match[1], match[0])), template)
    if isinstance(template, Mapping):
        filled = {key: _filled(value, values) for key, value in template.items()}
        return {key: value for key, value in filled.items() if value is not None}
    if isinstance(template, list | tuple):
        return [_filled(value, values) for value in template]
    return template
