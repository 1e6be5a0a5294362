"""Ruby: the interpreter with its options, and rake, whose tests run in their own process."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping

from freezeframe.errors import BuildFailed, NotFound, UsageError

from .command_line import CommandLine, Program, Tools
from .options import split

_VALUED = ("-r", "-I", "-C", "-E", "-K", "-e", "--encoding", "--external-encoding")
#: replaces ruby while rake is run to see what it would start
_RECORDER = """#!/bin/sh
{ruby} -rjson -e 'puts JSON.dump(["ruby", *ARGV])' -- "$@" >> {file}
"""


async def ruby(line: CommandLine, tools: Tools) -> Program:
    """Read `ruby -Ilib -w test/a_test.rb -n name`."""
    found = split(line.argv[1:], _VALUED)
    interpreter = line.which(line.argv[0])
    if interpreter is None:
        raise NotFound(f"there is no {line.argv[0]} on PATH.", next="dbg start FILE.rb")
    if found.has("-e"):
        raise UsageError(
            "the code of `ruby -e` is in no file, so it cannot have breakpoints.",
            next="dbg start FILE.rb  # with that code in it",
        )
    rest = found.rest[1:] if found.rest[:1] == ("--",) else found.rest
    if not rest:
        raise UsageError("`ruby` alone runs no program.", next="dbg start FILE.rb")
    script = line.path(rest[0])
    if "-S" in found.options:
        script = line.which(rest[0]) or script
    if not os.path.isfile(script):
        raise NotFound(f"there is no program {rest[0]} in {line.cwd}.", next="dbg start FILE.rb")
    options = tuple(each for each in found.options if each != "-S")
    return Program(script, rest[1:], interpreter=interpreter, interpreter_args=options)


async def rake(line: CommandLine, tools: Tools) -> CommandLine | None:
    """Read `rake test` as the ruby that it would start, found by running rake with a recorder as
    ruby.

    Tasks that run in rake itself are rake's own program.
    """
    path, interpreter = line.which(line.argv[0]), line.which("ruby")
    if path is None or interpreter is None:
        return None
    folder = tempfile.mkdtemp(prefix="freezeframe-rake-")
    try:
        commands = await _recorded(line, tools, path, interpreter, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not commands:
        return None
    shown = f"`{' '.join(line.argv)}` runs: {' '.join(commands[0])}"
    return line.then(*commands[0]).remarking(shown if len(shown) < 200 else f"{shown[:199]}…")


async def _recorded(
    line: CommandLine, tools: Tools, path: str, interpreter: str, folder: str
) -> list[list[str]]:
    file, recorder = os.path.join(folder, "commands"), os.path.join(folder, "ruby")
    with open(recorder, "w", encoding="utf-8") as script:
        script.write(_RECORDER.format(ruby=interpreter, file=file))
    os.chmod(recorder, 0o700)
    env: Mapping[str, str] = {**line.env, "RUBY": recorder}
    result = await tools.run((path, *line.argv[1:]), cwd=line.cwd, env=env)
    try:
        with open(file, encoding="utf-8") as rows:
            return [json.loads(row) for row in rows]
    except FileNotFoundError:
        if result.status != 0:
            output = (result.err.strip() or result.out.strip()).splitlines()[:4]
            message = "\n  ".join((f"rake ended with {result.status}.", *output))
            raise BuildFailed(message, next="rake -T") from None
        return []


COMMANDS = {"ruby": ruby, "rake": rake}
