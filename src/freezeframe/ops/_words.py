"""How the words of a caller who starts a program are meant."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from freezeframe.backends import select
from freezeframe.errors import NotFound, UsageError

from ._context import Context
from ._guesses import quoted

#: how a Java class may be called
_CLASS = re.compile(r"[\w$]+(?:\.[\w$]+)*(?<!\.java)(?<!\.class)(?<!\.jar)")
#: a line of a file, with a condition or without
_PLACE = re.compile(r"(?P<file>.+?):\d+(?:\s+if\s.+)?", re.DOTALL)


def left_to_program(ctx: Context, args: tuple[str, ...]) -> tuple[str, ...]:
    """Say which of the program's arguments are like a breakpoint of a file that is there.

    They stand behind a `--`, so they are the program's.
    """
    for index, word in enumerate(args):
        if word in ("-b", "--break"):
            place = args[index + 1] if index + 1 < len(args) else ""
        elif word.startswith(("-b", "--break=")):
            place = word.removeprefix("--break=").removeprefix("-b").removeprefix("=")
        else:
            continue
        found = _PLACE.fullmatch(place)
        if found and os.path.isfile(os.path.join(ctx.caller.cwd, found["file"])):
            words = word if place in word else f"{word} {place}"
            instead = f"dbg break {quoted(place)}"
            return (f"`{words}` stands behind `--` and went to the program: {instead}",)
    return ()


def with_directory(ctx: Context, cwd: str, program: str) -> tuple[Context, str]:
    """Return the context of a caller who stands in *cwd* where only that has the program.

    Callers that are no shells (a server that its host started anywhere) name all paths from there.
    """
    there = os.path.abspath(os.path.join(ctx.caller.cwd, cwd))
    here = os.path.exists(os.path.join(ctx.caller.cwd, program))
    if here or not os.path.exists(os.path.join(there, program)):
        return ctx, cwd
    return replace(ctx, caller=replace(ctx.caller, cwd=there)), there


def with_classes(ctx: Context, classpath: str) -> Context:
    """Return the context of a caller whose Java classes are found there, as he would write it."""
    entries = [os.path.join(ctx.caller.cwd, each) for each in classpath.split(os.pathsep) if each]
    missing = [each for each in entries if not each.endswith("*") and not os.path.exists(each)]
    if missing or not entries:
        what = missing[0] if missing else classpath
        raise NotFound(f"there is no {what} to find classes in.", next="dbg start --classpath PATH")
    env = {**ctx.caller.env, "CLASSPATH": os.pathsep.join(map(os.path.normpath, entries))}
    return replace(ctx, caller=replace(ctx.caller, env=env))


def is_class(ctx: Context, program: str | None, classpath: str, *, module: bool) -> bool:
    """Whether a program is the name of a class. Raises NotFound for one that is not there."""
    path = os.path.join(ctx.caller.cwd, program or "")
    if program is None or (not module and (os.path.exists(path) or not _CLASS.fullmatch(program))):
        return module
    there = select.known(ctx.config).values()
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
