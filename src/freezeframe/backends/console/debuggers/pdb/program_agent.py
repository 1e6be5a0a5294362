"""Prepare the debugged program as Python itself would; runs inside the debuggee."""

from __future__ import annotations

import atexit
import io
import os
import runpy
import sys
import threading
import types
from typing import Any


def prepare(kind: str, name: str, args: list[str]) -> tuple[Any, types.ModuleType]:
    """Make this process what `python NAME` or `python -m NAME` would be, up to its first line."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __annotations__={}, __cached__=None)
    if kind == "module" or os.path.isdir(name):
        is_directory = kind != "module"
        sys.path.insert(0, os.path.abspath(name) if is_directory else os.getcwd())
        sys.argv = ["-m", *args]
        module_name = "__main__" if is_directory else name
        del sys.modules["__main__"]  # the agent, which is not the requested module
        _, spec, code = runpy._get_module_details(module_name)  # type: ignore[attr-defined]
        sys.argv = [name if is_directory else code.co_filename, *args]
        main.__spec__, main.__loader__ = spec, spec.loader
        main.__package__ = spec.parent
        main.__file__ = code.co_filename
    else:
        sys.argv, name = [name, *args], os.path.abspath(name)
        sys.path.insert(0, os.path.dirname(os.path.realpath(name)))
        main.__file__ = name
        with io.open_code(name) as source:
            code = compile(source.read(), name, "exec", dont_inherit=True)
    sys.modules["__main__"] = main
    return code, main


def trace_exit_functions(debugger: Any, set_trace: Any) -> None:
    """Trace what the program registers with `atexit`; call it before the program.

    The function that was registered last runs first.
    """

    def end() -> None:
        # The debugger keeps frames, and so what the program would delete now.
        set_trace(None)
        debugger.reset()
        debugger.curframe_locals = None

    atexit.register(end)
    threading._register_atexit(  # type: ignore[attr-defined]
        lambda: atexit.register(set_trace, debugger.trace_dispatch)
    )
