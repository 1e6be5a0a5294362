"""JavaScript through js-debug, the debugger of VS Code, where the user has it installed.

The server only dispatches programs: `startDebugging` announces each process that it starts, and a
separate connection attaches to it, which has the threads and the breakpoints. Measured with 1.112,
which reports no exit code where it reads the program's streams. Node's own inspector needs none of
this and is preferred.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from freezeframe import files
from freezeframe.backends.backend import Attach, Core, Feature, RawFrame, StepKind, Target
from freezeframe.backends.dap.backend import DapBackend
from freezeframe.backends.dap.debuggee import Debuggee
from freezeframe.backends.dap.termination import Termination
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.javascript.initialization import at_position, function_at
from freezeframe.backends.optimization import UNKNOWN_NAMES, FrameNames
from freezeframe.config import AdapterConfig
from freezeframe.errors import Unsupported
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, Exit

from ._descriptor import (
    Adapter,
    AdapterOutput,
    ConnectUnix,
    Exceptions,
    Expressions,
    Frames,
    LaunchEnvironment,
    Plan,
    Spawn,
)

_VARIABLE = "FREEZEFRAME_JS_DEBUG"
#: the filter for every exception, under our name and under js-debug's
_RAISED, _ALL = "raised", "all"
_SCRIPTS = (".js", ".mjs", ".cjs")
_SERVERS = ("dapDebugServer.js", "vsDebugServer.cjs", "src/dapDebugServer.js")
#: runs in the program, and writes its exit code to the file that the variable names
_EXIT_AGENT = Path(__file__).with_name("js_debug_exit_agent.cjs")
_EXIT_VARIABLE, _EXIT_FILE = "FREEZEFRAME_EXIT_FILE", "exit-code"
_DEBUGGER_LINES = re.compile(
    r"^(?:Debugger listening on ws://127\.0\.0\.1:\d+/[0-9a-f-]{36}\n"
    r"|For help, see: https://nodejs\.org/en/docs/inspector\n"
    r"|Debugger attached\.\n|Waiting for the debugger to disconnect\.\.\.\n"
    r"|Could not read source map for file:.*\n?)",
    re.MULTILINE,
)
_SEARCH_PATHS = (
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
    patterns = [named] if named else [pattern.replace("~", home, 1) for pattern in _SEARCH_PATHS]
    for pattern in patterns:
        for path in sorted(glob.glob(pattern), reverse=True):
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
    """Return the version from the package files next to the server."""
    for name in ("manifest.json", "package.json", "../package.json"):
        try:
            with open(os.path.join(os.path.dirname(server), name), encoding="utf-8") as file:
                match = re.search(r'"(?:version|tag)":\s*"v?(\d[\w.]*)"', file.read())
        except OSError:
            continue
        if match:
            return match[1]
    return None


def _plan(target: Target, around: LaunchEnvironment) -> Plan:
    if isinstance(target, Core):
        raise Unsupported("JavaScript has no core files to open.", next="dbg start PROGRAM")
    # A client of the server can start programs as this user: no port, which every user can reach.
    path = os.path.join(around.directory, "js-debug")
    spawn = Spawn((*around.found.command, path), target.cwd, target.env)
    arguments: dict[str, Any] = {
        "type": "pwa-node",
        "cwd": target.cwd,
        # With it a pause took 3 s, and was reported as a step.
        "smartStep": False,
        "autoAttachChildProcesses": target.follow_children,
    }
    if isinstance(target, Attach):
        if target.port is None:
            raise Unsupported(
                "js-debug attaches to a port, not to a process.", next="dbg attach HOST:PORT"
            )
        arguments |= {"address": target.host, "port": target.port, "continueOnAttach": True}
        request = "attach"
    else:
        arguments |= {
            "program": target.program,
            "args": list(target.args),
            "env": dict(target.env),
            "console": "internalConsole",
            # By default it shows the calls of `console`: not what is written to a stream, and what
            # a child writes to a pipe as if it were the program's.
            "outputCapture": "std",
            "stopOnEntry": target.stop_on_entry,
        }
        if target.interpreter:
            arguments["runtimeExecutable"] = target.interpreter
        # Node's inspector still opens a port: its id is not given to anyone who connects there.
        arguments["runtimeArgs"] = [
            "--inspect-publish-uid=stderr",
            "--require",
            str(_EXIT_AGENT),
            *target.interpreter_args,
        ]
        arguments["env"][_EXIT_VARIABLE] = os.path.join(around.directory, _EXIT_FILE)
        request = "launch"
    arguments |= {"request": request, "name": "program", **target.options}
    return Plan(
        ConnectUnix(path),
        "attach" if isinstance(target, Attach) else "launch",
        arguments,
        spawn,
    )


def _clean_stderr(text: str) -> str:
    """Return a text without the lines of node and of js-debug about the debugger."""
    return _DEBUGGER_LINES.sub("", text)


def _is_library(path: str, target: Target) -> bool:
    return path.startswith("<node_internals>") or "/node_modules/" in path


def _names(frame: RawFrame, innermost: bool) -> FrameNames:
    """V8 shows what is not initialised as `undefined` up to Node 20."""
    if not (frame.path or "").endswith(_SCRIPTS):
        return UNKNOWN_NAMES  # another text runs, made from this one
    text = _text(frame)
    return UNKNOWN_NAMES if text is None else FrameNames(at_position(text, *_position(frame)))


def _text(frame: RawFrame) -> str | None:
    try:
        return files.read_text(frame.path or "")
    except (OSError, ValueError):
        return None


def _position(frame: RawFrame) -> tuple[int, int]:
    """Return the line and the column of a frame, from 0."""
    return max(0, (frame.line or 1) - 1), max(0, (frame.column or 1) - 1)


class JsDebugTermination(Termination):
    async def _before_exit_status(self) -> None:
        # js-debug names no exit code where it reads the program's streams.
        resources = self._debuggee.resources
        if resources is None or self._debuggee.parent is not None:
            return
        with contextlib.suppress(OSError, ValueError):
            text = files.read_text(os.path.join(resources.directory, _EXIT_FILE))
            self.set_exit(Exit(code=int(text)))


class JsDebugDebuggee(Debuggee):
    termination_class = JsDebugTermination


class JsDebugBackend(DapBackend):
    """A backend that sends no step that V8 cannot make."""

    debuggee_class = JsDebugDebuggee

    async def step(self, kind: StepKind, thread: int, *, instruction: bool = False) -> None:
        if kind is StepKind.OUT:
            frames, _ = await self.frames(thread, 0, 1)
            text = _text(frames[0]) if frames else None
            function = function_at(text, *_position(frames[0])) if text else None
            if function is not None and function.is_async and function.is_generator:
                # V8 11 (Node 20) dies of a failed check of its own.
                raise Unsupported(
                    "V8 cannot step out of an async generator; the program would die of it.",
                    next="dbg next",
                )
        await super().step(kind, thread, instruction=instruction)


def _exception(body: Mapping[str, Any]) -> ExceptionInfo:
    """The `breakMode` is not one of the protocol's, and the stack repeats the frames."""
    kind, _, message = str(body.get("exceptionId") or "Error").partition(": ")
    return ExceptionInfo(type=kind, message=message)


def _offered(filters: Sequence[ExceptionFilter], target: Target) -> Sequence[ExceptionFilter]:
    """Return js-debug's filters under our names; uncaught exceptions stop the program by
    default."""
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
    backend=JsDebugBackend,
    hints={
        Feature.FUNCTION_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.JUMP: "dbg until LOC",
        Feature.MEMORY_WRITE: "dbg set EXPR VALUE",
    },
    exceptions=Exceptions(offered=_offered, names={_RAISED: _ALL}, read=_exception),
    frames=Frames(
        is_library=_is_library,
        names=_names,
        function_name=lambda name: name.removeprefix("global.").removeprefix("Object."),
    ),
    expressions=Expressions(assignment=lambda target, value: f"{target} = {value}"),
    output=AdapterOutput(
        clean_stderr=_clean_stderr,
        # the command line that js-debug starts
        is_noise=lambda text: "node" in text.partition(" ")[0],
    ),
)
