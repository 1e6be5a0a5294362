"""What a Java program is made of: its classes, its main class, and where its sources lie."""

from __future__ import annotations

import glob
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from freezeframe import files
from freezeframe.backends.backend import Attach, Launch
from freezeframe.errors import LaunchFailed

#: where projects keep sources, below their own folder: one folder for each language
_SOURCES = ("", "src", "src/main/*", "src/test/*", "app/src/main/*", "java", "test")
#: how far above the program's own folder a project may begin
_ABOVE = 5
#: bytes of a jar's manifest that are read
_MAX_MANIFEST = 1 << 20


@dataclass(frozen=True, slots=True)
class JavaProgram:
    """What is behind the words of a `java` command."""

    #: the words behind the machine's own options: `-cp PATH Main` or `-jar FILE`
    words: tuple[str, ...]
    main: str | None
    #: folders and jars whose classes are the user's own
    classes: tuple[str, ...]


def read(target: Launch) -> JavaProgram:
    """Return what is to be run. Raises LaunchFailed for a file that has no main class."""
    given = tuple(_absolute(target.env.get("CLASSPATH", ""), target.cwd))
    if target.recipe is not None and target.recipe.main is not None:
        path = (target.program, *given)
        return JavaProgram(_words(path, target.recipe.main), target.recipe.main, path)
    if target.module:
        path = given or (target.cwd,)
        return JavaProgram(_words(path, target.program), target.program, path)
    if target.program.endswith(".jar"):
        main = _main_of_jar(target.program)
        if main is None:
            raise LaunchFailed(
                f"{os.path.basename(target.program)} names no Main-Class in its manifest.",
                next=f"dbg start --classpath {os.path.basename(target.program)} -m PACKAGE.CLASS",
            )
        return JavaProgram(("-jar", target.program), main, (target.program,))
    if target.program.endswith(".class"):
        name = class_name(target.program)
        folder = os.path.dirname(target.program)
        for _ in range(name.count(".")):
            folder = os.path.dirname(folder)
        path = (folder, *given)
        return JavaProgram(_words(path, name), name, path)
    raise LaunchFailed(
        f"{os.path.basename(target.program)} is neither a jar nor a class file.",
        next="dbg start FILE.java",
    )


def has_class(name: str, cwd: str, env: Mapping[str, str]) -> bool:
    """Whether a class of that name is on the class path; without one, in the current folder."""
    file = name.replace(".", "/") + ".class"
    for place in tuple(_absolute(env.get("CLASSPATH", ""), cwd)) or (cwd,):
        if os.path.isfile(os.path.join(place, file)):
            return True
        if place.endswith(".jar"):
            try:
                with zipfile.ZipFile(place) as jar:
                    if file in jar.namelist():
                        return True
            except (OSError, zipfile.BadZipFile):
                continue
    return False


def _words(path: tuple[str, ...], main: str) -> tuple[str, ...]:
    return ("-cp", os.pathsep.join(path), main)


def _absolute(class_path: str, cwd: str) -> Iterator[str]:
    for each in class_path.split(os.pathsep):
        if each.endswith("*"):
            folder = os.path.join(cwd, each[:-1])
            names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
            yield from (os.path.join(folder, name) for name in names if name.endswith(".jar"))
        elif each:
            yield os.path.abspath(os.path.join(cwd, each))


def _main_of_jar(path: str) -> str | None:
    try:
        with (
            files.open_regular(path) as file,
            zipfile.ZipFile(file) as jar,
            jar.open("META-INF/MANIFEST.MF") as entry,
        ):
            manifest = entry.read(_MAX_MANIFEST).decode("utf-8", "replace")
    except (OSError, KeyError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError):
        return None
    # A long line goes on in the next one, behind a space.
    for line in manifest.replace("\r\n", "\n").replace("\n ", "").splitlines():
        name, _, value = line.partition(":")
        if name.lower() == "main-class":
            return value.strip()
    return None


def class_name(path: str) -> str:
    """Return the name of the class in a file, with dots. Raises LaunchFailed where it is none."""
    try:
        return _own_name(files.read_bytes(path))
    except (OSError, ValueError, LookupError, struct.error):
        raise LaunchFailed(f"{path} is no class file.", next="dbg start FILE.java") from None


def _own_name(data: bytes) -> str:
    """Read a class file as far as its own name. See the JVM specification, chapter 4."""
    magic, _, count = struct.unpack_from(">IIH", data)
    if magic != 0xCAFEBABE:
        raise ValueError("no class file")
    sizes = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4}
    sizes |= {18: 4, 19: 2, 20: 2}
    at, number = 10, 1
    texts: dict[int, str] = {}
    names: dict[int, int] = {}
    while number < count:
        tag = data[at]
        if tag == 1:
            (length,) = struct.unpack_from(">H", data, at + 1)
            texts[number] = data[at + 3 : at + 3 + length].decode("utf-8", "replace")
            at += 3 + length
        else:
            if tag == 7:
                (names[number],) = struct.unpack_from(">H", data, at + 1)
            at += 1 + sizes[tag]
        number += 2 if tag in (5, 6) else 1
    (own,) = struct.unpack_from(">H", data, at + 2)
    return texts[names[own]].replace("/", ".")


def source_roots(target: Launch | Attach) -> list[str]:
    """Return the folders below which sources may lie, the likeliest first."""
    starts = []
    if isinstance(target, Launch) and target.recipe is not None:
        source = target.recipe.source
        starts.append(source if os.path.isdir(source) else os.path.dirname(source))
    program = target.program
    if program is not None and os.path.isabs(program):
        folder = program if os.path.isdir(program) else os.path.dirname(program)
        for _ in range(_ABOVE):
            starts.append(folder)
            folder = os.path.dirname(folder)
    starts.insert(1, target.cwd)
    extra = _absolute(target.env.get("SOURCEPATH", ""), target.cwd)
    found = list(extra)
    for start in starts:
        for each in _SOURCES:
            found += sorted(glob.glob(os.path.join(glob.escape(start), each)))
    return [each for each in dict.fromkeys(map(os.path.normpath, found)) if os.path.isdir(each)]


def options_of_program(env: Mapping[str, str], names: tuple[str, ...]) -> list[str]:
    """Return the variables that only the program's machine is given, as `NAME=VALUE`."""
    return [f"{name}={env[name]}" for name in names if name in env and name != "CLASSPATH"]
