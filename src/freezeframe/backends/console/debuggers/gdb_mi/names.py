"""Names and places as gdb writes them, and as a user says them. Pure."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Sequence

from freezeframe.backends.backend import RawFrame
from freezeframe.backends.console.reader import Fields

#: where systems, distributions and toolchains keep what is not the user's own
_LIBRARY_PLACES = ("/usr/", "/lib/", "/lib64/", "/build/", "/rustc/", "/opt/rh/", "/nix/store/")
#: what stands around a program in its own file
_STARTERS = frozenset({"_start", "__libc_start_main", "__libc_start_call_main", "__libc_csu_init"})
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
_RUST_MARKS = (b"gdb_load_rust_pretty_printers.py", b"rust_eh_personality", b"rust_panic")


def function_name(name: str) -> str:
    """Return a function's name without what a compiler adds to it."""
    return _RUST_HASH.sub("", name)


def frame(body: Fields, id: int) -> RawFrame:
    """Return one frame of a stack listing or of a stop."""
    path = place(body)
    line = body.get("line")
    module = body.get("from")
    return RawFrame(
        id,
        function_name(str(body.get("func") or "??")),
        path,
        int(line) if line is not None and path is not None else None,
        None,
        os.path.basename(module) if module else None,
        body.get("addr"),
        is_library(path, module, str(body.get("func", ""))),
    )


def place(body: Fields) -> str | None:
    """Return the path of a frame's or breakpoint's source; None where gdb knows none."""
    path = body.get("fullname") or body.get("file")
    return os.path.normpath(path) if path else None


def is_library(path: str | None, module: str | None, function: str) -> bool:
    """Whether a frame is not of the user's own code."""
    if function in _STARTERS:
        return True
    if path is None:
        # A program without debug information is still the user's; a library without is not.
        return module is not None
    if not os.path.isabs(path):
        return True
    if "/.cargo/registry/" in path or "/rustlib/src/" in path:
        return True
    return path.startswith(_LIBRARY_PLACES)


def is_elf(program: str) -> bool:
    return _begins(program, (b"\x7fELF",))


def is_native(program: str) -> bool:
    """Whether a file is machine code: ELF or Mach-O."""
    return _begins(
        program,
        (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"),
    )


def _begins(program: str, magics: Sequence[bytes]) -> bool:
    try:
        with open(program, "rb") as file:
            return file.read(4) in magics
    except OSError:
        return False


def is_rust(program: str) -> bool:
    """Whether a program was made by rustc, by names that stand in its file."""
    try:
        with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as m:
            return any(m.find(mark) >= 0 for mark in _RUST_MARKS)
    except (OSError, ValueError):
        return False
