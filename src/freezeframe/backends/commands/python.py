"""Python: the interpreter with its options, console scripts, tests named as pytest names them."""

from __future__ import annotations

import os
import re

from freezeframe.errors import NotFound, UsageError

from .command_line import CommandLine, Program, Tools
from .followed_commands import followed

#: options whose value is the next word unless it is attached: `-X dev`, `-Werror`
_VALUED = ("--check-hash-based-pycs",)
_LETTERS = "WX"
#: the options end here: a module, code, or the script itself
_ENDS = re.compile(r"-[A-Za-z]*?([mc])(.*)", re.DOTALL)
_RUNTIME = re.compile(r"(?:python|pypy)w?(?:\d+(?:\.\d+)?t?)?(?:\.exe)?")
#: pip's first lines where the path of an interpreter is too long for the system, or has spaces
_TRAMPOLINE = re.compile(rb"\A#!/bin/sh\n'''exec' \"?([^\"\n]+?)\"? \"\$0\"")
_TEST = re.compile(r"(?P<file>.+?\.py)::(?P<name>.+)")


def is_runtime(name: str) -> bool:
    return _RUNTIME.fullmatch(name) is not None


async def python(line: CommandLine, tools: Tools) -> Program:
    """Read `python -O -m pytest x` and `python app.py`."""
    interpreter = line.which(line.argv[0])
    if interpreter is None:
        raise NotFound(f"there is no {line.argv[0]} on PATH.", next="dbg start FILE.py")
    options: list[str] = []
    args = list(line.argv[1:])
    while args and args[0].startswith("-") and args[0] not in ("-", "--"):
        word = args.pop(0)
        last_option = (
            None if word.startswith("--") or word[1:2] in _LETTERS else _ENDS.fullmatch(word)
        )
        if last_option is not None:
            before = word[: last_option.start(1)]
            options += [before] if before != "-" else []
            value = last_option[2] or (args.pop(0) if args else "")
            if last_option[1] == "c":
                # The code itself is in no file; breakpoints in what it imports are hit in a child.
                program = followed(line, line.name)
                if program is not None:
                    return program
            if not value:
                raise UsageError("`python -m` needs a module.", next="dbg start python -m pytest")
            return Program(value, tuple(args), True, interpreter, tuple(options), name=value)
        options.append(word)
        if word in _VALUED or (len(word) == 2 and word[1] in _LETTERS):
            options += args[:1]
            del args[:1]
    if args[:1] == ["--"]:
        args.pop(0)
    if args[:1] == ["-"] and (program := followed(line, line.name)) is not None:
        # Code from standard input is in no file either.
        return program
    if not args or args[0] == "-":
        raise UsageError(f"`{line.name}` alone runs no program.", next="dbg start FILE.py")
    script = line.path(args[0])
    if not os.path.exists(script):
        if is_test(line.then(*args)):
            raise UsageError(
                f"{args[0]} is a test for pytest, not a script.", next=f"dbg start {args[0]}"
            )
        raise NotFound(f"there is no program {args[0]} in {line.cwd}.", next="dbg start PROGRAM")
    return Program(script, tuple(args[1:]), False, interpreter, tuple(options))


def is_test(line: CommandLine) -> bool:
    """Whether a line is `tests/test_a.py::test_b`, which pytest runs."""
    found = _TEST.fullmatch(line.argv[0])
    return found is not None and os.path.isfile(line.path(found["file"]))


def script(path: str, first: bytes, args: tuple[str, ...], line: CommandLine) -> Program | None:
    """Read a console script by its first lines: its own interpreter runs it."""
    trampoline = _TRAMPOLINE.match(first)
    if trampoline is not None:
        named: str | None = trampoline[1].decode("utf-8", "replace")
        options: tuple[str, ...] = ()
    else:
        interpreter_line = shebang(first)
        if not interpreter_line or not is_runtime(os.path.basename(interpreter_line[0])):
            return None
        named, options = line.which(interpreter_line[0]), interpreter_line[1:]
    return Program(path, args, interpreter=named, interpreter_args=options)


def shebang(first: bytes) -> tuple[str, ...]:
    """Return the interpreter of a script's first line, and its options there."""
    if not first.startswith(b"#!"):
        return ()
    argv = first[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    if argv and os.path.basename(argv[0]) == "env":
        argv = argv[1:]
        while argv and (argv[0].startswith("-") or "=" in argv[0]):
            word = argv.pop(0)
            if word.startswith("-S") and len(word) > 2:
                argv.insert(0, word[2:])
    return tuple(argv)
