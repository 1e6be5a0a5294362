"""JavaScript and TypeScript under node, through V8's inspector. Node 18 and later.

Only node itself must be installed. Tested with 18.20, 20.20, 22.23 and 24.21.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from freezeframe import files
from freezeframe.backends.backend import Backend, Launch
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.backends.fork_modes import FOLLOWS
from freezeframe.backends.javascript import module_syntax
from freezeframe.backends.transport import version_query
from freezeframe.config import AdapterConfig, Config
from freezeframe.errors import LaunchFailed, Unsupported

from . import bootstrap_script
from .runtime import Runtime

_NAME = "node"
_OLDEST = 18
_BOOT = str(Path(__file__).with_name("bootstrap_agent.cjs"))
_TYPESCRIPT = (".ts", ".mts", ".cts", ".tsx", ".jsx")


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
    return version_query.version((node, "--version"), r"v(\d+\.\d+\.\d+)")


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
        *_inspector_options(target, version),
        *config.args,
        *target.interpreter_args,
        *_options(target),
        *_typescript_options(target, version),
        target.program,
        *target.args,
    )


def _inspector_options(target: Launch, version: str) -> tuple[str, ...]:
    """Return the options that open the inspector.

    V8 11 (Node 20) crashes when it stops at the start of an ES module that begins with a class
    with private names.
    """
    if not version.startswith("20.") or int(version.split(".")[1]) < _FIRST_TO_WAIT:
        return bootstrap_script.OPTIONS
    try:
        text = files.read_text(target.program)
    except (OSError, ValueError):
        return bootstrap_script.OPTIONS
    begins = module_syntax.begins_with_private_class(text)
    is_module = begins and (
        target.program.endswith((".mjs", ".mts"))
        or module_syntax.has_imports_or_exports(text)
        or _is_in_module_package(target.program)
    )
    return bootstrap_script.WAITING_OPTIONS if is_module else bootstrap_script.OPTIONS


def _is_in_module_package(program: str) -> bool:
    """Return whether the nearest package.json makes modules of its `.js` files."""
    for folder in Path(program).resolve().parents:
        try:
            described = json.loads(files.read_bytes(str(folder / "package.json")))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(described, dict) and described.get("type") == "module"
    return False


def _interpreter(target: Launch) -> str:
    assert target.interpreter is not None
    path = shutil.which(target.interpreter, path=target.env.get("PATH", os.defpath))
    if path is None:
        raise LaunchFailed(
            f"there is no node {target.interpreter}.", next="dbg start PROGRAM --interpreter PATH"
        )
    return path


#: the minor version of Node 20 that has --inspect-wait
_FIRST_TO_WAIT = 15
#: what loads TypeScript, in the options of node
_LOADERS = re.compile(
    r"\b(?:tsx|ts-node|ts-node-dev|swc|swc-node|esbuild\S*|sucrase|babel|jiti|tsm|(?:strip|transform)-types)\b"
)
#: the user's own file, which may be a loader
_OWN_LOADER = re.compile(
    r"(?:^|\s)(?:-r|--(?:require|import|loader|experimental-loader))[ =](?:\.{1,2}/|/|file:)"
)


def _pairs(options: Sequence[str]) -> list[str]:
    """Return each option with what follows it, which may be its value."""
    return [f"{each} {after}" for each, after in zip(options, (*options[1:], ""), strict=True)]


def _options(target: Launch) -> tuple[str, ...]:
    """Return the node options in a script's shebang: `#!/usr/bin/env -S node -r x`."""
    try:
        head = files.read_head(target.program, 512)
        first = head.partition(b"\n")[0].decode("utf-8", "replace")
    except OSError:
        return ()
    fields = first[2:].split() if first.startswith("#!") else []
    names = [os.path.basename(word) for word in fields]
    if _NAME not in names:
        return ()
    return tuple(fields[names.index(_NAME) + 1 :])


def _typescript_options(target: Launch, version: str) -> tuple[str, ...]:
    """Return the options that make node run TypeScript: the project's loader, or node's own."""
    if not target.program.endswith(_TYPESCRIPT):
        return ()
    given = (*target.interpreter_args, *_options(target), target.env.get("NODE_OPTIONS", ""))
    if any(_LOADERS.search(each) or _OWN_LOADER.search(each) for each in _pairs(given)):
        return ()  # the user says what loads it
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
            "and there is no tsx or ts-node next to it.",
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
    """Return the file that is loaded for a package's name."""
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
    # This makes children connect to us; the user's own options are kept.
    child_options=f"--require {json.dumps(_BOOT)}",
    executables=("node", "nodejs"),
    port=9229,
)


def _make(found: Found, config: Config) -> Backend:
    # late, because the import would delay the first command of every debugger
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
    debug_servers=("node",),
    forks=FOLLOWS,
    probe_program=(".js", "const n = 1;\nconsole.log(n);\n"),
)
