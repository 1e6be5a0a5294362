"""JavaScript through js-debug, the debugger of VS Code, where the user has it.

Its server only hands programs out: each process that it starts is offered by `startDebugging` and
joined by a connection of its own, which has the threads and the breakpoints. Measured with 1.112;
it says how a program ended only in its output. The inspector of node itself needs nothing of this
and is taken first.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import Attach, Core, Feature, Target
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.errors import Unsupported
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit

from ._descriptor import (
    Adapter,
    End,
    Exceptions,
    Expressions,
    Frames,
    Output,
    Plan,
    Socket,
    Spawn,
    Surroundings,
)

_VARIABLE = "FREEZEFRAME_JS_DEBUG"
#: the filter for every exception, in our words and in its own
_RAISED, _ALL = "raised", "all"
_SERVERS = ("dapDebugServer.js", "vsDebugServer.cjs", "src/dapDebugServer.js")
_PLACES = (
    "~/.local/share/js-debug",
    "~/.vscode/extensions/ms-vscode.js-debug-*",
    "~/.local/share/nvim/mason/packages/js-debug-adapter/js-debug",
    "/usr/lib/js-debug",
)


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    node = shutil.which(config.interpreter or "node", path=env.get("PATH", os.defpath))
    if node is None:
        return Missing("there is no node on PATH")
    named = config.path or env.get(_VARIABLE)
    home = env.get("HOME", "")
    places = [named] if named else [place.replace("~", home, 1) for place in _PLACES]
    for place in places:
        for path in sorted(glob.glob(place), reverse=True):
            server = path if os.path.isfile(path) else _within(path)
            if server is not None:
                return Found(server, _version(server), (node, server))
    if named:
        return Missing(f"there is no js-debug server at {named}")
    return Missing(
        f"no dapDebugServer.js was found; {_VARIABLE} or adapters.js-debug.path names it"
    )


def _within(folder: str) -> str | None:
    for name in _SERVERS:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return None


def _version(server: str) -> str | None:
    """Return the version that stands in the files beside it."""
    for name in ("manifest.json", "package.json", "../package.json"):
        try:
            with open(os.path.join(os.path.dirname(server), name), encoding="utf-8") as file:
                match = re.search(r'"(?:version|tag)":\s*"v?(\d[\w.]*)"', file.read())
        except OSError:
            continue
        if match:
            return match[1]
    return None


def _plan(target: Target, around: Surroundings) -> Plan:
    if isinstance(target, Core):
        raise Unsupported("JavaScript has no core files to open.", next="dbg start PROGRAM")
    # Whoever may connect to it starts programs as this user: no port, which is everybody's.
    path = os.path.join(around.directory, "js-debug")
    spawn = Spawn((*around.found.command, path), target.cwd, target.env)
    arguments: dict[str, Any] = {
        "type": "pwa-node",
        "cwd": target.cwd,
        # With it a pause took 3 s, and was told as a step.
        "smartStep": False,
        "autoAttachChildProcesses": target.follow_children,
    }
    if isinstance(target, Attach):
        if target.port is None:
            raise Unsupported("it joins a port, not a process.", next="dbg attach HOST:PORT")
        arguments |= {"address": target.host, "port": target.port, "continueOnAttach": True}
        request = "attach"
    else:
        arguments |= {
            "program": target.program,
            "args": list(target.args),
            "env": dict(target.env),
            "console": "internalConsole",
            "stopOnEntry": target.stop_on_entry,
        }
        if target.interpreter:
            arguments["runtimeExecutable"] = target.interpreter
        # Node's inspector has a port all the same: its id is told to nobody who asks there.
        arguments["runtimeArgs"] = ["--inspect-publish-uid=stderr", *target.interpreter_args]
        request = "launch"
    arguments |= {"request": request, "name": "program", **target.options}
    return Plan(
        Socket(path),
        "attach" if isinstance(target, Attach) else "launch",
        arguments,
        spawn,
    )


def _exit(text: str) -> Exit | None:
    match = re.match(r"Process exited with code (\d+)\s*$", text)
    return Exit(code=int(match[1])) if match else None


def _is_library(path: str, target: Target) -> bool:
    return path.startswith("<node_internals>") or "/node_modules/" in path


def _exception(body: Mapping[str, Any]) -> ExceptionInfo:
    """Its mode is none of the protocol's, and its stack is that of the frames."""
    kind, _, message = str(body.get("exceptionId") or "Error").partition(": ")
    return ExceptionInfo(type=kind, message=message)


def _offered(filters: Sequence[ExceptionFilter], target: Target) -> Sequence[ExceptionFilter]:
    """Its filters in our words; what nobody catches stops the program unless told otherwise."""
    return [
        ExceptionFilter(_RAISED, each.label) if each.name == _ALL else replace(each, default=True)
        for each in filters
    ]


ADAPTER = Adapter(
    name="js-debug",
    adapter_id="pwa-node",
    languages=("JavaScript", "TypeScript"),
    patterns=("*.js", "*.mjs", "*.cjs", "*.ts", "*.mts", "*.cts"),
    shebangs=("node",),
    install=(
        "curl -L https://github.com/microsoft/vscode-js-debug/releases/download/v1.112.0/"
        "js-debug-dap-v1.112.0.tar.gz | tar -xz -C ~/.local/share",
    ),
    find=_find,
    plan=_plan,
    rank=60,
    hints={
        Feature.FUNCTION_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.WATCHPOINTS: "dbg break FILE:LINE -c 'EXPR'",
        Feature.JUMP: "dbg until LOC",
        Feature.MEMORY_READ: "dbg print EXPR",
        Feature.MEMORY_WRITE: "dbg set EXPR VALUE",
        Feature.REGISTERS: "dbg locals",
        Feature.DISASSEMBLE: "dbg source",
        Feature.INSTRUCTION_STEP: "dbg step",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.SINGLE_THREAD: "dbg continue",
        Feature.STEP_BACK: "dbg restart",
    },
    end=End(read_output=_exit),
    exceptions=Exceptions(offered=_offered, names={_RAISED: _ALL}, read=_exception),
    frames=Frames(
        is_library=_is_library,
        function_name=lambda name: name.removeprefix("global.").removeprefix("Object."),
    ),
    expressions=Expressions(assignment=lambda target, value: f"{target} = {value}"),
    output=Output(
        disguised=lambda text: _exit(text) is not None,
        # The command line that it starts, and what it says when that ends.
        chatter=lambda text: _exit(text) is not None or "node" in text.partition(" ")[0],
    ),
)
