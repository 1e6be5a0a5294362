"""Find the debuggers in a package (one module each) and those of other distributions.

`catalogue.py` has the built-in ones as a table.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from freezeframe import files

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger(__name__)

T = TypeVar("T")


#: Entry point groups of distributions that provide debuggers.
ADAPTERS, CONSOLES = "freezeframe.adapters", "freezeframe.consoles"


def modules(package: str, path: Iterable[str]) -> list[str]:
    """Return the modules of *package* that may hold a debugger.

    A file `…agent.py` is not imported by us: it runs inside a program or a debugger. A name that
    begins with `_` is a shared module.
    """
    names = [module.name for module in pkgutil.iter_modules(path)]
    return [
        f"{package}.{name}"
        for name in names
        if not name.startswith("_") and not name.endswith("agent")
    ]


def discover(
    package: str,
    path: Iterable[str],
    *,
    attribute: str,
    kind: type[T],
    group: str,
    name: Callable[[T], str],
) -> dict[str, T]:
    """Return the *attribute* of every module of *package*, by name. Imports all of them.

    Entry points of *group* in installed distributions are added; ours take precedence.
    """
    found: dict[str, T] = {}
    for module in modules(package, path):
        each = getattr(importlib.import_module(module), attribute, None)
        if isinstance(each, kind):
            found[name(each)] = each
    return offered(group, kind=kind, name=name) | found


def offered(group: str, *, kind: type[T], name: Callable[[T], str]) -> dict[str, T]:
    """Return the entry points of *group* in installed distributions, by name."""
    found: dict[str, T] = {}
    for entry in _entries(group):
        try:
            each = entry.load()
        except Exception as error:  # a broken distribution must not disable our debuggers
            log.warning(
                "the debugger %s of %s cannot be loaded: %r", entry.name, entry.value, error
            )
            continue
        if isinstance(each, kind):
            found.setdefault(name(each), each)
    return found


def is_offered(group: str) -> bool:
    """Whether an installed distribution has entry points of *group*."""
    return bool(_entries(group))


def _entries(group: str) -> Collection[EntryPoint]:
    """Return the entry points of *group* in installed distributions.

    Reads the metadata files first: importing `importlib.metadata` costs the first start 15 ms.
    """
    section = f"[{group}]".encode()
    for directory in map(Path, sys.path):
        for file in directory.glob("*-info/entry_points.txt"):
            try:
                found = section in files.read_bytes(file)
            except OSError:
                continue
            if found:
                from importlib.metadata import entry_points

                return entry_points(group=group)
    return ()
