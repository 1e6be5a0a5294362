"""The symbols of Rust functions that a user's name means.

Debug information names a method of an implementation `{impl#1}::area`, and a method of a generic
type by the type's parameters. The symbols have the names that users write.
"""

from __future__ import annotations

import re

from freezeframe import files
from freezeframe.backends import rust_v0_symbols
from freezeframe.backends.native import plain_function
from freezeframe.model import late_regex

_HASH = rb"17h[0-9a-f]{16}E"
_COMPONENT = late_regex.compile(r"(\d{1,4})")
_IMPLEMENTS = late_regex.compile(r"<(?P<type>.+) as (?P<trait>.+)>")
#: Bytes of a symbol before the name of its function that are searched.
_LONGEST = 600


def matching(path: str | None, name: str) -> list[str]:
    """Return the symbols of a program that `Owner::function` means.

    The owner is a type, a trait, a module, or `<Type as Trait>`, each with or without its path and
    its type parameters.
    """
    *owners, last = _split(name)
    if not owners or path is None:
        return []
    owner, function = "::".join(owners), _without_types(last)
    word = function.encode()
    parts = (_LONGEST, len(word), re.escape(word))
    legacy = rb"_ZN[\w.$]{1,%d}?%d%s%s" % (*parts, _HASH)
    v0 = rb"_R\w{1,%d}?%d_?%s[\w.$]{0,%d}" % (*parts, _LONGEST)
    found = set()
    try:
        with files.mapped(path) as view:
            for each in re.finditer(legacy + rb"|" + v0, view):
                symbol = each[0].decode("ascii", "replace")
                components = _components(symbol)
                if components[-1:] == [function] and _is_owned(components, owner):
                    found.add(symbol)
    except (OSError, ValueError):
        return []
    return sorted(found)


def readable(symbol: str) -> str | None:
    """Return a function's name as a user writes it: `<shop::Circle as shop::Shape>::area`."""
    return "::".join(_components(symbol)) or None


def _components(symbol: str) -> list[str]:
    """Return the path of a symbol without its hash; empty if it is not one of rustc's."""
    if symbol.startswith("_R"):
        return rust_v0_symbols.components(symbol)
    at, found = len("_ZN"), []
    while (length := _COMPONENT.match(symbol, at)) is not None:
        at = length.end() + int(length[1])
        found.append(plain_function(symbol[length.end() : at]))
    return found[:-1] if symbol[at:] == "E" else []


def _is_owned(path: list[str], owner: str) -> bool:
    """Whether the last component of a path is a function of *owner*."""
    if len(path) < 2:
        return False
    implements = _IMPLEMENTS.fullmatch(path[-2])
    if implements is None:
        return _means(owner, "::".join(path[:-1]))
    requested = _IMPLEMENTS.fullmatch(owner)
    kinds = ("type", "trait")
    if requested is not None:
        return all(_means(requested[kind], implements[kind]) for kind in kinds)
    return any(_means(owner, implements[kind]) for kind in kinds)


def _means(name: str, path: str) -> bool:
    name, path = _without_types(name), _without_types(path)
    return path == name or path.endswith(f"::{name}")


def _without_types(path: str) -> str:
    """Return a path without type parameters: `shop::Stack` for `shop::Stack<T>`."""
    if path.startswith("<") and " as " not in path:
        path = path[1:-1]
    shown, depth = "", 0
    for character in path:
        depth += character == "<"
        shown += "" if depth else character
        depth -= character == ">"
    return shown.replace("::::", "::").removesuffix("::")


def _split(name: str) -> list[str]:
    """Return the components of a path; `::` within angle brackets separates none."""
    parts, depth = [""], 0
    for piece in re.split(r"(::|[<>])", name):
        depth += {"<": 1, ">": -1}.get(piece, 0)
        if piece == "::" and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return parts
