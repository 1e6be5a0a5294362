"""Python: the interpreter with its options, console scripts, tests named as pytest names them."""

from __future__ import annotations

import os
import re

from freezeframe.errors import NotFound, UsageError

from .followed import followed
from .line import CommandLine, Program, Tools

#: options whose value is a word of its own unless it is attached: `-X dev`, `-Werror`
_VALUED = ("--check-hash-based-pycs",)
_LETTERS = "WX"
#: end the options: a module, code, or the script itself
_ENDS = re.compile(r"-[A-Za-z]*?([mc])(.*)", re.DOTALL)
_RUNTIME = re.compile(r"(?:python|pypy)w?(?:\d+(?:\.\d+)?t?)?(?:\.exe)?")
#: pip's first lines where the path of an interpreter is too long for the system, or has spaces
_TRAMPOLINE = re.compile(rb"\A#!/bin/sh\n'''exec' \"?([^\"\n]+?)\"? \"\$0\"")
_TEST = re.compile(r"(?P<file>.+?\.py)::(?P<name>.+)")


def is_runtime(name: str) -> bool:
    return _RUNTIME.fullmatch(name) is not None


async def python(line: CommandLine, tools: Tools) -> Program:
    """Read `python -O -m pytest x` and `python app.py`."""
    interpreter = line.which(line.words[0])
    if interpreter is None:
        raise NotFound(f"there is no {line.words[0]} on PATH.", next="dbg start FILE.py")
    options: list[str] = []
    words = list(line.words[1:])
    while words and words[0].startswith("-") and words[0] not in ("-", "--"):
        word = words.pop(0)
        ends = None if word.startswith("--") or word[1:2] in _LETTERS else _ENDS.fullmatch(word)
        if ends is not None:
            before = word[: ends.start(1)]
            options += [before] if before != "-" else []
            value = ends[2] or (words.pop(0) if words else "")
            if ends[1] == "c":
                # The code itself is in no file; breakpoints in what it imports are met in a child.
                program = followed(line, line.name)
                if program is not None:
                    return program
            if not value:
                raise UsageError("`python -m` needs a module.", next="dbg start python -m pytest")
            return Program(value, tuple(words), True, interpreter, tuple(options), name=value)
        options.append(word)
        if word in _VALUED or (len(word) == 2 and word[1] in _LETTERS):
            options += words[:1]
            del words[:1]
    if words[:1] == ["--"]:
        words.pop(0)
    if words[:1] == ["-"] and (program := followed(line, line.name)) is not None:
        # What it reads from its standard input is in no file either.
        return program
    if not words or words[0] == "-":
        raise UsageError(f"`{line.name}` alone runs no program.", next="dbg start FILE.py")
    script = line.path(words[0])
    if not os.path.exists(script):
        test = test_named(line.then(*words))
        if test is not None:
            raise UsageError(
                f"{words[0]} is a test for pytest, not a script.", next=f"dbg start {words[0]}"
            )
        raise NotFound(f"there is no program {words[0]} in {line.cwd}.", next="dbg start PROGRAM")
    return Program(script, tuple(words[1:]), False, interpreter, tuple(options))


def test_named(line: CommandLine) -> Program | None:
    """Read `tests/test_a.py::test_b` as what pytest runs."""
    found = _TEST.fullmatch(line.words[0])
    if found is None or not os.path.isfile(line.path(found["file"])):
        return None
    return Program("pytest", line.words, module=True, name="pytest")


def script(path: str, first: bytes, words: tuple[str, ...], line: CommandLine) -> Program | None:
    """Read a console script by its first lines: its own interpreter runs it."""
    trampoline = _TRAMPOLINE.match(first)
    if trampoline is not None:
        named: str | None = trampoline[1].decode("utf-8", "replace")
        options: tuple[str, ...] = ()
    else:
        begin = shebang(first)
        if not begin or not is_runtime(os.path.basename(begin[0])):
            return None
        named, options = line.which(begin[0]), begin[1:]
    return Program(path, words, interpreter=named, interpreter_args=options)


def shebang(first: bytes) -> tuple[str, ...]:
    """Return the interpreter of a script's first line, and the options that stand there."""
    if not first.startswith(b"#!"):
        return ()
    words = first[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    if words and os.path.basename(words[0]) == "env":
        words = words[1:]
        while words and (words[0].startswith("-") or "=" in words[0]):
            word = words.pop(0)
            if word.startswith("-S") and len(word) > 2:
                words.insert(0, word[2:])
    return tuple(words)
