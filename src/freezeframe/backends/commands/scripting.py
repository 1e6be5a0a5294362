"""PHP and Perl: the interpreters with their options."""

from __future__ import annotations

import os
from functools import partial

from freezeframe.errors import NotFound, UsageError

from .line import CommandLine, Program, Step, Tools
from .options import split

_PHP = ("-d", "-c", "-z", "-t", "-S")
_PERL = ("-I", "-M", "-m")
_CODE = ("-r", "-e", "-E")


async def _interpreter(
    valued: tuple[str, ...], suffix: str, line: CommandLine, tools: Tools
) -> Program:
    """Read `php -d name=value app.php`, `perl -Ilib app.pl`."""
    found = split(line.words[1:], valued)
    interpreter = line.which(line.words[0])
    if interpreter is None:
        raise NotFound(f"there is no {line.words[0]} on PATH.", next=f"dbg start FILE{suffix}")
    options, rest = found.options, found.rest[1:] if found.rest[:1] == ("--",) else found.rest
    if found.has(*_CODE):
        raise UsageError(
            f"code of `{line.name} {options[-1]}` is in no file, where breakpoints could stand.",
            next=f"dbg start FILE{suffix}  # with that code in it",
        )
    options = tuple(each for each in options if each not in ("-f", "--file"))
    if not rest:
        raise UsageError(f"`{line.name}` alone runs no program.", next=f"dbg start FILE{suffix}")
    script = line.path(rest[0])
    if not os.path.isfile(script):
        raise NotFound(f"there is no program {rest[0]} in {line.cwd}.", next="dbg start PROGRAM")
    return Program(script, rest[1:], interpreter=interpreter, interpreter_args=options)


php: Step = partial(_interpreter, _PHP, ".php")
perl: Step = partial(_interpreter, _PERL, ".pl")

COMMANDS = {"php": php, "perl": perl}
