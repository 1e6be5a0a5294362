"""Rust: `cargo run`, `cargo test`, `cargo bench`, built by the user's own command in its own place.

Cargo tells which programs a command makes. Where it would run several test programs, the command is
run as it is first: the one that fails is the one that is debugged.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from freezeframe.backends.builds import rust
from freezeframe.backends.builds.recipe import Recipe
from freezeframe.backends.transport.run import Ran
from freezeframe.errors import NotFound, UsageError

from .line import CommandLine, Program, Tools
from .options import takes_next, values

_RUN = {"run": "build", "r": "build"}
_TEST = {"test": "test", "t": "test", "bench": "bench"}
#: options whose value is a word of its own
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
#: options that say which test programs a command runs
_SELECTING = ("--lib", "--bins", "--bin", "--tests", "--test", "--examples", "--example", "--doc")


@dataclass(frozen=True, slots=True)
class Made:
    """A program that cargo made, as its message tells."""

    path: str
    name: str
    kind: str
    source: str
    manifest: str

    @property
    def selection(self) -> str:
        """The option that builds this one alone."""
        named = self.kind in ("bin", "example", "test", "bench")
        return f"--{self.kind} {self.name}" if named else "--lib"


async def cargo(line: CommandLine, tools: Tools) -> Program:
    """Read a command of cargo's as the program that it builds and runs."""
    begin, verb, words = _verb(line.words)
    if verb == "nextest" and words[:1] == ("run",):
        verb, words = "test", words[1:]
    if verb not in _RUN and verb not in _TEST:
        tried = f"cargo {verb}".strip()
        raise UsageError(f"`{tried}` runs no program.", next="dbg start cargo run")
    own, args = _split(words, plain_is_argument=verb in _RUN)
    cargo_path = line.which(line.words[0])
    if cargo_path is None:
        raise NotFound("there is no cargo on PATH.", next="apt-get install cargo")
    begin = (cargo_path, *begin[1:])
    if verb in _RUN:
        return await _run(line, tools, begin, own, args)
    return await _test(line, tools, begin, _TEST[verb], own, args)


def _verb(words: tuple[str, ...]) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Return cargo with its options, its subcommand, and the words behind that."""
    at = 1
    while at < len(words) and words[at].startswith(("-", "+")):
        at += 1 + takes_next(words[at], _VALUED, _LETTERS)
    return words[:at], "".join(words[at : at + 1]), words[at + 1 :]


def _split(
    words: tuple[str, ...], *, plain_is_argument: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return cargo's own options, and what is for the program.

    Behind `run` all that follows the first plain word is the program's; behind `test` that word
    names tests, and options of cargo's may follow it.
    """
    own: list[str] = []
    args: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            args += words[at:]
            break
        if not word.startswith("-"):
            args.append(word)
            if plain_is_argument:
                args += words[at:]
                break
            continue
        own.append(word)
        if takes_next(word, _VALUED, _LETTERS):
            own += words[at : at + 1]
            at += 1
    return tuple(own), tuple(args)


# --- programs ------------------------------------------------------------------------------------


async def _run(
    line: CommandLine,
    tools: Tools,
    begin: tuple[str, ...],
    own: tuple[str, ...],
    args: tuple[str, ...],
) -> Program:
    made = await _built(line, tools, begin, "build", own)
    wanted = values(own, ("--bin", "--example"))
    programs = [each for each in made if each.kind in ("bin", "example")]
    if wanted:
        programs = [each for each in programs if each.name in wanted]
    elif len(programs) > 1:
        default = await _default(line, tools, begin, programs)
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
    recipe = _recipe(line, begin, "build", own, program)
    env = _environment(line, program)
    return Program(program.path, args, recipe=recipe, name=program.name, env=env)


async def _default(
    line: CommandLine, tools: Tools, begin: tuple[str, ...], programs: list[Made]
) -> str | None:
    """Return the program that a manifest names for `cargo run`."""
    argv = (*begin, "metadata", "--no-deps", "--format-version=1")
    folder = os.path.dirname(programs[0].manifest)
    ran = await tools.run(argv, cwd=folder, env=line.env)
    manifests = {each.manifest for each in programs}
    try:
        packages = json.loads(ran.out)["packages"]
    except (ValueError, KeyError):
        return None
    named = [p.get("default_run") for p in packages if p.get("manifest_path") in manifests]
    return next(filter(None, named), None)


# --- tests ---------------------------------------------------------------------------------------


async def _test(
    line: CommandLine,
    tools: Tools,
    begin: tuple[str, ...],
    verb: str,
    own: tuple[str, ...],
    args: tuple[str, ...],
) -> Program:
    made = await _built(line, tools, begin, verb, (*own, "--no-run"))
    if not made:
        raise NotFound(f"`cargo {verb}` makes no test program here.", next="dbg start cargo run")
    chosen, noted = await _chosen(line, tools, begin, verb, own, args, made)
    recipe = _recipe(line, begin, verb, (*own, "--no-run"), chosen, tests=True)
    is_whole = not any(each.partition("=")[0] in _SELECTING for each in own)
    others = [f"cargo test {each.selection}" for each in made if each is not chosen]
    remarks = []
    if others:
        remarks.append(f"debugged: {chosen.selection}; the others: {', '.join(others[:6])}")
    if is_whole and verb == "test" and any(each.selection == "--lib" for each in made):
        remarks.append("doc tests are not run under the debugger: cargo test --doc")
    return Program(
        chosen.path,
        args,
        recipe=recipe,
        name=f"{chosen.name}-tests",
        env=_environment(line, chosen),
        remarks=(*noted, *remarks),
    )


async def _chosen(
    line: CommandLine,
    tools: Tools,
    begin: tuple[str, ...],
    verb: str,
    own: tuple[str, ...],
    args: tuple[str, ...],
    made: list[Made],
) -> tuple[Made, tuple[str, ...]]:
    """Return the one of several test programs that is to be debugged."""
    if len(made) == 1:
        return made[0], ()
    for file in line.break_files:
        for each in made:
            if os.path.realpath(each.source) == os.path.realpath(file):
                return each, ()
    with_tests = [each for each in made if await _has_tests(line, tools, each, args)]
    if len(with_tests) == 1:
        return with_tests[0], ()
    if line.break_files and with_tests:
        library = [each for each in with_tests if each.selection == "--lib"]
        return (library or with_tests)[0], ()
    ran = await tools.run((*begin, verb, *own, "--", *args), cwd=line.cwd, env=line.env)
    rerun = _RERUN.search(ran.err)
    failing = [each for each in made if rerun and each.selection in rerun[1]]
    if ran.status != 0 and failing:
        return failing[0], ()
    said = f"all {len(with_tests)} test programs pass"
    if ran.status != 0:
        said = f"cargo {verb} ended with {ran.status}: {_last(ran)}"
    return (with_tests or made)[0], (said,)


async def _has_tests(line: CommandLine, tools: Tools, made: Made, args: tuple[str, ...]) -> bool:
    """Whether a test program has tests that the words of the command name."""
    argv = (made.path, *args, "--list", "--format", "terse")
    env = {**line.env, **_environment(line, made)}
    ran = await tools.run(argv, cwd=os.path.dirname(made.manifest), env=env)
    # A program with a harness of its own may not know the question: it is run as the others are.
    return ran.status != 0 or ": test" in ran.out or ": bench" in ran.out


def _last(ran: Ran) -> str:
    rows = [row for row in ran.err.splitlines() if row.strip()]
    return rows[-1].strip() if rows else ""


# --- building ------------------------------------------------------------------------------------


async def _built(
    line: CommandLine, tools: Tools, begin: tuple[str, ...], verb: str, own: tuple[str, ...]
) -> list[Made]:
    """Return the programs that a command makes."""
    made: list[Made] = []

    def note(ran: Ran) -> str | None:
        made[:] = _executables(ran, tests="--no-run" in own)
        # What is there in any case, where nothing was made: the list is what counts.
        return made[0].path if made else line.cwd

    await tools.build(replace(_recipe(line, begin, verb, own, None), read_product=note), line.env)
    return made


def _recipe(
    line: CommandLine,
    begin: tuple[str, ...],
    verb: str,
    own: tuple[str, ...],
    made: Made | None,
    *,
    tests: bool = False,
) -> Recipe:
    def product(ran: Ran) -> str | None:
        for each in _executables(ran, tests=tests):
            if made is not None and (each.source, each.kind) == (made.source, made.kind):
                return each.path
        return None

    quiet = [each for each in own if not each.startswith("--message-format")]
    shown = shlex.join(("cargo", verb, *quiet))
    return Recipe(
        source=made.source if made is not None else line.cwd,
        argv=(*begin, verb, *quiet, "--message-format=json-diagnostic-short"),
        cwd=line.cwd,
        product="",
        words=shown,
        read_errors=rust.read_messages,
        read_product=product,
        name=made.name if made is not None else "cargo",
        incremental=True,
        shared=f"cargo {line.cwd}",
        run_in=os.path.dirname(made.manifest) if tests and made is not None else None,
    )


def _environment(line: CommandLine, made: Made) -> Mapping[str, str]:
    """Return what cargo tells the programs that it runs."""
    folder = os.path.dirname(made.manifest)
    return {
        "CARGO": line.which("cargo") or "cargo",
        "CARGO_MANIFEST_DIR": folder,
        "CARGO_MANIFEST_PATH": made.manifest,
    }


def _executables(ran: Ran, *, tests: bool) -> list[Made]:
    found = []
    for message in rust.messages(ran):
        target: Mapping[str, Any] = message.get("target") or {}
        path = message.get("executable")
        if not path or bool((message.get("profile") or {}).get("test")) is not tests:
            continue
        kinds = target.get("kind") or [""]
        found.append(
            Made(
                str(path),
                str(target.get("name", "")),
                str(kinds[0]),
                str(target.get("src_path", "")),
                str(message.get("manifest_path", "")),
            )
        )
    return found


COMMANDS = {"cargo": cargo}
