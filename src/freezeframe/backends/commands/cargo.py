"""Rust: `cargo run`, `cargo test`, `cargo bench`, built by the user's own command.

Cargo reports which programs a command builds. Where it would run several test programs, the command
is run without a debugger first: the test program that fails is the one to debug.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freezeframe.backends.builds import rust
from freezeframe.backends.builds.build_plan import BuildPlan
from freezeframe.backends.transport.run_command import CommandResult
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.fast_dataclass import dataclass

from .command_line import CommandLine, Program, Tools
from .options import takes_next, values

_RUN = {"run": "build", "r": "build"}
_TEST = {"test": "test", "t": "test", "bench": "bench"}
#: options whose value is the next word
_VALUED = frozenset(
    (
        *("--bin", "--example", "--test", "--bench", "--package", "--exclude", "--features"),
        *("--profile", "--target", "--target-dir", "--manifest-path", "--message-format"),
        *("--color", "--config", "--jobs", "--lockfile-path"),
    )
)
_LETTERS = "pFjZC"
#: cargo's own hint after a test program failed
_RERUN = re.compile(r"to rerun pass `([^`]+)`")
#: options that select the test programs of a command
_SELECTING = ("--lib", "--bins", "--bin", "--tests", "--test", "--examples", "--example", "--doc")


@dataclass(frozen=True, slots=True)
class BuiltProgram:
    """A program that cargo built, from cargo's JSON message."""

    path: str
    name: str
    kind: str
    source: str
    manifest: str

    @property
    def selection(self) -> str:
        """The option that builds this program alone."""
        named = self.kind in ("bin", "example", "test", "bench")
        return f"--{self.kind} {self.name}" if named else "--lib"


async def cargo(line: CommandLine, tools: Tools) -> Program:
    """Return the program that a cargo command builds and runs."""
    cargo_argv, verb, argv = _verb(line.argv)
    if verb == "nextest" and argv[:1] == ("run",):
        verb, argv = "test", argv[1:]
    if verb not in _RUN and verb not in _TEST:
        tried = f"cargo {verb}".strip()
        raise UsageError(f"`{tried}` runs no program.", next="dbg start cargo run")
    options, args = _split(argv, plain_is_argument=verb in _RUN)
    cargo_path = line.which(line.argv[0])
    if cargo_path is None:
        raise NotFound("there is no cargo on PATH.", next="apt-get install cargo")
    cargo_argv = (cargo_path, *cargo_argv[1:])
    if verb in _RUN:
        return await _run(line, tools, cargo_argv, options, args)
    return await _test(line, tools, cargo_argv, _TEST[verb], options, args)


def _verb(argv: tuple[str, ...]) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Return cargo with its options, its subcommand, and the arguments after that."""
    at = 1
    while at < len(argv) and argv[at].startswith(("-", "+")):
        at += 1 + takes_next(argv[at], _VALUED, _LETTERS)
    return argv[:at], "".join(argv[at : at + 1]), argv[at + 1 :]


def _split(
    argv: tuple[str, ...], *, plain_is_argument: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return cargo's own options, and the program's arguments.

    After `run` everything from the first plain word on is for the program; after `test` that word
    filters tests, and options of cargo may follow it.
    """
    options: list[str] = []
    args: list[str] = []
    at = 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if word == "--":
            args += argv[at:]
            break
        if not word.startswith("-"):
            args.append(word)
            if plain_is_argument:
                args += argv[at:]
                break
            continue
        options.append(word)
        if takes_next(word, _VALUED, _LETTERS):
            options += argv[at : at + 1]
            at += 1
    return tuple(options), tuple(args)


# --- programs ------------------------------------------------------------------------------------


async def _run(
    line: CommandLine,
    tools: Tools,
    cargo_argv: tuple[str, ...],
    options: tuple[str, ...],
    args: tuple[str, ...],
) -> Program:
    built = await _build(line, tools, cargo_argv, "build", options)
    requested = values(options, ("--bin", "--example"))
    programs = [each for each in built if each.kind in ("bin", "example")]
    if requested:
        programs = [each for each in programs if each.name in requested]
    elif len(programs) > 1:
        default = await _default(line, tools, cargo_argv, programs)
        programs = [each for each in programs if each.name == default] if default else programs
    if not programs:
        raise NotFound("`cargo run` makes no program here.", next="dbg start cargo test")
    if len(programs) > 1:
        names = ", ".join(each.name for each in programs)
        raise UsageError(
            f"`cargo run` could run {len(programs)} programs: {names}.",
            next=f"dbg start cargo run --bin {programs[0].name}",
        )
    [program] = programs
    recipe = _build_plan(line, cargo_argv, "build", options, program)
    env = _environment(line, program)
    return Program(program.path, args, recipe=recipe, name=program.name, env=env)


async def _default(
    line: CommandLine, tools: Tools, cargo_argv: tuple[str, ...], programs: list[BuiltProgram]
) -> str | None:
    """Return the program that a manifest names for `cargo run`."""
    argv = (*cargo_argv, "metadata", "--no-deps", "--format-version=1")
    folder = os.path.dirname(programs[0].manifest)
    result = await tools.run(argv, cwd=folder, env=line.env)
    manifests = {each.manifest for each in programs}
    try:
        packages = json.loads(result.out)["packages"]
    except (ValueError, KeyError):
        return None
    named = [p.get("default_run") for p in packages if p.get("manifest_path") in manifests]
    return next(filter(None, named), None)


# --- tests ---------------------------------------------------------------------------------------


async def _test(
    line: CommandLine,
    tools: Tools,
    cargo_argv: tuple[str, ...],
    verb: str,
    options: tuple[str, ...],
    args: tuple[str, ...],
) -> Program:
    built = await _build(line, tools, cargo_argv, verb, (*options, "--no-run"))
    if not built:
        raise NotFound(f"`cargo {verb}` makes no test program here.", next="dbg start cargo run")
    chosen, notes = await _choose(line, tools, cargo_argv, verb, options, args, built)
    recipe = _build_plan(line, cargo_argv, verb, (*options, "--no-run"), chosen, tests=True)
    is_whole = not any(each.partition("=")[0] in _SELECTING for each in options)
    others = [f"cargo test {each.selection}" for each in built if each is not chosen]
    remarks = []
    if others:
        remarks.append(f"debugged: {chosen.selection}; the others: {', '.join(others[:6])}")
    if is_whole and verb == "test" and any(each.selection == "--lib" for each in built):
        remarks.append("doc tests are not run under the debugger: cargo test --doc")
    return Program(
        chosen.path,
        args,
        recipe=recipe,
        name=f"{chosen.name}-tests",
        env=_environment(line, chosen),
        remarks=(*notes, *remarks),
    )


async def _choose(
    line: CommandLine,
    tools: Tools,
    cargo_argv: tuple[str, ...],
    verb: str,
    options: tuple[str, ...],
    args: tuple[str, ...],
    built: list[BuiltProgram],
) -> tuple[BuiltProgram, tuple[str, ...]]:
    """Return the one of several test programs to debug."""
    if len(built) == 1:
        return built[0], ()
    for file in line.break_files:
        for each in built:
            if os.path.realpath(each.source) == os.path.realpath(file):
                return each, ()
    candidates = [each for each in built if await _has_tests(line, tools, each, args)]
    if not candidates:
        matching = f" that matches `{' '.join(args)}`" if args else ""
        return built[0], (f"none of {len(built)} test programs has a test{matching}",)
    if len(candidates) == 1:
        return candidates[0], ()
    if line.break_files:
        library = [each for each in candidates if each.selection == "--lib"]
        return (library or candidates)[0], ()
    result = await tools.run((*cargo_argv, verb, *options, "--", *args), cwd=line.cwd, env=line.env)
    rerun = _RERUN.search(result.err)
    failing = [each for each in built if rerun and each.selection in rerun[1]]
    if result.status != 0 and failing:
        return failing[0], ()
    remark = f"all {len(candidates)} test programs pass"
    if result.status != 0:
        remark = f"cargo {verb} ended with {result.status}: {_last(result)}"
    return candidates[0], (remark,)


async def _has_tests(
    line: CommandLine, tools: Tools, built: BuiltProgram, args: tuple[str, ...]
) -> bool:
    """Return whether a test program has tests that match the command's filters."""
    argv = (built.path, *args, "--list", "--format", "terse")
    env = {**line.env, **_environment(line, built)}
    result = await tools.run(argv, cwd=os.path.dirname(built.manifest), env=env)
    # A program with its own harness may not know `--list`: it is run as the others are.
    return result.status != 0 or ": test" in result.out or ": bench" in result.out


def _last(result: CommandResult) -> str:
    rows = [row for row in result.err.splitlines() if row.strip()]
    return rows[-1].strip() if rows else ""


# --- building ------------------------------------------------------------------------------------


async def _build(
    line: CommandLine,
    tools: Tools,
    cargo_argv: tuple[str, ...],
    verb: str,
    options: tuple[str, ...],
) -> list[BuiltProgram]:
    """Return the programs that a command builds."""
    built: list[BuiltProgram] = []

    def note(result: CommandResult) -> str | None:
        built[:] = _executables(result, tests="--no-run" in options)
        # A path that exists in any case, where nothing was built: only the list matters.
        return built[0].path if built else line.cwd

    await tools.build(
        replace(_build_plan(line, cargo_argv, verb, options, None), read_product=note), line.env
    )
    return built


def _build_plan(
    line: CommandLine,
    cargo_argv: tuple[str, ...],
    verb: str,
    options: tuple[str, ...],
    built: BuiltProgram | None,
    *,
    tests: bool = False,
) -> BuildPlan:
    def product(result: CommandResult) -> str | None:
        for each in _executables(result, tests=tests):
            if built is not None and (each.source, each.kind) == (built.source, built.kind):
                return each.path
        return None

    quiet = [each for each in options if not each.startswith("--message-format")]
    shown = shlex.join(("cargo", verb, *quiet))
    return BuildPlan(
        source=built.source if built is not None else line.cwd,
        argv=(*cargo_argv, verb, *quiet, "--message-format=json-diagnostic-short"),
        cwd=line.cwd,
        product="",
        display=shown,
        read_errors=rust.read_messages,
        read_product=product,
        name=built.name if built is not None else "cargo",
        incremental=True,
        shared=f"cargo {line.cwd}",
        run_in=os.path.dirname(built.manifest) if tests and built is not None else None,
    )


def _environment(line: CommandLine, built: BuiltProgram) -> Mapping[str, str]:
    """Return the variables that cargo sets for the programs that it runs."""
    folder = os.path.dirname(built.manifest)
    return {
        "CARGO": line.which("cargo") or "cargo",
        "CARGO_MANIFEST_DIR": folder,
        "CARGO_MANIFEST_PATH": built.manifest,
    }


def _executables(result: CommandResult, *, tests: bool) -> list[BuiltProgram]:
    found = []
    for message in rust.messages(result):
        target: Mapping[str, Any] = message.get("target") or {}
        path = message.get("executable")
        if not path or bool((message.get("profile") or {}).get("test")) is not tests:
            continue
        kinds = target.get("kind") or [""]
        found.append(
            BuiltProgram(
                str(path),
                str(target.get("name", "")),
                str(kinds[0]),
                str(target.get("src_path", "")),
                str(message.get("manifest_path", "")),
            )
        )
    return found


COMMANDS = {"cargo": cargo}
