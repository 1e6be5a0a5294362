"""Build tools that run tests: `make test`, `ctest -R x`, `meson test x`."""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import replace
from typing import Any

from freezeframe import files
from freezeframe.errors import BuildFailed, NotFound, UsageError

from . import shell
from .command_line import CommandLine, Program, Tools, prepare
from .followed_commands import followed
from .options import split
from .wrappers import finished

_ENTERING = re.compile(r"^make(?:\[\d+\])?: Entering directory '(.+)'$")
_LEAVING = re.compile(r"^make(?:\[\d+\])?: Leaving directory")
#: tools that are given by a path and are not a program of the user
_TOOLS = re.compile(
    r"(?:.*-)?(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+|ld|ar|ranlib|strip|cmake|ninja)"
)


#: options of just whose value is the next word
_JUST = ("-f", "--justfile", "-d", "--working-directory", "--shell", "--dotenv-path")
#: prints the directory and environment in which just runs commands
_JUST_DUMP = "printf '%s\\0' \"$PWD\"; env -0"


async def make(line: CommandLine, tools: Tools) -> CommandLine | Program:
    """Read `make test` as the program that its last command runs; the others are run first."""
    argv = (line.argv[0], "-n", "-w", *line.argv[1:])
    result = await tools.run(argv, cwd=line.cwd, env=line.env)
    tried = " ".join(line.argv)
    if result.status != 0:
        remark = (result.err.strip() or "make cannot tell").splitlines()[0]
        raise NotFound(f"`{tried}` has nothing to run: {remark}", next="make -n")
    again = f"make {shlex.join(('-n', *line.argv[1:]))}"
    return await _last(line, tools, _rows(result.out, line.cwd), again)


async def just(line: CommandLine, tools: Tools) -> CommandLine | Program:
    """Read `just test` as the program that its last command runs; the others are run first."""
    found = split(line.argv[1:], _JUST)
    argv = (line.argv[0], *found.options, "--dry-run", *found.rest)
    result = await tools.run(argv, cwd=line.cwd, env=line.env)
    tried = " ".join(line.argv)
    if result.status != 0:
        remark = (result.err.strip() or "just cannot tell").splitlines()[0]
        raise NotFound(f"`{tried}` has nothing to run: {remark}", next="just --list")
    argv = (line.argv[0], *found.options, "--command", "sh", "-c", _JUST_DUMP)
    dumped = (await tools.run(argv, cwd=line.cwd, env=line.env)).out.split("\0")
    if len(dumped) > 1:
        pairs = (each.split("=", 1) for each in dumped[1:] if "=" in each)
        line = replace(line.moved_to(dumped[0]), env={**line.env, **dict(pairs)})
    rows = [(line.cwd, row) for row in result.err.replace("\\\n", " ").splitlines() if row.strip()]
    again = f"just --dry-run {shlex.join(line.argv[1:])}"
    return await _last(line, tools, rows, again)


async def _last(
    line: CommandLine, tools: Tools, rows: list[tuple[str, str]], again: str
) -> CommandLine | Program:
    """Return the last command that runs a program; run those before it.

    If an earlier command runs a program and fails, nothing after it would be run: return that one.
    """
    tried = " ".join(line.argv)
    at = next((i for i in range(len(rows) - 1, -1, -1) if _is_run(rows[i][1])), None)
    if at is None:
        program = followed(line, "\n".join(text for _, text in rows))
        if program is not None:
            return program
        last = rows[-1][1][:100] if rows else "nothing"
        raise UsageError(
            f"`{tried}` runs no program that can be debugged; its last command is `{last}`.",
            next=f"{again}  # then: dbg start PROGRAM",
        )
    for cwd, text in rows[:at]:
        try:
            after = await prepare(replace(line, cwd=cwd), tools, ("/bin/sh", "-c", text), text)
        except BuildFailed:
            if not _is_run(text):
                raise
            return await _row(line, tools, cwd, text, f"`{tried}` fails at: {text[:150]}")
        line = replace(line, remarks=after.remarks)
    cwd, text = rows[at]
    return await _row(line, tools, cwd, text, f"`{tried}` runs: {text[:150]}")


async def _row(line: CommandLine, tools: Tools, cwd: str, text: str, remark: str) -> CommandLine:
    commands = shell.read(text, line.env, cwd)
    assert commands is not None  # `_is_run` has checked that
    return (await finished(line.moved_to(cwd), tools, commands)).remarking(remark)


def _rows(text: str, cwd: str) -> list[tuple[str, str]]:
    """Return the commands that make would run, each with its directory."""
    found, folders = [], [cwd]
    for row in text.replace("\\\n", " ").splitlines():
        entering = _ENTERING.match(row)
        if entering is not None:
            folders.append(entering[1])
        elif _LEAVING.match(row):
            folders.pop()
        elif row.strip() and not re.match(r"make(\[\d+\])?: ", row):
            found.append((folders[-1], row.strip()))
    return found


def _is_run(text: str) -> bool:
    commands = shell.read(text, {}, "/")
    if not commands or not commands[-1].argv:
        return False
    word = commands[-1].argv[0]
    name = os.path.basename(word)
    if shell.is_runner(name):
        return True
    return os.sep in word and _TOOLS.fullmatch(name) is None and not word.startswith("/usr/bin/")


# --- tests that are known by name -----------------------------------------------------------------


async def ctest(line: CommandLine, tools: Tools) -> CommandLine:
    """Read `ctest -R name` as the test's own command."""
    argv = (line.argv[0], "--show-only=json-v1", *line.argv[1:])
    result = await tools.run(argv, cwd=line.cwd, env=line.env)
    try:
        tests: list[dict[str, Any]] = json.loads(result.out[result.out.index("{") :])["tests"]
    except (ValueError, KeyError):
        remark = (result.err.strip() or result.out.strip() or "no answer").splitlines()[0]
        raise NotFound(
            f"ctest names no tests: {remark}.", next="ctest --test-dir build -N"
        ) from None
    tests = [each for each in tests if each.get("command")]
    if not tests:
        raise NotFound("no ctest test matches.", next="ctest -N")
    failed: set[str] = set()
    remarks: tuple[str, ...] = ()
    if len(tests) > 1:
        run_result = await tools.run((line.argv[0], *line.argv[1:]), cwd=line.cwd, env=line.env)
        failed = set(re.findall(r"^\s*\d+ - (\S+) \(", run_result.out, re.MULTILINE))
        remark = (
            f"all {len(tests)} tests pass"
            if run_result.status == 0
            else f"{len(failed)} tests fail"
        )
        remarks = (f"{remark}; each alone: dbg start ctest -R '^NAME$'",)
    test = next((each for each in tests if each.get("name") in failed), tests[0])
    properties = {each.get("name"): each.get("value") for each in test.get("properties", ())}
    given = properties.get("ENVIRONMENT") or ()
    env = dict(each.split("=", 1) for each in given if "=" in each)
    folder = str(properties.get("WORKING_DIRECTORY") or line.cwd)
    shown = f"test {test.get('name')} runs: {' '.join(test['command'])}"
    inner = line.moved_to(folder).then(*map(str, test["command"]), env=env)
    return inner.remarking(shown[:200], *remarks)


async def meson(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `meson test NAME` as the test's own command."""
    if line.argv[1:2] != ("test",):
        return None
    found = split(line.argv[2:], ("-C", "--suite", "-j", "-t"))
    folder = line.path(found.value("-C") or ".")
    argv = (line.argv[0], "introspect", "--tests", folder)
    result = await tools.run(argv, cwd=line.cwd, env=line.env)
    try:
        tests = json.loads(result.out)
    except ValueError:
        raise NotFound("meson names no tests here.", next="meson test -C build --list") from None
    line = await prepare(line, tools, ("ninja", "-C", folder), f"ninja -C {folder}")
    named = [each for each in tests if not found.rest or each["name"] in found.rest]
    if not named:
        names = ", ".join(each["name"] for each in tests) or "none"
        raise NotFound(
            f"no meson test matches; there are {names}.",
            next=f"meson test -C {shlex.quote(folder)} --list",
        )
    if len(named) > 1:
        run_result = await tools.run(line.argv, cwd=line.cwd, env=line.env)
        failed = _meson_failures(os.path.join(folder, "meson-logs", "testlog.json"))
        named.sort(key=lambda each: each["name"] not in failed)
        remark = (
            f"all {len(named)} tests pass"
            if run_result.status == 0
            else f"{len(failed)} tests fail"
        )
        alone = f"dbg start meson test -C {shlex.quote(os.path.relpath(folder, line.cwd))} NAME"
        line = line.remarking(f"test {named[0]['name']} is debugged: {remark}; each alone: {alone}")
    test = named[0]
    env = {str(k): str(v) for k, v in (test.get("env") or {}).items()}
    inner = line.moved_to(test.get("workdir") or folder)
    return inner.then(*map(str, test["cmd"]), env=env)


def _meson_failures(log: str) -> set[str]:
    """Return the names of tests that failed when meson last ran them."""
    failed: set[str] = set()
    try:
        rows = files.read_text(log).splitlines()
    except OSError:
        return failed
    for row in rows:
        try:
            test = json.loads(row)
        except ValueError:
            continue
        if test.get("result") not in ("OK", "SKIP", "EXPECTEDFAIL"):
            # `project:name`, or `project:suite / name`
            name = str(test.get("name", ""))
            failed.add(name.rpartition(" / ")[2] if " / " in name else name.partition(":")[2])
    return failed


async def cmake(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Refuse a command that builds and runs nothing, and name the one that runs the tests."""
    folder = "".join(line.argv[2:3]) if line.argv[1:2] == ("--build",) else "build"
    raise UsageError(
        "`cmake` builds and runs no program.", next=f"dbg start ctest --test-dir {folder}"
    )


COMMANDS = {
    "make": make,
    "gmake": make,
    "just": just,
    "ctest": ctest,
    "meson": meson,
    "cmake": cmake,
}
