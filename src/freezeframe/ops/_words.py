"""How the words of a caller who starts a program are meant."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from freezeframe.backends import select
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.places import Location

from ._context import Context

#: how a Java class may be called
_CLASS = re.compile(r"[\w$]+(?:\.[\w$]+)*(?<!\.java)(?<!\.class)(?<!\.jar)")


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


def taken_back(
    cwd: str, module: str, args: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return a module's own words, the breakpoints among them that are ours, and remarks.

    Everything behind its name is the module's. Only `-b` with the line of a file that is there can
    hardly be meant for it; other options that look like ours are pointed out.
    """
    words, taken, remarks = list(args), [], []
    for place, word in enumerate(args):
        if word == "--":
            break
        option, equals, value = word.partition("=")
        if option == "--classpath":
            remarks.append(f"{option} was given to {module}; options of dbg stand before -m")
        if option not in ("-b", "--break"):
            continue
        value = value if equals else "".join(args[place + 1 : place + 2])
        if _is_line(cwd, value):
            at = place - (len(args) - len(words))
            del words[at : at + (1 if equals else 2)]
            taken.append(value)
            remarks.append(f"-b {value} was taken for dbg's own, not given to {module}")
        else:
            remarks.append(f"{option} was given to {module}; options of dbg stand before -m")
    return tuple(words), tuple(taken), tuple(remarks)


def _is_line(cwd: str, text: str) -> bool:
    try:
        location = Location.parse(text)
    except ValueError:
        return False
    return location.line is not None and os.path.isfile(os.path.join(cwd, location.file or ""))


def assignments(pairs: tuple[str, ...]) -> dict[str, str]:
    made = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--env takes NAME=VALUE, not {pair!r}.")
        made[key] = value
    return made
