"""Begins the trace of a program; run by `site_agent/sitecustomize.py` before the program.

Runs inside the traced program and imports nothing of this package. Loads the other agents as
modules whose names begin with `_freezeframe_`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_PYTHON = os.path.dirname(_HERE)
#: versions whose bytecode is instrumented; events of `sys.monitoring` or `sys.settrace` elsewhere
_IS_INSTRUMENTED = (3, 11) <= sys.version_info[:2] <= (3, 13)
#: directories with copies of libraries
_VENDORED = frozenset(("_vendor", "_vendored"))
_EVENTS = "monitoring_agent.py" if sys.version_info >= (3, 12) else "settrace_agent.py"
#: what shows values
_VALUES = (
    ("_freezeframe_objects", _PYTHON, "object_fields_agent.py"),
    ("_freezeframe_native", _PYTHON, "native_agent.py"),
    ("_freezeframe_shapes", _PYTHON, "value_structure_agent.py"),
    ("_freezeframe_text", _PYTHON, "value_text_agent.py"),
)
_INSTRUMENTED = (
    ("_freezeframe_instrument", _PYTHON, "bytecode_agent.py"),
    ("_freezeframe_loading", _PYTHON, "code_loading_agent.py"),
    ("_freezeframe_instrumentation", _HERE, "instrumentation_agent.py"),
    ("_freezeframe_recording_hooks", _HERE, "hooks_agent.py"),
    ("_freezeframe_driver", _HERE, "instrumenting_agent.py"),
)
_MODULES = (
    *_VALUES,
    ("_freezeframe_failures", _PYTHON, "failures_agent.py"),
    ("_freezeframe_log", _HERE, "log_agent.py"),
    ("_freezeframe_mentions", _HERE, "mentions_agent.py"),
    ("_freezeframe_plans", _HERE, "line_plans_agent.py"),
    ("_freezeframe_identities", _HERE, "identities_agent.py"),
    ("_freezeframe_values", _HERE, "traced_values_agent.py"),
    ("_freezeframe_stores", _HERE, "line_stores_agent.py"),
    ("_freezeframe_code", _HERE, "line_code_agent.py"),
    ("_freezeframe_omissions", _HERE, "omissions_agent.py"),
    ("_freezeframe_recorder", _HERE, "recorder_agent.py"),
    *(_INSTRUMENTED if _IS_INSTRUMENTED else (("_freezeframe_driver", _HERE, _EVENTS),)),
    ("_freezeframe_endings", _HERE, "endings_agent.py"),
)


def begin(settings: Any) -> None:
    """Load the agents and begin what *settings* describe: to trace, to probe, to cover, to delay.

    They are from `traced_run.py`, `probed_run.py`, `covered_run.py` or `shaken_run.py`.
    """
    if "delays" in settings:
        delays = _load("_freezeframe_delays", os.path.join(_HERE, "delays_agent.py"))
        delays.begin(settings["delays"], CodeFilter(settings["roots"], ()).path_of)
        if "directory" not in settings:
            return
    if "coverage" in settings:
        coverage = _load("_freezeframe_coverage", os.path.join(_HERE, "coverage_agent.py"))
        coverage.begin(settings["coverage"], CodeFilter(settings["roots"], ()).path_of)
        return
    if "probe" in settings:
        for name, folder, file in _VALUES:
            _load(name, os.path.join(folder, file))
        probe = _load("_freezeframe_probe", os.path.join(_HERE, "probe_agent.py"))
        probe.begin(settings["probe"], settings["directory"])
        return
    known = set(sys.modules)
    loaded = {name: _load(name, os.path.join(folder, file)) for name, folder, file in _MODULES}
    for name in {"opcode", "_opcode", "_opcode_metadata"} - known:
        sys.modules.pop(name, None)  # the program imports it itself, if it does
    log, recorder = loaded["_freezeframe_log"], loaded["_freezeframe_recorder"]
    driver, endings = loaded["_freezeframe_driver"], loaded["_freezeframe_endings"]
    log.open_log(settings["directory"], settings["steps"], settings["bytes"], settings["seconds"])
    filter = CodeFilter(settings["roots"], settings["functions"])
    recorder.Settings.is_traced = filter.path_of
    recorder.Settings.file_of = filter.file_of
    recorder.Settings.until = settings["until"]
    recorder.Settings.may_drop = not settings["functions"]
    endings.install(driver, settings["exits"])
    if settings["tests"]:
        endings.watch_tests(loaded["_freezeframe_failures"])
    problem = driver.begin()
    if problem is not None:
        log.records.extend((log.REMARK, log.string(problem)))
    log.flush()


def _load(name: str, path: str) -> Any:
    module: Any = type(sys)(name)
    module.__file__ = path
    sys.modules[name] = module
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", 0, True)
    exec(code, module.__dict__)
    return module


class CodeFilter:
    """Which code is traced: that of the workspace, or of named functions in it."""

    def __init__(self, roots: Any, functions: Any) -> None:
        self._roots = tuple(each.rstrip(os.sep) + os.sep for each in roots)
        self._functions = tuple(functions)
        self._paths: dict[str, str | None] = {}
        self._directories: dict[str, bool] = {}
        self._cwd = os.getcwd()
        prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, _PYTHON}
        self._excluded = tuple(
            os.path.realpath(each).rstrip(os.sep) + os.sep
            for each in (*prefixes, os.path.dirname(os.__file__))
        )

    def path_of(self, code: Any) -> str | None:
        """Return the path of the file that a code object is from; None if it is not traced."""
        path = self.file_of(code)
        if path is not None and self._functions and not self._is_named(code):
            return None
        return path

    def file_of(self, code: Any) -> str | None:
        """Return the path of the file that a code object is from; None if nothing of it is
        traced.
        """
        name = code.co_filename
        if name in self._paths:
            return self._paths[name]
        path = self._paths[name] = self._path(name)
        return path

    def _is_named(self, code: Any) -> bool:
        name = getattr(code, "co_qualname", code.co_name)
        return any(f".{each}." in f".{name}." or code.co_name == each for each in self._functions)

    def _path(self, name: str) -> str | None:
        if name[:1] == "<" or not name:
            return None
        path = os.path.normpath(os.path.join(self._cwd, name))
        real = os.path.realpath(path)
        parts = real.split(os.sep)
        if "site-packages" in parts or "dist-packages" in parts:
            return None
        root = next((each for each in self._roots if real.startswith(each)), None)
        if root is None or real.startswith(self._excluded):
            return None
        if not _VENDORED.isdisjoint(real[len(root) :].split(os.sep)):
            return None
        return None if self._is_in_venv(os.path.dirname(real), root) else path

    def _is_in_venv(self, directory: str, root: str) -> bool:
        """Return whether a directory below the root is part of a virtual environment."""
        found = self._directories.get(directory)
        if found is None:
            found = False
            if (directory + os.sep).startswith(root) and len(directory) + 1 > len(root):
                found = os.path.exists(os.path.join(directory, "pyvenv.cfg"))
                found = found or self._is_in_venv(os.path.dirname(directory), root)
            self._directories[directory] = found
        return found
