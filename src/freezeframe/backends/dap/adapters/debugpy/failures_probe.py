"""Stop where a test fails; runs inside the debuggee.

Sent there together with `main_probe.py`, under the same rules. It becomes the module
`_freezeframe_failures`. pytest and unittest catch what a test raises, so that nothing of it is ever
uncaught. They are asked at the place where they have decided that it is a failure: what the test
expects or catches itself, a skip and an expected failure never come there. The stop is the one of
an uncaught exception, in the frames of its traceback, under the same filter. Nothing is traced.
"""

from __future__ import annotations

import sys
from typing import Any

_cures: Any = sys.modules["_freezeframe_cures"]
#: what threads are stopped for now
_failures: list[Any] = []


def failing_tests(debugger: Any) -> None:
    """Watch the runners that are there, and those that the program loads from now on."""
    external: Any = sys.modules["_frozen_importlib_external"]
    loader, load = external.SourceLoader, external.SourceLoader.get_code
    if not hasattr(load, "freezeframe"):

        def get_code(self: Any, fullname: Any) -> Any:
            if fullname.startswith(("_pytest.", "unittest.")):
                _cures._quietly(_watch)
            return load(self, fullname)

        # The import system cuts frames of its own files off a traceback.
        get_code.__code__ = get_code.__code__.replace(
            co_filename="<frozen importlib._bootstrap_external>"
        )
        _replace(loader, "get_code", get_code)
    _watch()


def _replace(place: Any, name: str, ours: Any) -> None:
    theirs = place.__dict__[name]
    ours.freezeframe = True
    ours.__name__, ours.__qualname__ = theirs.__name__, theirs.__qualname__
    setattr(place, name, ours)

    def undo() -> None:
        if place.__dict__.get(name) is ours:
            setattr(place, name, theirs)

    _cures._undo.append(undo)


def _watch() -> None:
    modules: Any = sys.modules
    for name, attribute, watch in (
        ("_pytest.runner", "check_interactive_exception", _watch_pytest),
        ("unittest.case", "_Outcome", _watch_parts),
        ("unittest.suite", "TestSuite", _watch_suites),
    ):
        # It may be half loaded.
        if attribute in vars(modules.get(name, sys)):
            watch(modules[name])


def _stop(kind: Any, value: Any, trace: Any) -> None:
    """Stop for a failure, unless no line of the program's own has a part in it."""
    debugger = _cures.current()
    step = trace = _without_contexts(trace)
    while step is not None and not debugger.in_project_scope(step.tb_frame):
        step = step.tb_next
    if step is None:
        # pytest tells of a module that cannot be imported in words of its own.
        cause = value.__cause__
        if cause is not None:
            _stop(type(cause), cause, cause.__traceback__)
        return
    _failures.append(value)
    try:
        _cures._stop_for(kind, value, trace)
    finally:
        # Kept, it would keep what the test made.
        _cures._marks.seen = None
        _failures[:] = [each for each in _failures if each is not value]


def _without_contexts(trace: Any) -> Any:
    """Cut off the contexts that an exception was thrown into, such as the one of a subtest.

    They are called by the frame that raised it, which stands in its `with` by now.
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
            _cures._quietly(lambda: _stop(error.type, error.value, error.value.__traceback__))
        return failed

    # Modules of pytest that have it under their own name keep it there.
    for name, module in list(sys.modules.items()):
        if name.startswith("_pytest.") and (
            getattr(module, "check_interactive_exception", None) is decide
        ):
            _replace(module, "check_interactive_exception", check_interactive_exception)


# --- unittest -----------------------------------------------------------------------------------


class _Part:
    """The context in which unittest runs a part of a test, asked before it takes an exception."""

    def __init__(self, outcome: Any, inner: Any) -> None:
        self._outcome = outcome
        self._inner = inner

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(self, kind: Any, value: Any, trace: Any) -> Any:
        if kind is not None:
            _cures._quietly(self._look, kind, value, trace)
        return self._inner.__exit__(kind, value, trace)

    def _look(self, kind: Any, value: Any, trace: Any) -> None:
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
    """What `setUpClass` and `setUpModule` raise, and what undoes them."""
    add = suite.TestSuite.__dict__.get("_addClassOrModuleLevelException")
    if add is None or hasattr(add, "freezeframe"):
        return

    def _addClassOrModuleLevelException(
        self: Any, result: Any, exception: Any, *arguments: Any, **named: Any
    ) -> Any:
        case: Any = sys.modules["unittest.case"]
        if not isinstance(exception, case.SkipTest):
            _cures._quietly(_stop, type(exception), exception, exception.__traceback__)
        return add(self, result, exception, *arguments, **named)

    _replace(suite.TestSuite, "_addClassOrModuleLevelException", _addClassOrModuleLevelException)
