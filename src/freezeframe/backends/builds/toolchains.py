"""Find what can be built or run at a path. Reads files only."""

from __future__ import annotations

import functools
import glob
import importlib
import json
import os
import pkgutil
import sys

from freezeframe import files

from .build_plan import Toolchain

#: the largest package.json that is read, in bytes
_MAX_JSON = 4 << 20
#: projects that we cannot build: what they are, and the commands that build and start them
_ELSEWHERE = {
    "pom.xml": ("a Maven project", "mvn -q package && dbg start target/NAME.jar"),
    "build.gradle": ("a Gradle project", "gradle build && dbg start build/libs/NAME.jar"),
    "build.gradle.kts": ("a Gradle project", "gradle build && dbg start build/libs/NAME.jar"),
    "*.csproj": ("a .NET project", "dotnet build && dbg start bin/Debug/NET/NAME.dll"),
    "CMakeLists.txt": (
        "a CMake project",
        "cmake -B build -DCMAKE_BUILD_TYPE=Debug && cmake --build build && dbg start build/NAME",
    ),
    "meson.build": (
        "a Meson project",
        "meson setup build && ninja -C build && dbg start build/NAME",
    ),
    "Makefile": ("a folder with a Makefile", "make CFLAGS=-g && dbg start ./NAME"),
    "makefile": ("a folder with a Makefile", "make CFLAGS=-g && dbg start ./NAME"),
    "build.zig": ("a Zig project", "zig build && dbg start zig-out/bin/NAME"),
    "Package.swift": ("a Swift package", "swift build && dbg start .build/debug/NAME"),
    "pyproject.toml": ("a Python project", "dbg start -m PACKAGE"),
}


@functools.cache
def toolchains() -> tuple[Toolchain, ...]:
    """Return every toolchain; each module of this package may define some."""
    package = sys.modules[__package__ or ""]
    found: list[Toolchain] = []
    for module in pkgutil.iter_modules(package.__path__):
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        found += getattr(loaded, "TOOLCHAINS", ())
    return tuple(found)


def for_file(path: str) -> Toolchain | None:
    """Return the toolchain that builds a source file."""
    suffix = os.path.splitext(path)[1]
    return next((each for each in toolchains() if suffix in each.suffixes), None)


def for_folder(path: str) -> Toolchain | None:
    """Return the toolchain that builds a folder."""
    for each in toolchains():
        if any(os.path.isfile(os.path.join(path, name)) for name in each.projects):
            return each
    return next((each for each in toolchains() if each.claims_folder(path)), None)


def for_tests(path: str) -> Toolchain | None:
    """Return the toolchain that builds the tests of a file, of a folder or of a project above
    it."""
    if os.path.isfile(path):
        found = for_file(path)
        return found if found is not None and found.tests else None
    folder = path
    while True:
        found = for_folder(folder)
        if found is not None:
            return found if found.tests else None
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def programs(folder: str) -> list[str]:
    """Return what can be started in a folder, as the user would name it."""
    if os.path.isfile(os.path.join(folder, "__main__.py")):
        return ["."]
    found = for_folder(folder)
    if found is not None:
        return list(found.programs(folder))
    script = entry_file(folder)
    return [os.path.relpath(script, folder)] if script is not None else []


def entry_file(folder: str) -> str | None:
    """Return the file that a package.json names as its program."""
    try:
        package = json.loads(files.read_bytes(os.path.join(folder, "package.json"), _MAX_JSON))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(package, dict):
        return None
    commands = package.get("bin")
    commands = list(commands.values()) if isinstance(commands, dict) else [commands]
    for name in (package.get("main"), *commands, "index.js"):
        path = os.path.normpath(os.path.join(folder, name)) if isinstance(name, str) else None
        for candidate in (path, f"{path}.js", os.path.join(path or "", "index.js")):
            if path is not None and candidate is not None and os.path.isfile(candidate):
                return candidate
    return None


def elsewhere(folder: str) -> tuple[str, str] | None:
    """Return what kind of project a folder is that we cannot build, and the commands that build
    it."""
    for pattern, known in _ELSEWHERE.items():
        if glob.glob(os.path.join(glob.escape(folder), pattern)):
            return known
    return None
