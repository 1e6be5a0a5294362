"""Places as keys that stay the same from run to run. Pure."""

from __future__ import annotations

import os
import re

#: what compilers and runtimes put into a function's name that differs from build to build
_HASH = re.compile(r"::h[0-9a-f]{16}\b|\.llvm\.\d+|\.(?:isra|part|constprop|cold|lto_priv)\.\d+")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_TAIL = re.compile(r"(?:\s*\[clone[^\]]*\])+$")


def relative(path: str | None, root: str) -> str | None:
    """Return a path as a key: relative to the workspace where it lies below it."""
    if path is None:
        return None
    base = root.rstrip(os.sep) + os.sep
    return path[len(base) :] if path.startswith(base) else path


def absolute(file: str | None, root: str) -> str | None:
    return None if file is None else os.path.join(root, file)


def function_key(name: str) -> str:
    """Return a function's name without hashes, addresses and parameters: `shop::add(int)` is
    `shop::add`, whoever compiled it."""
    name = _ADDRESS.sub("0x", _HASH.sub("", _TAIL.sub("", name)))
    depth = 0
    for index, sign in enumerate(name):
        if sign in "<[":
            depth += 1
        elif sign in ">]":
            depth -= 1
        elif sign == "(" and not depth and index and not name.startswith("(", index - 1):
            rest = name[index:]
            # `(anonymous namespace)::f(int)` and Go's `main.(*T).Add` begin with a bracket.
            if rest.startswith(("(anonymous", "(*")) or ")." in rest or ")::" in rest:
                continue
            return name[:index]
    return name


def bare(key: str) -> str:
    """Return the last word of a function's key: `shop::Cart::add` is `add`."""
    return re.split(r"::|\.|/|#", re.sub(r"<[^<>]*>$", "", key))[-1]


def place(file: str | None, line: int | None, function: str = "") -> str:
    """Return `file:line`; the function where there is no file."""
    return f"{file}:{line}" if file is not None and line is not None else function or "?"
