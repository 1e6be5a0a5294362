"""Finding the debuggers of a room: one file each, and those of other packages."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from freezeframe import files

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger(__name__)

T = TypeVar("T")


def discover(
    package: str,
    path: Iterable[str],
    *,
    attribute: str,
    kind: type[T],
    group: str,
    name: Callable[[T], str],
) -> dict[str, T]:
    """Return what every module of *package* holds under *attribute*, by name: ours first, then
    what installed packages offer as entry points of *group*.

    A file `…_probe.py` is no module of ours: it is text that runs inside a program.
    """
    found: dict[str, T] = {}
    for module in pkgutil.iter_modules(path):
        if module.name.endswith("_probe"):
            continue
        loaded = importlib.import_module(f"{package}.{module.name}")
        each = getattr(loaded, attribute, None)
        if isinstance(each, kind):
            found[name(each)] = each
    for entry in _offered(group):
        try:
            each = entry.load()
        except Exception as error:  # someone else's package must not cost us our own debuggers
            log.warning(
                "the debugger %s of %s cannot be loaded: %r", entry.name, entry.value, error
            )
            continue
        if isinstance(each, kind):
            found.setdefault(name(each), each)
    return found


def _offered(group: str) -> Iterable[EntryPoint]:
    """Return the entry points of installed packages in *group*.

    Their files are looked at first: the first start would else wait 15 ms for `importlib.metadata`.
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
