"""Names and places as gdb writes them, and as a user says them. Pure."""

from __future__ import annotations

import os
from collections.abc import Sequence

from freezeframe.backends.backend import RawFrame
from freezeframe.backends.console.reader import Fields
from freezeframe.backends.gdb.texts import tidy
from freezeframe.backends.native import is_dependency, plain_function, without_parameters
from freezeframe.backends.native_tests import is_framework

from .line import rows

#: where systems, distributions and toolchains keep what is not the user's own
_LIBRARY_PLACES = ("/usr/", "/lib/", "/lib64/", "/build/", "/rustc/", "/opt/rh/", "/nix/store/")
#: what stands around a program in its own file
_STARTERS = frozenset({"_start", "__libc_start_main", "__libc_start_call_main", "__libc_csu_init"})


def function_name(name: str) -> str:
    """Return a function's name without what a compiler adds to it, and without parameters."""
    return plain_function(without_parameters(name))


def frame(body: Fields, id: int, arguments: str | None, debug: bool) -> RawFrame:
    """Return one frame of a stack listing. *debug*: the program itself has debug information."""
    path = place(body)
    line = body.get("line")
    module = body.get("from")
    address = body.get("addr")
    return RawFrame(
        id,
        function_name(str(body.get("func") or "??")),
        path,
        int(line) if line is not None and path is not None else None,
        None,
        os.path.basename(module) if module else None,
        f"{int(address, 0):#x}" if address and address.startswith("0x") else None,
        is_library(path, module, str(body.get("func", "")), debug),
        arguments=arguments,
    )


def arguments(body: Fields, rust: bool) -> str | None:
    """Return `n=3, name="x"` of one frame in a listing of arguments; structs are left out."""
    told = [
        f"{each['name']}={_short(str(each['value']), rust)}"
        for each in rows(body.get("args"))
        # What it was at the call (`n@entry`) is said only where it is all that is known.
        if "value" in each and not str(each["name"]).endswith("@entry")
    ]
    return ", ".join(told) or None


def _short(value: str, rust: bool) -> str:
    return "?" if value.startswith("<error") else tidy(value, rust=rust)


def place(body: Fields) -> str | None:
    """Return the path of a frame's or breakpoint's source; None where gdb knows none."""
    file, found = body.get("file"), body.get("fullname")
    path = found if found and (not file or _is_that(found, file)) else file
    return os.path.normpath(path) if path else None


def _is_that(found: str, file: str) -> bool:
    """Whether a file is the one that the compiler named.

    gdb takes any file in the current folder that is called the same: the C library's `assert.c`
    is not the user's.
    """
    if os.path.isabs(file):
        return not file.startswith(_LIBRARY_PLACES)
    named = os.path.normpath(file).split(os.sep)
    while named[0] == os.pardir:
        del named[0]
    return os.path.isabs(found) and os.path.normpath(found).split(os.sep)[-len(named) :] == named


def is_library(path: str | None, module: str | None, function: str, debug: bool = False) -> bool:
    """Whether a frame is not of the user's own code."""
    if function in _STARTERS:
        return True
    if path is None:
        # A program without debug information is still the user's; a library without is not, nor
        # is what was linked to a program that has it.
        return module is not None or debug or is_framework(function)
    if not os.path.isabs(path):
        return True
    return path.startswith(_LIBRARY_PLACES) or is_dependency(path)


def rust_functions(name: str, files: Sequence[Fields]) -> list[str]:
    """Return the whole paths of the user's functions that are meant by *name*.

    `shift` and `Point::shift` mean `shop::Point::shift`, `first` means each `shop::first<T>`.
    """
    found = []
    for file in files:
        if is_library(place(file), None, ""):
            continue
        for each in rows(file.get("symbols")):
            path = str(each.get("name", ""))
            plain = _without_types(path)
            if plain == name or plain.endswith(f"::{name}"):
                found.append(path)
    # The outermost of several is what a name without a path means: `main` is the crate's.
    if "::" not in name and name == "main":
        found = sorted(found, key=lambda path: path.count("::"))[:1]
    return found


def _without_types(path: str) -> str:
    """Return `shop::first` for `shop::first<i32>`."""
    return path[: path.index("<")] if path.endswith(">") and "<" in path else path
