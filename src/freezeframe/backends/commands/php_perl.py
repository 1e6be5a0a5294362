"""PHP and Perl: the interpreters with their options."""

from __future__ import annotations

import os
from functools import partial

from freezeframe.errors import NotFound, UsageError

from .command_line import CommandLine, Program, Step, Tools
from .options import Split, split

_PHP = ("-d", "-c", "-z", "-t", "-S")
_PERL = ("-I", "-M", "-m")
_CODE = ("-r", "-e", "-E")


async def _interpreter(
    valued: tuple[str, ...], suffix: str, line: CommandLine, tools: Tools
) -> Program:
    """Read `php -d name=value app.php`, `perl -Ilib app.pl`."""
    found = split(line.argv[1:], valued)
    interpreter = line.which(line.argv[0])
    if interpreter is None:
        raise NotFound(f"there is no {line.argv[0]} on PATH.", next=f"dbg start FILE{suffix}")
    options, rest = found.options, found.rest[1:] if found.rest[:1] == ("--",) else found.rest
    if found.has(*_CODE):
        raise UsageError(
            f"code of `{line.name} {options[-1]}` is in no file, so it cannot have breakpoints.",
            next=f"dbg start FILE{suffix}  # with that code in it",
        )
    if suffix == ".php" and any(each.startswith("-S") for each in options):
        return _server(line, interpreter, found)
    options = tuple(each for each in options if each not in ("-f", "--file"))
    if not rest:
        raise UsageError(f"`{line.name}` alone runs no program.", next=f"dbg start FILE{suffix}")
    script = line.path(rest[0])
    if not os.path.isfile(script):
        raise NotFound(f"there is no program {rest[0]} in {line.cwd}.", next="dbg start PROGRAM")
    return Program(script, rest[1:], interpreter=interpreter, interpreter_args=options)


def _server(line: CommandLine, interpreter: str, found: Split) -> Program:
    """Read `php -S HOST:PORT -t public router.php`, the server of PHP, which runs until it is
    ended; its script is the router, or what answers `/`.
    """
    folder = line.path(found.value("-t") or ".")
    scripts = [line.path(each) for each in found.rest[:1]]
    if not scripts and os.path.isdir(folder):
        names = [name for name in sorted(os.listdir(folder)) if name.endswith(".php")]
        names.sort(key=lambda name: name != "index.php")
        scripts = [os.path.join(folder, name) for name in names[:1]]
    if not scripts or not os.path.isfile(scripts[0]):
        where = f"{found.rest[0]} in {line.cwd}" if found.rest else f"PHP script in {folder}"
        raise NotFound(f"there is no {where}.", next="dbg start php -S 127.0.0.1:8000 FILE.php")
    args = (*found.options, *found.rest)
    return Program(scripts[0], interpreter=interpreter, interpreter_args=args)


php: Step = partial(_interpreter, _PHP, ".php")
perl: Step = partial(_interpreter, _PERL, ".pl")

COMMANDS = {"php": php, "perl": perl}
