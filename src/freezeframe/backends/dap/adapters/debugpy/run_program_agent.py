"""Runs a program as Python runs it, where debugpy would not; loaded by `bootstrap_agent.py`.

debugpy's `runpy.run_path` changes `__package__`, `__annotations__`, `sys.path[0]`, the name of the
first thread, and a variable in the environment. Same rules as there.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


def install(cli: Any) -> None:
    """Give the program what it has without a debugger: its names, path and threads."""
    begin, runpy = cli.start_debugging, cli.runpy
    variable = "DEBUGPY_RUNNING"

    def start_debugging(argv_0: str) -> None:
        was_set = variable in os.environ
        begin(argv_0)
        if not was_set:
            os.environ.pop(variable, None)
        if sys.path[0] == "" and cli.options.target_kind == "module":
            sys.path[0] = os.getcwd()
        threading: Any = sys.modules["threading"]
        if hasattr(threading, "_counter"):
            # pydevd's threads have taken the first numbers.
            threading._counter = importlib.import_module("itertools").count(1).__next__

    class Runner:
        def __getattr__(self, name: str) -> Any:
            return getattr(runpy, name)

        def _run_module_as_main(self, *arguments: Any, **named: Any) -> Any:
            _uncount_calls(sys._getframe())
            return runpy._run_module_as_main(*arguments, **named)

        def run_path(self, path: str, run_name: str) -> Any:
            if os.path.isfile(path) and not _skips_path():
                del sys.path[0]  # debugpy's: the directory of a relative path is empty
            if _is_package(path):
                sys.path.insert(0, os.path.abspath(path))
                return self._run_module_as_main("__main__", False)
            if not _skips_path():
                sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
            return _run_file(runpy, os.path.abspath(path))

    cli.start_debugging, cli.runpy = start_debugging, Runner()
    enter_libraries()


def enter_libraries() -> None:
    """Let a stop at the first line be in a library, such as that of `-m pytest`: pydevd would stop
    at the first line of the user's files, which may never run."""
    api: Any = importlib.import_module("_pydevd_bundle.pydevd_api").PyDevdAPI
    begin = api.stop_on_entry

    def stop_on_entry(self: Any) -> None:
        debugger: Any = sys.modules["pydevd"].get_global_debugger()
        filters = debugger.apply_files_filter

        def apply_files_filter(frame: Any, filename: Any, is_step: Any) -> Any:
            if is_step and _is_first(frame):
                return False
            # A child may connect while its interpreter starts, in a file of ours.
            return filename.startswith(_HERE) or filters(frame, filename, is_step)

        debugger.apply_files_filter = apply_files_filter
        begin(self)

    api.stop_on_entry = stop_on_entry


def _is_first(frame: Any) -> bool:
    """Return whether *frame* runs the code of the program's main module."""
    return getattr(frame, "f_globals", {}).get("__name__") == "__main__" and (
        frame.f_code.co_name == "<module>"
    )


def _skips_path() -> bool:
    return bool(sys.flags.isolated or getattr(sys.flags, "safe_path", False))


def _is_package(path: str) -> bool:
    """Return whether a path is a directory or an archive with a program inside."""
    if os.path.isdir(path):
        return True
    zipimport = importlib.import_module("zipimport")
    try:
        zipimport.zipimporter(path)
    except zipimport.ZipImportError:
        return False
    return True


def _run_file(runpy: Any, path: str) -> None:
    get = runpy._get_code_from_file
    # From some 3.13 on it takes the path only.
    alone = sys.version_info >= (3, 12) and get.__code__.co_argcount == 1
    code = get(path) if alone else get("__main__", path)[0]
    loaders: Any = sys.modules["_frozen_importlib_external"]
    module = sys.modules["__main__"]
    module.__dict__.update(
        __annotations__={},
        __builtins__=importlib.import_module("builtins"),
        __cached__=None,
        __file__=path,
        __loader__=loaders.SourceFileLoader("__main__", path),
        __package__=None,
        __spec__=None,
    )

    def _run_code(code: Any, names: Any) -> None:
        exec(code, names)

    # pydevd recognizes what ends a program by the file of the frame below it.
    filename = runpy.run_path.__code__.co_filename
    _run_code.__code__ = _run_code.__code__.replace(co_filename=filename)
    # `exec` counts too, up to 3.11.
    _uncount_calls(sys._getframe(), 1 + (sys.version_info < (3, 12)))
    _run_code(code, module.__dict__)


def _uncount_calls(frame: Any, more: int = 0) -> None:
    """Let the program call as deep as without a debugger: do not count the calls up to *frame*.

    *more* follow before the program's own. The limit that the program sees is its own.
    """
    try:
        remaining = _remaining_calls()
        if remaining is not None:
            while frame is not None:
                frame, more = frame.f_back, more + 1
            remaining.value += more
    except Exception:
        pass  # it has a few calls less


def _remaining_calls() -> Any:
    """Return the counter of the calls that this thread has left; None if it is not found.

    Python has it next to the limit, near the start of a thread's state.
    """
    if sys.implementation.name != "cpython" or sys.version_info < (3, 11):
        return None
    get_state = ctypes.pythonapi.PyThreadState_Get
    get_state.restype = ctypes.c_void_p
    state = get_state()
    limit = sys.getrecursionlimit()

    def deeper(address: int) -> int:
        return ctypes.c_int.from_address(address).value

    for offset in range(24, 64, 4):
        counter = ctypes.c_int.from_address(state + offset)
        following = ctypes.c_int.from_address(state + offset + 4).value
        if following == limit and counter.value == deeper(state + offset) + 1:
            return counter
    return None
