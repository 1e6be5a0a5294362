"""Perl's tests: `prove -l t/`, which runs each file in its own perl."""

from __future__ import annotations

import os
import re

from freezeframe.errors import NotFound

from .command_line import CommandLine, Tools
from .options import split, values

_VALUED = (
    *("-I", "-j", "--jobs", "-P", "-M", "-e", "--exec", "--ext", "--harness", "--formatter"),
    *("-a", "--archive", "--rc", "--source", "--state", "--statefile", "--rules"),
)
#: options in one word: `-lvr`
_LETTERS = re.compile(r"-[a-zA-Z]+")
#: options that are perl's own
_SWITCHES = ("w", "W", "t", "T")
_FAILED = re.compile(r"^(\S+)\s+\(Wstat: ", re.MULTILINE)


async def prove(line: CommandLine, tools: Tools) -> CommandLine:
    """Read `prove -lv t/a.t` as the perl that runs the file; of several files the failing one."""
    prove_args = line.argv[1 : line.argv.index("::")] if "::" in line.argv else line.argv[1:]
    args = line.argv[len(prove_args) + 2 :]
    found, given = _split_options(prove_args)
    files = _test_files(line, given, recursive="r" in found.letters or "--recurse" in found.long)
    if not files:
        shown_paths = " ".join(given) or "t"
        raise NotFound(f"there are no tests in {shown_paths}.", next="prove --dry")
    if len(files) > 1:
        files = await _failing(line, tools, files)
    line = line.remarking(f"debugged: perl {files[0]}, as prove runs it")
    switches = [f"-{letter}" for letter in found.letters if letter in _SWITCHES]
    folders = [f"-I{each}" for each in found.folders]
    return line.then("perl", *switches, *folders, files[0], *args, env={"HARNESS_ACTIVE": "1"})


class _Options:
    """The options of prove that determine how perl is run."""

    def __init__(self, options: tuple[str, ...]) -> None:
        self.long = [each for each in options if each.startswith("--")]
        taken = set(values(options, ("-I",)))
        clusters = [each for each in options if _LETTERS.fullmatch(each) and each not in taken]
        self.letters = "".join(each[1:] for each in clusters if not each.startswith("-I"))
        attached = [each[2:] for each in options if each.startswith("-I") and len(each) > 2]
        self.folders = [*values(options, ("-I",)), *attached]
        if "l" in self.letters or "--lib" in self.long:
            self.folders.insert(0, "lib")
        if "b" in self.letters or "--blib" in self.long:
            self.folders = ["blib/lib", "blib/arch", *self.folders]


def _split_options(args: tuple[str, ...]) -> tuple[_Options, list[str]]:
    """Return the options, which may come between the files, and the files."""
    options: list[str] = []
    given: list[str] = []
    while args:
        part = split(args, _VALUED)
        options += part.options
        args = part.rest[1:] if part.rest[:1] == ("--",) else part.rest
        given += args[:1]
        args = args[1:]
    return _Options(tuple(options)), given


def _test_files(line: CommandLine, given: list[str], *, recursive: bool) -> list[str]:
    found = []
    for each in given or ["t"]:
        path = line.path(each)
        if os.path.isfile(path):
            found.append(each)
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(folders) if recursive else []
            inside = os.path.relpath(folder, line.cwd)
            found += [os.path.join(inside, name) for name in sorted(names) if name.endswith(".t")]
    return found


async def _failing(line: CommandLine, tools: Tools, files: list[str]) -> list[str]:
    """Return the files, those with a breakpoint or else those that fail first."""
    with_breakpoints = [each for each in files if line.path(each) in line.break_files]
    if with_breakpoints:
        return with_breakpoints
    result = await tools.run(line.argv, cwd=line.cwd, env=line.env)
    failed = {os.path.normpath(each) for each in _FAILED.findall(result.out)}
    return sorted(files, key=lambda each: os.path.normpath(each) not in failed)


COMMANDS = {"prove": prove}
