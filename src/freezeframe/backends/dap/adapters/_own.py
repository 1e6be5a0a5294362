"""Debug adapters of the user's own: an `[adapters.NAME]` with a `command`, without code."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from freezeframe.backends.backend import Attach, Core, Launch, Target
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.errors import Unsupported

from ._descriptor import Adapter, Dial, Plan, Reverse, Spawn, Start, Stdio, Surroundings

#: What is sent where config.toml has no `launch`: what most adapters read.
_LAUNCH: Mapping[str, Any] = {
    "program": "{program}",
    "args": "{args}",
    "cwd": "{cwd}",
    "env": "{env}",
    "stopOnEntry": "{stop_on_entry}",
}
_WORD = re.compile(r"\{(\w+)\}")


def adapter_of(name: str, config: AdapterConfig) -> Adapter | None:
    """Return the debugger that a section of config.toml describes; None where it describes none."""
    if not config.command and _address(config.transport) is None:
        return None
    return Adapter(
        name=name,
        adapter_id=config.adapter_id or name,
        languages=config.languages,
        patterns=config.patterns,
        shebangs=config.shebangs,
        install=config.install,
        find=_finder(config),
        plan=_plan,
        rank=1,
        tested=False,
        start=Start(
            reverse=lambda target: config.transport == "connect",
            needs_port=lambda target: config.transport == "listen",
        ),
    )


def _finder(own: AdapterConfig) -> Callable[[Mapping[str, str], AdapterConfig], Found | Missing]:
    def find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
        if not own.command:
            return Found(own.transport or "", None)
        path = shutil.which(own.command[0], path=env.get("PATH"))
        if path is None:
            return Missing(f"there is no {own.command[0]}, which its command names")
        return Found(path, None, (path, *own.command[1:], *own.args))

    return find


def _address(transport: str | None) -> tuple[str, int] | None:
    host, colon, port = (transport or "").rpartition(":")
    return (host, int(port)) if colon and port.isdigit() else None


def _plan(target: Target, around: Surroundings) -> Plan:
    if isinstance(target, Core):
        raise Unsupported("an adapter of your own opens no core files.", next="dbg adapters")
    config, address = around.config, _address(around.config.transport)
    host, port = address or ("127.0.0.1", around.port)
    if around.endpoint is not None:
        host, port = around.endpoint.host, around.endpoint.port
    spawn = None
    if around.found.command:
        place = {"host": host, "port": port}
        argv = tuple(str(_filled(word, place)) for word in around.found.command)
        spawn = Spawn(argv, target.cwd, target.env)
    stream: Stdio | Reverse | Dial = Stdio()
    if config.transport == "connect":
        stream = Reverse()
    elif address is not None or config.transport == "listen":
        stream = Dial(host, port)
    words = {"cwd": target.cwd, "env": dict(target.env), "host": host, "port": port}
    arguments = {**_arguments(target, config, words), **target.options}
    return Plan(stream, "launch" if isinstance(target, Launch) else "attach", arguments, spawn)


def _arguments(
    target: Launch | Attach, config: AdapterConfig, words: Mapping[str, Any]
) -> dict[str, Any]:
    if isinstance(target, Launch):
        of_launch = {
            "program": target.program,
            "args": list(target.args),
            "stop_on_entry": target.stop_on_entry,
        }
        return dict(_filled(config.launch or _LAUNCH, {**words, **of_launch}))
    if not config.attach:
        raise Unsupported(
            "config.toml does not say how yours joins a running program: it has no `attach`.",
            next="dbg config",
        )
    of_attach: dict[str, Any] = {"pid": target.pid, "program": target.program or ""}
    if target.host is not None:
        of_attach |= {"host": target.host, "port": target.port}
    return dict(_filled(config.attach, {**words, **of_attach}))


def _filled(template: Any, words: Mapping[str, Any]) -> Any:
    """Return a template with its words in braces replaced; one that stands alone keeps its kind."""
    if isinstance(template, str):
        alone = _WORD.fullmatch(template)
        if alone is not None and alone[1] in words:
            return words[alone[1]]
        return _WORD.sub(lambda match: str(words.get(match[1], match[0])), template)
    if isinstance(template, Mapping):
        return {key: _filled(value, words) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [_filled(value, words) for value in template]
    return template
