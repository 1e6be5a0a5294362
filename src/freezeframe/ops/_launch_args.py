"""Arguments of `start`: directory, class path, environment, breakpoints after `--`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace

from freezeframe.backends import selection
from freezeframe.backends.backend import Launch
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.answers import StopReport

from ._context import Context
from ._suggestions import quoted

#: the name of a Java class
_CLASS = re.compile(r"[\w$]+(?:\.[\w$]+)*(?<!\.java)(?<!\.class)(?<!\.jar)")
#: the command in a command line, behind its global options
_START = re.compile(r"^((?:-\S+ (?:\S+ )??)*)(start|launch|run|debug)(?= |$)")
#: a line of a file, with a condition or without
_LOCATION = re.compile(r"(?P<file>.+?):\d+(?:\s+if\s.+)?", re.DOTALL)


def suggest_hold(ctx: Context, report: StopReport) -> StopReport:
    """Return the report of a program that ended before anything could stop it, with a next step
    that holds it at its entry."""
    ended = report.exit is not None and report.exit.how == "ended"
    if (
        not ended
        or any(each.enabled for each in ctx.workspace.breakpoints)
        or report.next
        or not _START.match(ctx.typed)
    ):
        return report
    return replace(report, next=(_START.sub(r"\1\2 --hold", ctx.typed),))


def left_to_program(ctx: Context, args: tuple[str, ...]) -> tuple[str, ...]:
    """Return notes for program arguments that look like breakpoints in an existing file.

    They come after `--`, so they belong to the program.
    """
    for index, word in enumerate(args):
        if word in ("-b", "--break"):
            location = args[index + 1] if index + 1 < len(args) else ""
        elif word.startswith(("-b", "--break=")):
            location = word.removeprefix("--break=").removeprefix("-b").removeprefix("=")
        else:
            continue
        found = _LOCATION.fullmatch(location)
        if found and os.path.isfile(os.path.join(ctx.caller.cwd, found["file"])):
            argument = word if location in word else f"{word} {location}"
            instead = f"dbg break {quoted(location)}"
            return (f"`{argument}` comes after `--` and went to the program: {instead}",)
    return ()


def with_directory(ctx: Context, cwd: str, program: str) -> tuple[Context, str]:
    """Return a context with *cwd* as the caller's directory if only *cwd* has the program.

    Callers other than shells (an MCP server that its host started anywhere) name paths from there.
    So it is for a command: `npm run x` has the scripts of the directory that it runs in.
    """
    there = os.path.abspath(os.path.join(ctx.caller.cwd, cwd))
    here = os.path.exists(os.path.join(ctx.caller.cwd, program))
    is_command = os.sep not in program and os.path.isdir(there)
    if here or not (is_command or os.path.exists(os.path.join(there, program))):
        return ctx, cwd
    return replace(ctx, caller=replace(ctx.caller, cwd=there)), there


def locations_from(ctx: Context, cwd: str | None, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return locations of breakpoints, with the paths of files that only *cwd* has."""
    if cwd is None:
        return texts
    found = []
    for text in texts:
        file, colon, rest = text.partition(":")
        there = os.path.abspath(os.path.join(ctx.caller.cwd, cwd, file))
        here = os.path.exists(os.path.join(ctx.caller.cwd, file))
        is_there = bool(colon and file) and not here and os.path.isfile(there)
        found.append(f"{there}:{rest}" if is_there else text)
    return tuple(found)


def with_classes(ctx: Context, classpath: str) -> Context:
    """Return a context whose environment has *classpath* for Java."""
    entries = [os.path.join(ctx.caller.cwd, each) for each in classpath.split(os.pathsep) if each]
    missing = [each for each in entries if not each.endswith("*") and not os.path.exists(each)]
    if missing or not entries:
        what = missing[0] if missing else classpath
        raise NotFound(f"there is no {what} to find classes in.", next="dbg start --classpath PATH")
    env = {**ctx.caller.env, "CLASSPATH": os.pathsep.join(map(os.path.normpath, entries))}
    return replace(ctx, caller=replace(ctx.caller, env=env))


def is_class(ctx: Context, program: str | None, classpath: str, *, module: bool) -> bool:
    """Whether *program* is the name of a class. Raises NotFound for a missing class."""
    path = os.path.join(ctx.caller.cwd, program or "")
    if program is None or (not module and (os.path.exists(path) or not _CLASS.fullmatch(program))):
        return module
    there = selection.known(ctx.config).values()
    if not any(each.has_module(program, ctx.caller.cwd, ctx.caller.env) for each in there):
        raise NotFound(
            f"there is no class {program} in {classpath}.",
            next="dbg start --classpath PATH -m PACKAGE.CLASS",
        )
    return True


def assignments(pairs: tuple[str, ...]) -> dict[str, str]:
    made = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--env takes NAME=VALUE, not {pair!r}.")
        made[key] = value
    return made


def working_directory(ctx: Context, cwd: str | None, default: str | None) -> str:
    """Return the directory to run a program in. Raises NotFound."""
    directory = os.path.join(ctx.caller.cwd, cwd) if cwd else default or ctx.caller.cwd
    if not os.path.isdir(directory):
        raise NotFound(f"there is no directory {cwd}.", next="dbg start PROGRAM --cwd DIR")
    return os.path.abspath(directory)


def input_file(ctx: Context, stdin: str | None, *, tty: bool) -> str | None:
    """Return the path of the file that is the program's standard input. Raises NotFound."""
    if stdin is None:
        return None if tty else ctx.caller.redirected_input()
    path = os.path.abspath(os.path.join(ctx.caller.cwd, stdin))
    if not os.path.isfile(path):
        kind = "is not a regular file" if os.path.exists(path) else "does not exist"
        raise NotFound(
            f"{stdin}, to read input from, {kind}.", next="dbg start PROGRAM --stdin FILE"
        )
    return path


def own_directories(root: str, target: Launch) -> tuple[str, ...]:
    """Return the directories whose code is the project's own, below *root* or not."""
    program = () if target.module else (os.path.dirname(target.program),)
    return tuple(sorted({root, target.cwd, *program}))


def is_below(path: str, roots: Iterable[str]) -> bool:
    """Whether a path is one of some directories or in it: `/a/shop-lib` is not in `/a/shop`."""
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
