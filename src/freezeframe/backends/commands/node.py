"""JavaScript: node with its options, node's test runner, and TypeScript runners."""

from __future__ import annotations

import glob
import os
import shlex
from pathlib import Path

from freezeframe.errors import NotFound, UsageError

from .command_line import CommandLine, Program, Tools
from .followed_commands import followed
from .options import split

#: options of node whose value is the next word
_VALUED = frozenset(
    (
        *("-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"),
        *("--env-file", "--env-file-if-exists", "--icu-data-dir", "--openssl-config", "--title"),
        *("--input-type", "--experimental-default-type", "--unhandled-rejections"),
        *("--test-name-pattern", "--test-skip-pattern", "--test-reporter", "--test-timeout"),
        *("--test-reporter-destination", "--test-concurrency", "--test-shard", "--watch-path"),
        *(
            "--max-http-header-size",
            "--redirect-warnings",
            "--disable-warning",
            "--dns-result-order",
        ),
        *("--diagnostic-dir", "--trace-event-categories", "--stack-trace-limit"),
        *("--test-isolation", "--experimental-test-isolation", "--localstorage-file"),
    )
)
_CODE = ("-e", "--eval", "-p", "--print", "-pe")
#: options of node's own runner, which starts a process for each file; in one process they mean
#: nothing
_RUNNER = ("--test", "--test-concurrency", "--test-shard", "--watch")
_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")


async def node(line: CommandLine, tools: Tools) -> Program:
    """Read `node --import tsx app.ts` and `node --test dir/`."""
    found = split(line.argv[1:], _VALUED)
    args = found.rest[1:] if found.rest[:1] == ("--",) else found.rest
    interpreter = line.which(line.argv[0])
    if interpreter is None:
        raise NotFound(f"there is no {line.argv[0]} on PATH.", next="dbg start FILE.js")
    if found.has(*_CODE):
        # The code itself is in no file; breakpoints in what it requires are hit in a child.
        program = followed(line, "node")
        if program is not None:
            return program
    if found.has("--test"):
        return _tests(line, interpreter, found.options, args)
    if not args:
        raise UsageError("`node` alone runs no program.", next="dbg start FILE.js")
    options = tuple(each for each in found.options if not each.startswith("--inspect"))
    script = _script(line, args[0])
    return Program(script, args[1:], interpreter=interpreter, interpreter_args=options)


def _script(line: CommandLine, word: str) -> str:
    """Return the file that node runs for a word. Raises NotFound."""
    path = line.path(word)
    for candidate in (path, *(path + each for each in _SUFFIXES[:3]), f"{path}/index.js"):
        if os.path.isfile(candidate):
            return candidate
    raise NotFound(f"there is no program {word} in {line.cwd}.", next="dbg start FILE.js")


def _tests(
    line: CommandLine, interpreter: str, options: tuple[str, ...], args: tuple[str, ...]
) -> Program:
    """Read `node --test …`: a single file runs directly; several are imported into one process."""
    files = [each for word in args for each in _test_files(line.path(word))]
    if not args:
        files = _test_files(line.cwd)
    if not files:
        where = " ".join(args) or line.cwd
        raise NotFound(f"there are no test files in {where}.", next="dbg start node --test FILE.js")
    kept = []
    skip = False
    for each in options:
        if skip:
            skip = False
            continue
        name, equals, _ = each.partition("=")
        if name in _RUNNER or each.startswith("--inspect"):
            skip = name in _VALUED and not equals
            continue
        kept.append(each)
    if len(files) == 1:
        return Program(files[0], interpreter=interpreter, interpreter_args=tuple(kept))
    # Node 20 has no option to run several files in one process: our agent imports all of them.
    entry = str(Path(__file__).with_name("node_tests_agent.mjs"))
    return Program(
        entry, tuple(files), interpreter=interpreter, interpreter_args=tuple(kept), name="node-test"
    )


def _test_files(path: str) -> list[str]:
    """Return the files that node takes for tests: a named one, or those below a folder."""
    if os.path.isfile(path):
        return [path]
    if not os.path.isdir(path):
        return sorted(filter(os.path.isfile, glob.glob(path, recursive=True)))
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - {"node_modules"})
        inside = (
            os.path.basename(folder) == "test" or f"{os.sep}test{os.sep}" in folder[len(path) :]
        )
        for name in sorted(names):
            stem, suffix = os.path.splitext(name)
            if suffix in (".js", ".mjs", ".cjs") and (
                inside
                or stem == "test"
                or stem.startswith("test-")
                or stem.endswith((".test", "-test", "_test"))
            ):
                found.append(os.path.join(folder, name))
    return found


# --- TypeScript -----------------------------------------------------------------------------------

_TSX_VALUED = ("--tsconfig", *_VALUED)
_TS_NODE_VALUED = (
    "-P",
    "--project",
    "-C",
    "--compiler",
    "-O",
    "--compiler-options",
    "-r",
    "--require",
)
#: options of ts-node that its loader reads from the environment
_TS_NODE_SETTINGS = {
    "-T": ("TS_NODE_TRANSPILE_ONLY", "true"),
    "--transpile-only": ("TS_NODE_TRANSPILE_ONLY", "true"),
    "--transpileOnly": ("TS_NODE_TRANSPILE_ONLY", "true"),
    "--files": ("TS_NODE_FILES", "true"),
    "--swc": ("TS_NODE_SWC", "true"),
    "--esm": ("TS_NODE_ESM", "true"),
    "-P": ("TS_NODE_PROJECT", None),
    "--project": ("TS_NODE_PROJECT", None),
    "-O": ("TS_NODE_COMPILER_OPTIONS", None),
    "--compiler-options": ("TS_NODE_COMPILER_OPTIONS", None),
}


async def tsx(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `tsx app.ts` as node with tsx's loader: tsx itself would start node as a child."""
    args = line.argv[1:]
    args = args[1:] if args[:1] == ("watch",) else args
    found = split(args, _TSX_VALUED)
    if not found.rest:
        return None
    config = found.value("--tsconfig")
    options: list[str] = []
    skip = False
    for each in found.options:
        if skip or each.startswith("--tsconfig"):
            skip = each == "--tsconfig"
            continue
        options.append(each)
    env = {"TSX_TSCONFIG_PATH": line.path(config)} if config else {}
    # Our node backend adds the loader for a TypeScript file.
    return line.then("node", *options, *found.rest, env=env)


async def ts_node(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `ts-node app.ts` as node with its loader: ts-node itself would start a child."""
    found = split(line.argv[1:], _TS_NODE_VALUED)
    if not found.rest:
        return None
    env = {}
    for name, (variable, value) in _TS_NODE_SETTINGS.items():
        if found.has(name):
            env[variable] = value if value is not None else found.value(name) or ""
    options = ["--loader", "ts-node/esm"] if found.has("--esm") else ["-r", "ts-node/register"]
    for name in ("-r", "--require"):
        options += ["-r", found.value(name) or ""] if found.has(name) else []
    return line.then("node", *options, *found.rest, env=env)


async def other_runtime(line: CommandLine, tools: Tools) -> Program:
    """Refuse deno and bun, whose debuggers are not node's; their files may run in node."""
    args = [each for each in line.argv[1:] if each.endswith(_SUFFIXES)]
    raise UsageError(
        f"{line.name} has a debugger of its own, which is not supported; files run under node.",
        next=f"dbg start {shlex.quote(args[0]) if args else 'FILE.js'}",
    )


COMMANDS = {"deno": other_runtime, "node": node, "nodejs": node, "tsx": tsx, "ts-node": ts_node}
