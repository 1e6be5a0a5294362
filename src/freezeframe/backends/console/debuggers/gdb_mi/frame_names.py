"""Convert function names, source paths and frames from gdb's notation to ours. Pure."""

from __future__ import annotations

import os
from collections.abc import Sequence

from freezeframe.backends.backend import RawFrame
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields
from freezeframe.backends.gdb.value_text import tidy
from freezeframe.backends.native import is_dependency, plain_function, without_parameters
from freezeframe.backends.native_tests import is_framework

from .mi_channel import rows

#: where systems, distributions and toolchains keep code that is not the user's
_LIBRARY_DIRS = ("/usr/", "/lib/", "/lib64/", "/build/", "/rustc/", "/opt/rh/", "/nix/store/")
#: functions in the program's own file that call `main`
_ENTRY_FUNCTIONS = frozenset(
    {"_start", "__libc_start_main", "__libc_start_call_main", "__libc_csu_init"}
)


def function_name(name: str) -> str:
    """Return a function's name without compiler suffixes and parameters."""
    return plain_function(without_parameters(name))


def frame(body: Fields, id: int, arguments: str | None, debug: bool) -> RawFrame:
    """Return one frame of a stack listing. *debug*: the program has debug information."""
    path = source_path(body)
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
    """Return `n=3, name="x"` for one frame of an argument listing; structs are left out."""
    shown = [
        f"{each['name']}={_short(str(each['value']), rust)}"
        for each in rows(body.get("args"))
        # `n@entry` is the value at the call.
        if "value" in each and not str(each["name"]).endswith("@entry")
    ]
    return ", ".join(shown) or None


def _short(value: str, rust: bool) -> str:
    return "?" if value.startswith("<error") else tidy(value, rust=rust)


def source_path(body: Fields) -> str | None:
    """Return the source path of a frame or breakpoint; None if gdb knows none."""
    file, found = body.get("file"), body.get("fullname")
    path = found if found and (not file or _is_named_file(found, file)) else file
    return os.path.normpath(path) if path else None


def _is_named_file(found: str, file: str) -> bool:
    """Whether a file is the one that the compiler named.

    gdb takes any file of the same name in the current folder: the C library's `assert.c` is not the
    user's.
    """
    if os.path.isabs(file):
        return not file.startswith(_LIBRARY_DIRS)
    named = os.path.normpath(file).split(os.sep)
    while named[0] == os.pardir:
        del named[0]
    return os.path.isabs(found) and os.path.normpath(found).split(os.sep)[-len(named) :] == named


def is_library(path: str | None, module: str | None, function: str, debug: bool = False) -> bool:
    """Whether a frame is not in the user's code."""
    if function in _ENTRY_FUNCTIONS:
        return True
    if path is None:
        # A program without debug information is still the user's. A library without it is not, nor
        # is code without it in a program that has some.
        return module is not None or debug or is_framework(function)
    if not os.path.isabs(path):
        return True
    return path.startswith(_LIBRARY_DIRS) or is_dependency(path)


def rust_functions(name: str, files: Sequence[Fields]) -> list[str]:
    """Return the full paths of the user's functions that *name* matches.

    `shift` and `Point::shift` match `shop::Point::shift`, `first` matches each `shop::first<T>`.
    """
    found = []
    for file in files:
        if is_library(source_path(file), None, ""):
            continue
        for each in rows(file.get("symbols")):
            path = str(each.get("name", ""))
            plain = _without_types(path)
            if plain == name or plain.endswith(f"::{name}"):
                found.append(path)
    # A name without a path means the outermost match: `main` is the crate's.
    if "::" not in name and name == "main":
        found = sorted(found, key=lambda path: path.count("::"))[:1]
    return found


def _without_types(path: str) -> str:
    """Return `shop::first` for `shop::first<i32>`."""
    return path[: path.index("<")] if path.endswith(">") and "<" in path else path
