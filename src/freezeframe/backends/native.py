"""What native programs have in common, whichever debugger looks at them. Looks at files only."""

from __future__ import annotations

import functools
import mmap
import os
import re
import struct

from freezeframe.backends.backend import Attach, Launch, Target
from freezeframe.backends.transport import processes
from freezeframe.errors import LaunchFailed
from freezeframe.model.stops import ExceptionInfo

_MAGIC = {
    b"\x7fELF": "elf",
    b"\xcf\xfa\xed\xfe": "mach-o",
    b"\xce\xfa\xed\xfe": "mach-o",
    b"\xca\xfe\xba\xbe": "mach-o",
    b"MZ": "pe",
}
#: Rust's suffix of a mangled name: `::h0123456789abcdef`
_HASH = re.compile(r"::h[0-9a-f]{16}$")
_PANIC = re.compile(
    r"thread '(?P<thread>[^']*)'(?: \(\d+\))? panicked at (?P<rest>.*?)"
    r"(?=\nstack backtrace:|\nnote: |\Z)",
    re.DOTALL,
)


def binary_kind(path: str) -> str | None:
    """Return `elf`, `mach-o` or `pe`; None for a file that is no binary."""
    try:
        with open(path, "rb") as file:
            head = file.read(4)
    except OSError:
        return None
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def is_rust(path: str) -> bool:
    """Whether a binary was made by rustc."""
    try:
        return _is_rust(path, os.stat(path).st_mtime_ns)
    except OSError:
        return False


@functools.lru_cache(maxsize=64)
def _is_rust(path: str, stamp: int) -> bool:
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return view.find(b"rust_panic") >= 0 or view.find(b"rustc version") >= 0
    except (OSError, ValueError):
        return False


def is_stripped(path: str) -> bool:
    """Whether an ELF program has no table of its own symbols, so that `main` has no name."""
    try:
        return _is_stripped(path, os.stat(path).st_mtime_ns)
    except OSError:
        return False


@functools.lru_cache(maxsize=64)
def _is_stripped(path: str, stamp: int) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:4] != b"\x7fELF" or head[4] != 2:
                return False
            order = "<" if head[5] == 1 else ">"
            offset, size, count = (
                struct.unpack_from(order + "Q", head, 40)[0],
                *struct.unpack_from(order + "HH", head, 58),
            )
            file.seek(offset)
            table = file.read(size * count)
    except (OSError, struct.error):
        return False
    kinds = [struct.unpack_from(order + "I", table, i + 4)[0] for i in range(0, len(table), size)]
    return _SYMTAB not in kinds


#: the type of the section that holds a program's own symbols
_SYMTAB = 2


#: source files, and what makes a program of them
_COMPILERS = {".c": "gcc -g {0} -o {1}", ".rs": "rustc -g {0}"} | dict.fromkeys(
    (".cc", ".cpp", ".cxx", ".C", ".c++"), "g++ -g {0} -o {1}"
)


def check_program(target: Launch) -> None:
    """Raise LaunchFailed for a file that cannot be run, with what would make it so."""
    name = os.path.basename(target.program)
    if binary_kind(target.program) is None:
        stem, suffix = os.path.splitext(name)
        how = _COMPILERS.get(suffix)
        what = f"{name} is source, not a program" if how else f"{name} is no binary"
        raise LaunchFailed(f"{what}.", next=how.format(name, stem) if how else "dbg adapters")
    if not os.access(target.program, os.X_OK):
        raise LaunchFailed(
            f"{name} may not be executed: permission denied.", next=f"chmod +x {name}"
        )


def explain_failure(target: Target, message: str) -> tuple[str, str | None] | None:
    """Return why a process could not be joined, where the system tells."""
    words = message.strip().rstrip(".")
    if not isinstance(target, Attach):
        return None
    if target.pid is None:
        return f"{target.host}:{target.port} could not be joined: {words}.", "dbg attach PID"
    why = processes.hindrance(target.pid)
    if why is None:
        return f"process {target.pid} could not be joined: {words}.", None
    return f"process {target.pid} could not be joined: {why[0]}.", why[1]


def rust_main(path: str | None) -> str:
    """Return the function where the user's program begins."""
    if path is None or not is_rust(path):
        return "main"
    try:
        return f"{_crate(path, os.stat(path).st_mtime_ns)}::main"
    except OSError:
        return "main"


#: `crate::main` as rustc's two ways of mangling have it
_MAINS = re.compile(rb"_ZN\d{1,3}(\w+?)4main17h[0-9a-f]{16}E|_RNvCs\w+?_\d{1,3}_?(\w+?)4main\b")


@functools.lru_cache(maxsize=64)
def _crate(path: str, stamp: int) -> str:
    """Return the crate that a program's main is in: its symbols tell, else the file's name."""
    named = re.sub(r"-[0-9a-f]{16}$", "", os.path.basename(path)).replace("-", "_")
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            found = {
                (match[1] or match[2]).decode("ascii", "replace") for match in _MAINS.finditer(view)
            }
    except (OSError, ValueError):
        return named
    return named if named in found or not found else sorted(found)[0]


#: how rustc spells what is not allowed in a name
_ESCAPES = {
    "$LT$": "<",
    "$GT$": ">",
    "$C$": ",",
    "$RF$": "&",
    "$BP$": "*",
    "$LP$": "(",
    "$RP$": ")",
    "$SP$": "@",
}
_UNICODE = re.compile(r"\$u([0-9a-f]{1,6})\$")


def plain_function(name: str) -> str:
    """Return a function's name without the hash that rustc adds and without its escapes."""
    name = _HASH.sub("", name)
    if "$" not in name:
        return name
    for escape, character in _ESCAPES.items():
        name = name.replace(escape, character)
    name = _UNICODE.sub(lambda match: chr(int(match[1], 16)), name)
    return name.removeprefix("_").replace("..", "::") if "<" in name else name


def panic_info(words: str) -> ExceptionInfo:
    """Return a panic from what the program wrote about it before it stopped."""
    matches = list(_PANIC.finditer(words))
    if not matches:
        return ExceptionInfo("panic", "")
    rest = matches[-1]["rest"].strip()
    place, newline, message = rest.partition("\n")
    if not newline:
        # Before Rust 1.73 the message stood first, in quotes.
        message, _, place = rest.rpartition(", ")
        message = message.strip("'")
    return ExceptionInfo("panic", message.strip() or place.rstrip(":"))
