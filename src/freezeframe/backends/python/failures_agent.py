"""Stop where a test fails; runs inside the debuggee, as the module `_freezeframe_failures`.

Imports nothing of this package. pytest and unittest catch what a test raises, so that no exception
of a test is ever uncaught. This agent hooks them where they have decided that the exception is a
failure: what the test expects or catches itself, a skip and an expected failure never get there.
The stop is that of an uncaught exception, in the frames of its traceback, under the same filter.
Nothing is traced.
"""

from __future__ import annotations

import sys
from typing import Any

#: failures that threads are stopped for now
_failures: list[Any] = []
#: the debugger's functions, once it has called `watch`
_debugger: dict[str, Any] = {}


def watch(is_program: Any, stop: Any, undo: list[Any]) -> None:
    """Watch the loaded test runners, and those that the program loads from now on.

    *is_program* returns whether a frame is in the program's files, *stop* stops for the type, the
    value and the traceback of a failure; functions that end the watch are added to *undo*.
    """
    _debugger.update(is_program=is_program, stop=stop, undo=undo)
    external: Any = sys.modules["_frozen_importlib_external"]
    loader, load = external.SourceLoader, external.SourceLoader.get_code
    if not hasattr(load, "freezeframe"):

        def get_code(self: Any, fullname: Any) -> Any:
            if fullname.startswith(("_pytest.", "unittest.")):
                _quietly(_watch)
            return load(self, fullname)

        # The import system removes frames of its own files from a traceback.
        get_code.__code__ = get_code.__code__.replace(
            co_filename="<frozen importlib._bootstrap_external>"
        )
        _replace(loader, "get_code", get_code)
    _watch()


def _quietly(call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception:
        return None


def _replace(owner: Any, name: str, replacement: Any) -> None:
    original = owner.__dict__[name]
    replacement.freezeframe = True
    replacement.__name__, replacement.__qualname__ = original.__name__, original.__qualname__
    setattr(owner, name, replacement)

    def undo() -> None:
        if owner.__dict__.get(name) is replacement:
            setattr(owner, name, original)

    _debugger["undo"].append(undo)


def _watch() -> None:
    modules: Any = sys.modules
    for name, attribute, watch in (
        ("_pytest.runner", "check_interactive_exception", _watch_pytest),
        ("unittest.case", "_Outcome", _watch_parts),
        ("unittest.suite", "TestSuite", _watch_suites),
    ):
        # The module may be half loaded.
        if attribute in vars(modules.get(name, sys)):
            watch(modules[name])


def _stop(kind: Any, value: Any, trace: Any) -> None:
    """Stop for a failure, unless no line of the program is involved."""
    step = trace = _without_contexts(trace)
    while step is not None and not _debugger["is_program"](step.tb_frame):
        step = step.tb_next
    if step is None:
        # pytest wraps the exception of a module that cannot be imported in its own.
        cause = value.__cause__
        if cause is not None:
            _stop(type(cause), cause, cause.__traceback__)
        return
    _failures.append(value)
    try:
        _debugger["stop"](kind, value, trace)
    finally:
        # Kept, it would keep the test's objects alive.
        _failures[:] = [each for each in _failures if each is not value]


def _without_contexts(trace: Any) -> Any:
    """Cut off the contexts that an exception was thrown into, such as that of a subtest.

    They are called by the frame that raised it, which is in its `with` by now.
    """
    while trace is not None and trace.tb_next is not None:
        caller = trace.tb_frame.f_back
        while caller is not None and caller is not trace.tb_next.tb_frame:
            caller = caller.f_back
        if caller is None:
            break
        trace = trace.tb_next
    return trace


def is_failure(value: Any) -> bool:
    """Return whether a thread is stopped because *value* makes a test fail."""
    return any(each is value for each in _failures)


# --- pytest -------------------------------------------------------------------------------------


def _watch_pytest(runner: Any) -> None:
    decide = runner.check_interactive_exception
    if hasattr(decide, "freezeframe"):
        return

    def check_interactive_exception(call: Any, report: Any) -> Any:
        failed = decide(call, report)
        if failed:
            error = call.excinfo
            _quietly(lambda: _stop(error.type, error.value, error.value.__traceback__))
        return failed

    # Modules of pytest that imported the function keep their reference to it.
    for name, module in list(sys.modules.items()):
        if name.startswith("_pytest.") and (
            getattr(module, "check_interactive_exception", None) is decide
        ):
            _replace(module, "check_interactive_exception", check_interactive_exception)


# --- unittest -----------------------------------------------------------------------------------


class _Part:
    """The context in which unittest runs a part of a test; checks an exception before unittest
    does."""

    def __init__(self, outcome: Any, inner: Any) -> None:
        self._outcome = outcome
        self._inner = inner

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(self, kind: Any, value: Any, trace: Any) -> Any:
        if kind is not None:
            _quietly(self._check, kind, value, trace)
        return self._inner.__exit__(kind, value, trace)

    def _check(self, kind: Any, value: Any, trace: Any) -> None:
        case: Any = sys.modules["unittest.case"]
        expected = (case.SkipTest, case._ShouldStop, KeyboardInterrupt)
        if self._outcome.expecting_failure or isinstance(value, expected):
            return
        # pytest runs such tests too, and decides by itself.
        if not type(self._outcome.result).__module__.startswith("_pytest."):
            _stop(kind, value, trace)


def _watch_parts(case: Any) -> None:
    execute = case._Outcome.__dict__.get("testPartExecutor")
    if execute is None or hasattr(execute, "freezeframe"):
        return

    def testPartExecutor(self: Any, *arguments: Any, **named: Any) -> Any:
        return _Part(self, execute(self, *arguments, **named))

    _replace(case._Outcome, "testPartExecutor", testPartExecutor)


def _watch_suites(suite: Any) -> None:
    """Watch exceptions of `setUpClass` and `setUpModule`, and of their teardown."""
    add = suite.TestSuite.__dict__.get("_addClassOrModuleLevelException")
    if add is None or hasattr(add, "freezeframe"):
        return

    def _addClassOrModuleLevelException(
        self: Any, result: Any, exception: Any, *arguments: Any, **named: Any
    ) -> Any:
        case: Any = sys.modules["unittest.case"]
        if not isinstance(exception, case.SkipTest):
            _quietly(_stop, type(exception), exception, exception.__traceback__)
        return add(self, result, exception, *arguments, **named)

    _replace(suite.TestSuite, "_addClassOrModuleLevelException", _addClassOrModuleLevelException)
