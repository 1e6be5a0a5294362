"""Programs that have to be compiled: once for all tests, and then as if each test had done it."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from .client import REPOSITORY

#: replaces the folder of the source in the debug information until a program is used
_FOLDER = "/" + "folder-of-the-source/" * 10 + "here"
#: elsewhere debug information is not in the program, or the program is signed
_CAN_MOVE = sys.platform == "linux"
_CACHE = REPOSITORY / ".cache" / "programs"
#: `sh check.sh` installs them there
TYPESCRIPT_MODULES = REPOSITORY / ".cache" / "typescript" / "node_modules"


@dataclass(frozen=True)
class Language:
    """A language whose programs are compiled."""

    name: str
    suffix: str
    #: names of its compiler, the first that is there is taken
    compilers: tuple[str, ...]
    flags: tuple[str, ...]
    #: the option that writes another folder into the debug information; none: it cannot be moved
    remap: str | None
    install: str
    #: the option that names the result
    output: str = "-o"
    #: what the name of the result ends with
    made: str = ""
    #: the compiler writes a folder of classes that name no folder; they are packed into one file
    packed: bool = False

    @property
    def compiler(self) -> str | None:
        return next(filter(None, map(shutil.which, self.compilers)), None)


_UNOPTIMISED = ("-g", "-O0", "-pthread", "-Wall")
C = Language(
    "C", ".c", ("gcc", "clang", "cc"), _UNOPTIMISED, "-fdebug-prefix-map=", "apt-get install gcc"
)
CPP = Language(
    "C++",
    ".cpp",
    ("g++", "clang++", "c++"),
    _UNOPTIMISED,
    "-fdebug-prefix-map=",
    "apt-get install g++",
)
RUST = Language("Rust", ".rs", ("rustc",), ("-g",), "--remap-path-prefix=", "apt-get install rustc")
GO = Language(
    "Go", ".go", ("go",), ("build", "-gcflags=all=-N -l"), None, "apt-get install golang-go"
)
TYPESCRIPT = Language(
    "TypeScript",
    ".ts",
    (str(TYPESCRIPT_MODULES / ".bin" / "esbuild"),),
    ("--sourcemap", "--format=cjs", "--platform=node", "--log-level=error"),
    None,
    "sh check.sh, which fetches it with npm",
    "--outfile=",
    ".js",
)
JAVA = Language(
    "Java",
    ".java",
    ("javac",),
    ("-g",),
    None,
    "apt-get install openjdk-17-jdk-headless",
    "-d",
    ".jar",
    packed=True,
)
LANGUAGES = (C, CPP, RUST, GO, TYPESCRIPT, JAVA)


def language_of(source: Path) -> Language:
    return next(language for language in LANGUAGES if language.suffix == source.suffix)


def build(source: Path, target: Path, *flags: str) -> Path:
    """Compile *source* to *target* as a user in the source's folder would. Returns *target*.

    Flags come after the language's own, so the last word is theirs. The work is done once for each
    text and set of flags.
    """
    language = language_of(source)
    words = [str(language.compiler), *language.flags, source.name, *flags]
    if language.packed:
        shutil.copy(_packed(source, words), target)
        return target
    if language.remap is None:
        # Go's strings have the whole path in one piece; its own cache makes it quick.
        first = [str(language.compiler), *language.flags, *flags]
        joined = language.output.endswith("=")
        output = [language.output + str(target)] if joined else [language.output, str(target)]
        _compile([*first, *output, source.name], source.parent)
        return target
    if not _CAN_MOVE:
        _compile([*words, "-o", str(target)], source.parent)
        return target
    cached = _CACHE / _key(source, tuple(words))
    if not cached.exists():
        cached.parent.mkdir(parents=True, exist_ok=True)
        # Two workers may be here at the same time: each compiles on its own, the last one stays.
        with tempfile.TemporaryDirectory(dir=cached.parent) as folder:
            shutil.copy(source, folder)
            _compile([*words, f"{language.remap}{folder}={_FOLDER}", "-o", "made"], Path(folder))
            os.replace(Path(folder) / "made", cached)
    target.write_bytes(_moved(cached.read_bytes(), source.parent))
    target.chmod(0o755)
    return target


def _packed(source: Path, words: list[str]) -> Path:
    """Return a file of classes, whose main one is called as its source, with a capital."""
    cached = _CACHE / f"{_key(source, tuple(words))}.jar"
    if not cached.exists():
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached.parent) as folder:
            shutil.copy(source, folder)
            _compile([*words, "-d", "classes"], Path(folder))
            with zipfile.ZipFile(Path(folder) / "made", "w") as made:
                main = f"Main-Class: {source.stem.capitalize()}\n"
                made.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\n{main}")
                for file in sorted((Path(folder) / "classes").rglob("*.class")):
                    made.write(file, file.relative_to(Path(folder) / "classes"))
            os.replace(Path(folder) / "made", cached)
    return cached


def _moved(program: bytes, folder: Path) -> bytes:
    """Return a program whose debug information says that it was compiled in *folder*."""
    there = _FOLDER.encode()
    here = os.fsencode(folder)
    assert len(here) <= len(there), f"{folder} is too long a path"
    return program.replace(there, here.ljust(len(there), b"\0"))


def _key(source: Path, words: tuple[str, ...]) -> str:
    stamp = os.stat(words[0]).st_mtime_ns
    text = "\0".join((*words, str(stamp), source.read_text()))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _compile(words: list[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"


@functools.cache
def missing(language: Language) -> str | None:
    """Return why programs of the language cannot be compiled here."""
    if language.compiler:
        return None
    return f"there is no compiler for {language.name}: {language.install}"
