"""Find a Java program's classes, its main class and its sources."""

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

#: source folders of projects, relative to the project: one folder per language
_SOURCES = ("", "src", "src/main/*", "src/test/*", "app/src/main/*", "java", "test")
#: source folders of the modules of a project, relative to its root
_OF_MODULES = ("*/src/main/*", "*/src/test/*", "*/*/src/main/*", "*/*/src/test/*")
#: how far above the program's folder a project may begin
_ABOVE = 5
#: maximum bytes of a jar's manifest
_MAX_MANIFEST = 1 << 20


@dataclass(frozen=True, slots=True)
class JavaProgram:
    """The program that a `java` command runs."""

    #: arguments after the JVM's own options: `-cp PATH Main` or `-jar FILE`
    args: tuple[str, ...]
    main: str | None
    #: folders and jars with the user's classes
    classes: tuple[str, ...]


def read(target: Launch) -> JavaProgram:
    """Return the program to run. Raises LaunchFailed for a file without a main class."""
    given = tuple(_absolute(target.env.get("CLASSPATH", ""), target.cwd))
    if target.recipe is not None and target.recipe.main is not None:
        path = (target.program, *given)
        return JavaProgram(_launch_args(path, target.recipe.main), target.recipe.main, path)
    if target.module:
        path = given or (target.cwd,)
        return JavaProgram(_launch_args(path, target.program), target.program, path)
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
        return JavaProgram(_launch_args(path, name), name, path)
    raise LaunchFailed(
        f"{os.path.basename(target.program)} is neither a jar nor a class file.",
        next="dbg start FILE.java",
    )


def has_class(name: str, cwd: str, env: Mapping[str, str]) -> bool:
    """Whether the class path, or without one the current folder, has a class of that name."""
    file = name.replace(".", "/") + ".class"
    for entry in tuple(_absolute(env.get("CLASSPATH", ""), cwd)) or (cwd,):
        if os.path.isfile(os.path.join(entry, file)):
            return True
        if entry.endswith(".jar"):
            try:
                with zipfile.ZipFile(entry) as jar:
                    if file in jar.namelist():
                        return True
            except (OSError, zipfile.BadZipFile):
                continue
    return False


def _launch_args(path: tuple[str, ...], main: str) -> tuple[str, ...]:
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
    # A long line continues on the next one, after a space.
    for line in manifest.replace("\r\n", "\n").replace("\n ", "").splitlines():
        name, _, value = line.partition(":")
        if name.lower() == "main-class":
            return value.strip()
    return None


def class_name(path: str) -> str:
    """Return the name of the class in a file, with dots. Raises LaunchFailed if it is invalid."""
    try:
        return _own_name(files.read_bytes(path))
    except (OSError, ValueError, LookupError, struct.error):
        raise LaunchFailed(f"{path} is not a class file.", next="dbg start FILE.java") from None


def _own_name(data: bytes) -> str:
    """Parse a class file up to its own name. See the JVM specification, chapter 4."""
    magic, _, count = struct.unpack_from(">IIH", data)
    if magic != 0xCAFEBABE:
        raise ValueError("not a class file")
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
    """Return the folders that may contain sources, the likeliest first."""
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
        for each in _SOURCES if start != target.cwd else (*_SOURCES, *_OF_MODULES):
            found += sorted(glob.glob(os.path.join(glob.escape(start), each)))
    return [each for each in dict.fromkeys(map(os.path.normpath, found)) if os.path.isdir(each)]


def options_of_program(env: Mapping[str, str], names: tuple[str, ...]) -> list[str]:
    """Return the variables meant only for the program's JVM, as `NAME=VALUE`."""
    return [f"{name}={env[name]}" for name in names if name in env and name != "CLASSPATH"]
