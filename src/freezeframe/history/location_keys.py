"""Locations as keys that are the same in every run. Pure."""

from __future__ import annotations

import os
import re

from freezeframe.model import late_regex

#: parts of a function's name that compilers and runtimes change from build to build
_HASH = late_regex.compile(
    r"::h[0-9a-f]{16}\b|\.llvm\.\d+|\.(?:isra|part|constprop|cold|lto_priv)\.\d+"
)
_ADDRESS = late_regex.compile(r"\b0x[0-9a-fA-F]+\b")
_TAIL = late_regex.compile(r"(?:\s*\[clone[^\]]*\])+$")


def relative(path: str | None, root: str) -> str | None:
    """Return a path as a key: relative if it is below the workspace."""
    if path is None:
        return None
    base = root.rstrip(os.sep) + os.sep
    return path[len(base) :] if path.startswith(base) else path


def absolute(file: str | None, root: str) -> str | None:
    return None if file is None else os.path.join(root, file)


def function_key(name: str) -> str:
    """Return a function's name without hashes, addresses and parameters: `shop::add(int)` is
    `shop::add`, whatever the compiler."""
    name = _ADDRESS.sub("0x", _HASH.sub("", _TAIL.sub("", name)))
    depth = 0
    for index, char in enumerate(name):
        if char in "<[":
            depth += 1
        elif char in ">]":
            depth -= 1
        elif char == "(" and not depth and index and not name.startswith("(", index - 1):
            rest = name[index:]
            # `(anonymous namespace)::f(int)` and Go's `main.(*T).Add` begin with a bracket.
            if rest.startswith(("(anonymous", "(*")) or ")." in rest or ")::" in rest:
                continue
            return name[:index]
    return name


def bare(key: str) -> str:
    """Return the last component of a function's key: `shop::Cart::add` is `add`."""
    return re.split(r"::|\.|/|#", re.sub(r"<[^<>]*>$", "", key))[-1]


def format_location(file: str | None, line: int | None, function: str = "") -> str:
    """Return `file:line`, or the function if there is no file."""
    return f"{file}:{line}" if file is not None and line is not None else function or "?"
