"""Scripts of package.json and programs of installed packages: npm, npx, yarn, pnpm."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freezeframe.errors import NotFound, UsageError

from . import shell
from .command_line import CommandLine, Program, Tools, nearest_above, prepare
from .node import other_runtime
from .options import Split, split, takes_next, values
from .wrappers import finished

_VALUED = ("-w", "--workspace", "--prefix", "-C", "--dir", "--filter", "--cwd", "--loglevel")
_NPX_VALUED = ("-p", "--package", "-w", "--workspace", "--prefix")
_SHORTHANDS = {"t": "test", "tst": "test"}
#: scripts that a command runs by their bare name
_NAMED = ("test", "start", "stop", "restart")


async def npm(line: CommandLine, tools: Tools) -> CommandLine | Program | None:
    """Read `npm test`, `npm run x -- args`, `npm exec x`."""
    found = _anywhere(line.argv[1:]) if line.name == "npm" else split(line.argv[1:], _VALUED)
    if not found.rest:
        raise UsageError(f"`{line.name}` alone runs nothing.", next="dbg start npm test")
    line = _elsewhere(line, found.value("--prefix", "-C", "--dir", "--cwd"))
    if found.has("-w", "--workspace", "--workspaces", "-ws", "--filter"):
        workspaces = values(found.options, ("-w", "--workspace"))
        folder = _workspace(line, workspaces[0]) if len(workspaces) == 1 else None
        if folder is None:
            return _itself(line)
        line = line.moved_to(folder)
    verb, rest = _SHORTHANDS.get(found.rest[0], found.rest[0]), found.rest[1:]
    own_bins = line.name in ("yarn", "pnpm")
    if verb in ("run", "run-script", "rum", "urn"):
        named = split(rest, _VALUED)
        if not named.rest:
            raise _no_script(line, "")
        return await _script(line, tools, named.rest[0], named.rest[1:])
    if verb in ("exec", "x", "dlx"):
        return await npx(line.then("npx", *rest), tools)
    scripts = _scripts(line)[1]
    if verb in _NAMED or (own_bins and verb in scripts):
        return await _script(line, tools, verb, rest)
    if own_bins:
        return await npx(line.then("npx", verb, *rest), tools)
    raise UsageError(f"`npm {verb}` does not run a program.", next=_some_script(line))


def _anywhere(args: tuple[str, ...]) -> Split:
    """Return npm's options, which may stand behind its command too: `npm test -w web -- args`."""
    end = args.index("--") if "--" in args else len(args)
    options: list[str] = []
    arguments: list[str] = []
    at = 0
    while at < end:
        size = 1 + takes_next(args[at], _VALUED) if args[at].startswith("-") else 0
        (options if size else arguments).extend(args[at : at + max(1, size)])
        at += max(1, size)
    return Split(tuple(options), (*arguments, *args[end:]))


def _workspace(line: CommandLine, named: str) -> str | None:
    """Return the folder of a workspace, by its path or by its package's name."""
    root, _, package = _package(line)
    if os.path.isfile(os.path.join(root, named, "package.json")):
        return os.path.join(root, named)
    patterns = package.get("workspaces") or ()
    patterns = patterns.get("packages") or () if isinstance(patterns, dict) else patterns
    for pattern in filter(lambda each: isinstance(each, str), patterns):
        for path in sorted(glob.glob(os.path.join(glob.escape(root), pattern, "package.json"))):
            folder = os.path.dirname(path)
            if _package(line.moved_to(folder))[2].get("name") == named:
                return folder
    return None


async def npx(line: CommandLine, tools: Tools) -> CommandLine | Program | None:
    """Read `npx jest -t name` as the program of the package that is installed here."""
    found = split(line.argv[1:], _NPX_VALUED)
    rest = found.rest[1:] if found.rest[:1] == ("--",) else found.rest
    if not rest or found.has("-c", "--call"):
        raise UsageError("`npx` needs a program.", next="dbg start npx PROGRAM")
    path = local_program(rest[0], line.cwd) or line.which(rest[0])
    if path is None:
        # npx installs the package first, and starts the program as its child.
        return _itself(line)
    env = {"PATH": _path(line.cwd, line.env)}
    return line.then(path, *rest[1:], env=env)


def local_program(name: str, cwd: str) -> str | None:
    """Return a program that a package installed for the folder or one above it."""
    return nearest_above(cwd, os.path.join("node_modules", ".bin", name))


async def _script(
    line: CommandLine, tools: Tools, name: str, args: tuple[str, ...]
) -> CommandLine | Program | None:
    folder, scripts, package = _package(line)
    args = args[1:] if args[:1] == ("--",) else args
    by_default = os.path.isfile(os.path.join(folder, "server.js"))
    if name == "start" and name not in scripts and by_default:
        return line.moved_to(folder).then("node", "server.js", *args)
    if name not in scripts:
        raise _no_script(line, name)
    command = scripts[name]
    env = {
        "PATH": _path(folder, line.env),
        "INIT_CWD": line.cwd,
        "npm_lifecycle_event": name,
        "npm_lifecycle_script": command,
        "npm_package_json": os.path.join(folder, "package.json"),
        "npm_package_name": str(package.get("name", "")),
        "npm_package_version": str(package.get("version", "")),
        "npm_command": "test" if name == "test" else "run-script",
        "npm_execpath": line.which(line.argv[0]) or line.argv[0],
        "npm_node_execpath": line.which("node") or "node",
    }
    inner = replace(line.moved_to(folder), env={**line.env, **env})
    before = scripts.get(f"pre{name}")
    if before is not None:
        shown = f"{line.name} run pre{name}"
        inner = await prepare(inner, tools, ("/bin/sh", "-c", before), shown)
    if f"post{name}" in scripts:
        inner = inner.remarking(f"post{name} of package.json is not run")
    commands = shell.read(command, inner.env, folder)
    if not commands:
        # What only a shell can run is left to a shell, whose children are followed.
        return _itself(line)
    ready = await finished(inner, tools, commands, args)
    return ready.remarking(f"`{' '.join(line.argv)}` runs: {' '.join((commands[-1].text, *args))}")


def _itself(line: CommandLine) -> Program | None:
    """Return the package manager as the program, whose children run the requested command."""
    path = line.which(line.argv[0])
    if path is None:
        return None
    return Program(os.path.realpath(path), line.argv[1:], interpreter="node", name=line.name)


def _package(line: CommandLine) -> tuple[str, Mapping[str, str], Mapping[str, Any]]:
    """Return the folder of the nearest package.json, its scripts, and its whole content."""
    folder = line.cwd
    while not os.path.isfile(os.path.join(folder, "package.json")):
        parent = os.path.dirname(folder)
        if parent == folder:
            raise NotFound(
                f"there is no package.json in {line.cwd} or above it.",
                next="dbg start npm test --cwd DIR",
            )
        folder = parent
    try:
        with open(os.path.join(folder, "package.json"), encoding="utf-8") as file:
            package = json.load(file)
    except (OSError, ValueError) as error:
        raise UsageError(f"package.json cannot be read: {error}.", next="npm pkg get") from None
    package = package if isinstance(package, dict) else {}
    scripts = package.get("scripts")
    scripts = scripts if isinstance(scripts, dict) else {}
    return folder, {name: text for name, text in scripts.items() if isinstance(text, str)}, package


def _scripts(line: CommandLine) -> tuple[str, Mapping[str, str]]:
    folder, scripts, _ = _package(line)
    return folder, scripts


def _some_script(line: CommandLine) -> str:
    scripts = _scripts(line)[1]
    name = "test" if "test" in scripts else next(iter(scripts), None)
    if name is None:
        return "dbg start FILE.js"
    return f"dbg start {line.name} {name if name in _NAMED else f'run {name}'}"


def _no_script(line: CommandLine, name: str) -> NotFound:
    scripts = _scripts(line)[1]
    there = f"it has {', '.join(scripts)}" if scripts else "it has none"
    return NotFound(
        f"package.json has no script {name}; {there}." if name else f"which script? {there}.",
        next=_some_script(line),
    )


def _elsewhere(line: CommandLine, folder: str | None) -> CommandLine:
    return line.moved_to(folder) if folder else line


def _path(folder: str, env: Mapping[str, str]) -> str:
    """Return PATH as npm sets it for scripts: the programs of packages first."""
    found = []
    while True:
        found.append(os.path.join(folder, "node_modules", ".bin"))
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return os.pathsep.join((*found, env.get("PATH", os.defpath)))


async def bun(line: CommandLine, tools: Tools) -> CommandLine | Program | None:
    """Read `bun run SCRIPT` and `bun x PROGRAM`, whose programs run in node; refuse bun's own."""
    args = split(line.argv[1:], _VALUED).rest
    if args[:1] == ("x",):
        return await npx(line.then("npx", *args[1:]), tools)
    named = args[1:] if args[:1] == ("run",) else args
    if named and named[0] != "test" and not os.path.exists(line.path(named[0])):
        return await _script(line, tools, named[0], named[1:])
    return await other_runtime(line, tools)


COMMANDS = {
    "npm": npm,
    "npx": npx,
    "yarn": npm,
    "pnpm": npm,
    "pnpx": npx,
    "bun": bun,
    "bunx": npx,
}
