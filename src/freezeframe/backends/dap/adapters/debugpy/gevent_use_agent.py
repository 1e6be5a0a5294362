"""Finds out whether a program will make gevent patch the standard library; runs in the debuggee.

Loaded by `bootstrap_agent.py` before debugpy, under its rules. pydevd keeps unpatched copies of
`threading` and other modules only if `GEVENT_SUPPORT` is set before it is imported, and such copies
know nothing of the threads of other programs. So this agent reads the sources that the program
imports, if gevent is installed at all; it imports none of them.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

#: maximum number of files that are read, and of bytes of each
_MOST, _LONGEST = 60, 200_000
_IMPORT = re.compile(r"^(?: {4}|\t)?(?:from|import)[ \t]+([A-Za-z_][\w.]*)", re.M)
_GEVENT = re.compile(r"^[ \t]*(?:from|import)[ \t]+gevent\b", re.M)
_STDLIB = frozenset(getattr(sys, "stdlib_module_names", ())) | {"gevent", "greenlet"}


def is_used(args: list[str]) -> bool:
    """Return whether the program of a command line uses gevent.monkey, judging by its sources."""
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is not None:
        return bool(vars(monkey).get("saved"))
    if not any(os.path.isdir(os.path.join(each or ".", "gevent")) for each in sys.path):
        return False
    # The worker class of gunicorn, the pool of celery.
    if any(arg.split("=")[-1].startswith("gevent") for arg in args[1:]):
        return True
    return _sources_import_gevent(args)


def _sources_import_gevent(args: list[str]) -> bool:
    path = [os.getcwd(), *sys.path]
    waiting: list[str] = []
    for before, arg in ((args[at - 1], args[at]) for at in range(1, len(args))):
        if before == "-c" and _imports_gevent(arg):
            return True
        if before in ("-m", "--module", "--file") and not os.path.exists(arg):
            waiting += _files(arg, path)
        elif os.path.isfile(arg):
            path.insert(0, os.path.dirname(os.path.abspath(arg)))
            waiting.append(arg)
            break  # the rest are the program's own arguments
    seen: set[str] = set()
    while waiting and len(seen) < _MOST:
        file = waiting.pop(0)
        if file in seen:
            continue
        seen.add(file)
        text = _text(file)
        if _imports_gevent(text):
            return True
        for found in dict.fromkeys(_IMPORT.findall(text)):
            if found.split(".")[0] not in _STDLIB:
                waiting += _files(found, path)
    return False


def _imports_gevent(text: str) -> bool:
    return "monkey" in text and _GEVENT.search(text) is not None


def _text(file: str) -> str:
    try:
        with open(file, "rb") as source:
            return source.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _files(module: str, path: list[str]) -> Iterator[str]:
    """Yield the sources of a module and of the packages that contain it, without importing them."""
    parts = module.split(".")
    for directory in path:
        base = os.path.join(directory, parts[0])
        if os.path.isdir(base) or os.path.isfile(base + ".py"):
            break
    else:
        return
    for end in range(1, len(parts) + 1):
        base_path = os.path.join(directory, *parts[:end])
        for file in (os.path.join(base_path, "__init__.py"), base_path + ".py"):
            if os.path.isfile(file):
                yield file
                break
    main = os.path.join(directory, *parts, "__main__.py")
    if os.path.isfile(main):
        yield main
