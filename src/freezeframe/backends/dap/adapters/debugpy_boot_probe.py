"""Starts debugpy's server in the interpreter that will run the program; a script, never imported.

    PYTHON … debugpy_boot_probe.py DEBUGPY_PACKAGE CACHE [debugpy's own arguments]

It does what `python DEBUGPY_PACKAGE` does, without what makes that slow: reading the metadata of
every installed package twice, a pause of 100 ms, importing HTTP and XML for a console that nobody
opens, and compiling debugpy's 120 files anew in an interpreter whose bytecode nobody kept (CACHE is
a directory of ours for it, or empty). Works in every Python from 3.8 on and needs nothing of this
package.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: what debugpy 1.8 imports and, spoken to over DAP, never calls; with the names that it looks for
_UNUSED: dict[str, tuple[str, ...]] = {
    "http": (),
    "http.server": ("BaseHTTPRequestHandler",),
    "importlib.metadata": (),
    "xmlrpc": (),
    "xmlrpc.client": ("ServerProxy", "Marshaller", "Server"),
    "xmlrpc.server": ("SimpleXMLRPCServer",),
}


def main() -> None:
    package, cache = sys.argv[1:3]
    del sys.argv[1:3]
    # The directory of this script is no part of the program's path.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    cli = _load(package, cache)
    for hurry in (_skip_descriptions, _skip_pause, _hide_this_file):
        try:
            hurry()
        except Exception:
            # Slower, or with one frame more at the bottom of the stack; nothing worse.
            pass
    cli.main()


def _load(package: str, cache: str) -> Any:
    restore = _keep_bytecode(package, cache) if cache else None
    stand_ins = _stand_in()
    parent = os.path.dirname(package)
    sys.path.insert(0, parent)
    try:
        # The package first: it prepares the way for pydevd.
        importlib.import_module("debugpy")
        return importlib.import_module("debugpy.server.cli")
    finally:
        sys.path.remove(parent)
        # The program's own imports of these get the real ones.
        for name in stand_ins:
            sys.modules.pop(name, None)
        if restore is not None:
            restore()


def _stand_in() -> list[str]:
    """Put empty modules in the place of those that would be imported in vain; return their names.

    A third of debugpy's start goes into them.
    """
    made = []
    for name, attributes in _UNUSED.items():
        if name not in sys.modules:
            module: Any = type(sys)(name)
            module.__dict__.update(dict.fromkeys(attributes, object))
            sys.modules[name] = module
            made.append(name)
    return made


def _keep_bytecode(package: str, cache: str) -> Callable[[], None] | None:
    """Keep the bytecode of *package*, and of nothing else, below *cache*; return how to stop that.

    Does nothing when there is bytecode beside the sources already.
    """
    external: Any = sys.modules["_frozen_importlib_external"]
    place, store = external.cache_from_source, external.SourceFileLoader.set_data
    if os.path.exists(place(os.path.join(package, "__init__.py"))):
        return None
    inside = package + os.sep
    ours = os.path.join(cache, sys.implementation.cache_tag or "python")
    unwilling = sys.dont_write_bytecode

    def cache_from_source(path: Any, *arguments: Any, **named: Any) -> Any:
        if str(path).startswith(inside):
            return os.path.join(ours, str(path)[len(inside) :] + "c")
        return place(path, *arguments, **named)

    def set_data(self: Any, path: Any, data: Any, **named: Any) -> Any:
        if unwilling and not str(path).startswith(ours):
            return None
        return store(self, path, data, **named)

    def restore() -> None:
        external.cache_from_source = place
        external.SourceFileLoader.set_data = store
        sys.dont_write_bytecode = unwilling

    external.cache_from_source = cache_from_source
    external.SourceFileLoader.set_data = set_data
    sys.dont_write_bytecode = False
    return restore


def _skip_descriptions() -> None:
    log: Any = sys.modules["debugpy.common.log"]
    log.describe_environment = lambda *_: None


def _skip_pause() -> None:
    pydevd: Any = sys.modules["pydevd"]
    connect = pydevd.PyDB.initialize_network

    class Impatient:
        def __init__(self, time: Any) -> None:
            self._time = time

        def __getattr__(self, name: str) -> Any:
            return getattr(self._time, name)

        def sleep(self, _seconds: float) -> None:
            # pydevd's threads have been started; what they are asked is queued.
            return

    def initialize_network(self: Any, *arguments: Any, **named: Any) -> Any:
        time = pydevd.time
        pydevd.time = Impatient(time)
        try:
            return connect(self, *arguments, **named)
        finally:
            pydevd.time = time

    pydevd.PyDB.initialize_network = initialize_network


def _hide_this_file() -> None:
    api: Any = sys.modules["debugpy.server.api"]
    settrace = api._settrace
    hidden = os.path.abspath(__file__)

    def _settrace(*arguments: Any, **named: Any) -> Any:
        patterns = named.get("dont_trace_start_patterns")
        if patterns is not None:
            named["dont_trace_start_patterns"] = (*patterns, hidden)
        return settrace(*arguments, **named)

    api._settrace = _settrace


if __name__ == "__main__":
    main()
