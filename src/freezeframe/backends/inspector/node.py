"""JavaScript and TypeScript under node, through V8's inspector. Node 18 and later.

Nothing needs to be installed but node itself. Measured with 18.20, 20.20, 22.23 and 24.21.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from freezeframe import files
from freezeframe.backends.backend import Backend, Launch
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.forks import FOLLOWS
from freezeframe.backends.transport import ask
from freezeframe.config import AdapterConfig, Config
from freezeframe.errors import LaunchFailed, Unsupported

from . import disguise
from .runtime import Runtime

_NAME = "node"
_OLDEST = 18
_BOOT = str(Path(__file__).with_name("boot_probe.cjs"))
_TYPED = (".ts", ".mts", ".cts", ".tsx", ".jsx")


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    path = config.path or config.interpreter
    path = path or shutil.which("node", path=env.get("PATH", os.defpath))
    path = path or shutil.which("nodejs", path=env.get("PATH", os.defpath))
    if path is None:
        return Missing("no `node` on PATH")
    if not os.path.exists(path):
        return Missing(f"{path} does not exist")
    version = _version(path)
    if version is None:
        return Missing(f"{path} does not say its version")
    if int(version.partition(".")[0]) < _OLDEST:
        return Missing(f"{path} is node {version}, older than {_OLDEST}")
    return Found(path, version)


def _version(node: str) -> str | None:
    return ask.version((node, "--version"), r"v(\d+\.\d+\.\d+)")


def _argv(target: Launch, found: Found, config: AdapterConfig) -> tuple[str, ...]:
    """Return the command that runs a program under the inspector. Raises LaunchFailed."""
    if target.module:
        raise Unsupported("node runs files, not modules by name.", next="dbg start PROGRAM")
    node, version = found.path, found.version or ""
    if target.interpreter:
        node = _interpreter(target)
        version = _version(node) or version
    return (
        node,
        *disguise.OPTIONS,
        *config.args,
        *target.interpreter_args,
        *_options(target),
        *_typed(target, node, version),
        target.program,
        *target.args,
    )


def _interpreter(target: Launch) -> str:
    assert target.interpreter is not None
    path = shutil.which(target.interpreter, path=target.env.get("PATH", os.defpath))
    if path is None:
        raise LaunchFailed(
            f"there is no node {target.interpreter}.", next="dbg start PROGRAM --interpreter PATH"
        )
    return path


def _options(target: Launch) -> tuple[str, ...]:
    """Return the options of node that a script's first line has: `#!/usr/bin/env -S node -r x`."""
    try:
        head = files.read_head(target.program, 512)
        first = head.partition(b"\n")[0].decode("utf-8", "replace")
    except OSError:
        return ()
    words = first[2:].split() if first.startswith("#!") else []
    names = [os.path.basename(word) for word in words]
    if _NAME not in names:
        return ()
    return tuple(words[names.index(_NAME) + 1 :])


def _typed(target: Launch, node: str, version: str) -> tuple[str, ...]:
    """Return the options that let node run TypeScript: a loader of the project's, or its own."""
    if not target.program.endswith(_TYPED):
        return ()
    numbers = [int(each) for each in version.split(".")[:2]] or [0, 0]
    loader = _package(target.program, "tsx")
    if loader is not None:
        entry = _entry(loader)
        if entry is not None:
            new = numbers >= [20, 6] or (numbers[0] == 18 and numbers[1] >= 19)
            return ("--import" if new else "--loader", Path(entry).as_uri())
    loader = _package(target.program, "ts-node")
    if loader is not None:
        return ("--require", os.path.join(loader, "register"))
    if target.program.endswith((".tsx", ".jsx")) or numbers < [22, 6]:
        raise LaunchFailed(
            f"node {version} does not run {os.path.basename(target.program)} by itself, "
            "and there is no tsx or ts-node beside it.",
            next="npm install --save-dev tsx",
        )
    by_itself = numbers >= [23, 6] or (numbers[0] == 22 and numbers[1] >= 18)
    return () if by_itself else ("--experimental-strip-types",)


def _package(program: str, name: str) -> str | None:
    """Return the folder of an installed package, as node would find it from a program."""
    for folder in Path(program).resolve().parents:
        candidate = folder / "node_modules" / name
        if (candidate / "package.json").is_file():
            return str(candidate)
    return None


def _entry(package: str) -> str | None:
    """Return the file that a package is when it is loaded by its name."""
    try:
        described = json.loads(files.read_bytes(os.path.join(package, "package.json")))
    except (OSError, ValueError, RecursionError):
        return None
    exported = described.get("exports")
    entry = exported.get(".") if isinstance(exported, dict) else exported
    while isinstance(entry, dict):
        entry = entry.get("import") or entry.get("default") or entry.get("require")
    entry = entry or described.get("main")
    return os.path.join(package, entry) if isinstance(entry, str) else None


_RUNTIME = Runtime(
    name=_NAME,
    argv=_argv,
    # Children find the way to us in their options; what the user had there stays.
    child_options=f"--require {json.dumps(_BOOT)}",
    executables=("node", "nodejs"),
    port=9229,
)


def _make(found: Found, config: Config) -> Backend:
    # Late, because the first command would wait for it whatever it debugs.
    from .backend import InspectorBackend

    return InspectorBackend(_RUNTIME, found, config)


DEBUGGER = Debugger(
    name=_NAME,
    kind="inspector",
    languages=("JavaScript", "TypeScript"),
    patterns=("*.js", "*.mjs", "*.cjs", "*.ts", "*.mts", "*.cts", "*.tsx", "*.jsx"),
    shebangs=("node", "tsx", "ts-node"),
    binaries=(),
    install=("https://nodejs.org/en/download", "apt-get install nodejs"),
    find=_find,
    make=_make,
    rank=40,
    servers=("node",),
    forks=FOLLOWS,
    probe_program=(".js", "const n = 1;\nconsole.log(n);\n"),
)
