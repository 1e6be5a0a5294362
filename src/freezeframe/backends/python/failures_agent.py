"""Stop where a test fails; runs inside the debuggee, as the module `_freezeframe_failures`.

Imports nothing of this package. pytest, unittest and doctest catch what a test raises, so that no
exception of a test is ever uncaught. This agent hooks them where they have decided that the
exception is a failure: what the test expects or catches itself, a skip and an expected failure
never get there. The stop is that of an uncaught exception, in the frames of its traceback, under
the same filter. Nothing is traced.
"""

from __future__ import annotations

import sys
from typing import Any

#: failures that threads are stopped for now, and facts about the test of each
_failures: list[tuple[Any, Any]] = []
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
            code = _quietly(_watched_doctest, self) if fullname == "doctest" else None
            return load(self, fullname) if code is None else code

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


def _stop(kind: Any, value: Any, trace: Any, test: Any = None) -> None:
    """Stop for a failure, unless no line of the program is involved.

    *test*: facts about the test, if they are known.
    """
    step = trace = _without_contexts(trace)
    while step is not None and not _debugger["is_program"](step.tb_frame):
        step = step.tb_next
    if step is None:
        # pytest wraps the exception of a module that cannot be imported in its own.
        cause = value.__cause__
        if cause is not None:
            _stop(type(cause), cause, cause.__traceback__, test)
        return
    _failures.append((value, test))
    try:
        _debugger["stop"](kind, value, trace)
    finally:
        # Kept, it would keep the test's objects alive.
        _failures[:] = [each for each in _failures if each[0] is not value]


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
    return any(each is value for each, _ in _failures)


def failing_test(value: Any) -> Any:
    """Return facts about the test that *value* makes fail; None if they are not known.

    `id`, `part` (`call`, `setup`, `teardown`, `collect`), and where they are known `position`,
    `total`, `duration_s`, and the counts of results so far, this one included.
    """
    return next((test for each, test in _failures if each is value), None)


def _parameters(named: Any) -> str:
    """Return the parameters of a subtest; unittest and pytest call `repr` for them as well."""
    return f" ({', '.join(f'{name}={value!r}' for name, value in named.items())})"


def _caller_local(module: Any, function: Any, name: Any) -> Any:
    """Return a local of the nearest caller that is that function; None without one."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name == function and frame.f_globals.get("__name__") == module:
            return frame.f_locals.get(name)
        frame = frame.f_back
    return None


# --- pytest -------------------------------------------------------------------------------------


def _watch_pytest(runner: Any) -> None:
    decide = runner.check_interactive_exception
    if hasattr(decide, "freezeframe"):
        return

    def check_interactive_exception(call: Any, report: Any) -> Any:
        failed = decide(call, report)
        if failed:
            error = call.excinfo
            test = _quietly(_test_of_pytest, call, report)
            if not _quietly(_stop_for_examples, error.value, test):
                _quietly(lambda: _stop(error.type, error.value, error.value.__traceback__, test))
        return failed

    # Modules of pytest that imported the function keep their reference to it.
    for name, module in list(sys.modules.items()):
        if name.startswith("_pytest.") and (
            getattr(module, "check_interactive_exception", None) is decide
        ):
            _replace(module, "check_interactive_exception", check_interactive_exception)


#: what pytest calls the results that it counts
_COUNTED = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")


def _test_of_pytest(call: Any, report: Any) -> Any:
    part = getattr(report, "when", "") or "collect"
    test = {"id": report.nodeid, "part": part, "duration_s": call.duration}
    subtest = getattr(report, "context", None)
    if subtest is not None:
        test["id"] += _parameters(subtest.kwargs)
    item = _caller_local("_pytest.runner", "call_and_report", "item")
    if item is not None:
        items = item.session.items
        test.update(position=items.index(item) + 1, total=len(items))
        stats = item.config.pluginmanager.get_plugin("terminalreporter").stats
        test.update((name, len(stats.get(name, ()))) for name in _COUNTED)
        test["passed"] = sum(each.when == "call" for each in stats.get("passed", ()))
    return test


# --- unittest -----------------------------------------------------------------------------------


class _Part:
    """The context in which unittest runs a part of a test; checks an exception before unittest
    does."""

    def __init__(self, outcome: Any, inner: Any, case: Any) -> None:
        self._outcome = outcome
        self._inner = inner
        self._case = case

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
            test = _quietly(_test_of_unittest, self._case, self._outcome.result, kind, trace)
            _stop(kind, value, trace, test)


#: the functions of a test case that are not the test itself
_PARTS = {"setUp": "setup", "tearDown": "teardown", "doCleanups": "teardown"}


def _test_of_unittest(case: Any, result: Any, error: Any, trace: Any) -> Any:
    owner = vars(case).get("test_case", case)
    params = _parameters(case.params) if owner is not case else ""
    names = []
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    suite = _caller_local("unittest.runner", "run", "test")
    ended: Any = [*result.failures, *result.errors, *result.skipped, *result.expectedFailures]
    ended = [each for each, _ in ended] + result.unexpectedSuccesses
    ended = {id(vars(each).get("test_case", each)) for each in ended} - {id(owner)}
    kind = type(owner)
    is_failure = issubclass(error, kind.failureException)
    return {
        "id": f"{kind.__module__}.{kind.__qualname__}.{owner._testMethodName}{params}",
        "part": next((_PARTS[name] for name in names if name in _PARTS), "call"),
        "position": result.testsRun,
        "total": None if suite is None else suite.countTestCases(),
        "passed": result.testsRun - 1 - len(ended),
        "failed": len(result.failures) + is_failure,
        "error": len(result.errors) + (not is_failure),
        "skipped": len(result.skipped),
        "xfailed": len(result.expectedFailures),
        "xpassed": len(result.unexpectedSuccesses),
    }


def _watch_parts(case: Any) -> None:
    execute = case._Outcome.__dict__.get("testPartExecutor")
    if execute is None or hasattr(execute, "freezeframe"):
        return

    def testPartExecutor(self: Any, *arguments: Any, **named: Any) -> Any:
        return _Part(self, execute(self, *arguments, **named), arguments[0])

    _replace(case._Outcome, "testPartExecutor", testPartExecutor)


def _watch_suites(suite: Any) -> None:
    """Watch exceptions of `setUpClass` and `setUpModule`, and of their teardown."""
    add = suite.TestSuite.__dict__.get("_addClassOrModuleLevelException")
    if add is None or hasattr(add, "freezeframe"):
        return

    def _addClassOrModuleLevelException(
        self: Any, result: Any, exception: Any, name: Any, *arguments: Any, **named: Any
    ) -> Any:
        case: Any = sys.modules["unittest.case"]
        if not isinstance(exception, case.SkipTest):
            part = "teardown" if name.startswith("tearDown") else "setup"
            test = {"id": name, "part": part}
            _quietly(_stop, type(exception), exception, exception.__traceback__, test)
        return add(self, result, exception, name, *arguments, **named)

    _replace(suite.TestSuite, "_addClassOrModuleLevelException", _addClassOrModuleLevelException)


# --- doctest ------------------------------------------------------------------------------------

#: the methods of doctest's runner that are called for a failure; pytest overrides them
_REPORTS = ("report_failure", "report_unexpected_exception")
#: id of an example that has failed under pytest → the example, and its names, which doctest clears
_failed_examples: dict[int, tuple[Any, dict[str, Any]]] = {}


def _watched_doctest(loader: Any) -> Any:
    """Return the code of the module `doctest` where its runner calls `example_failed`.

    `python -m doctest` runs the module as `__main__`: it cannot be changed after it was loaded.
    """
    import ast  # doctest imports it too

    tree = ast.parse(loader.get_source("doctest"))
    runner = next(each for each in tree.body if getattr(each, "name", "") == "DocTestRunner")
    for node in ast.walk(runner):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _REPORTS:
            text = f"f(*__import__('sys').modules[{__name__!r}].example_failed(self))"
            [argument] = ast.parse(text, mode="eval").body.args  # type: ignore[attr-defined]
            argument.value.args += node.args[1:]
            for part in ast.walk(argument):
                ast.copy_location(part, node)
            node.args[1:] = [argument]
    return compile(tree, loader.path, "exec", dont_inherit=True)


def example_failed(runner: Any, test: Any, example: Any, result: Any) -> Any:
    """Stop for an example of a doctest; return the arguments but the first.

    *result* is what it printed, or the exception that it raised, as `sys.exc_info` returns it.
    """
    if _debugger and type(runner).__module__.startswith("_pytest."):
        _failed_examples[id(example)] = (example, dict(test.globs))
    elif _debugger:
        facts = {"id": test.name, "part": "call"}
        _quietly(_stop_for_example, test, example, result, test.globs, facts)
    return test, example, result


def _stop_for_examples(value: Any, facts: Any) -> Any:
    """Stop for the examples that pytest reports by *value*; return whether it does."""
    doctest = sys.modules.get("doctest")
    failures = value.failures if type(value).__name__ == "MultipleDoctestFailures" else [value]
    names = ("DocTestFailure", "UnexpectedException")
    if doctest is None or not all(type(each).__name__ in names for each in failures):
        return False
    for each in failures:
        names = _failed_examples.pop(id(each.example), (None, each.test.globs))[1]
        result = each.got if hasattr(each, "got") else each.exc_info
        _quietly(_stop_for_example, each.test, each.example, result, names, facts)
    _failed_examples.clear()
    return True


def _stop_for_example(test: Any, example: Any, result: Any, names: Any, facts: Any) -> None:
    error: Any = None if isinstance(result, str) else result[1]
    if error is None:
        source, expected, got = (example.source.strip(), example.want.strip(), result.strip())
        error = AssertionError(
            f"{source}: got {got or 'nothing'}, expected {expected or 'nothing'}"
        )
    elif _is_in_program(error.__traceback__):
        _stop(type(error), error, error.__traceback__, facts)
        return
    # The frame of the example is gone: raise from another one at its line.
    line = (test.lineno or 0) + example.lineno + 1
    code = compile("\n" * (line - 1) + "raise 'error'", test.filename, "exec")
    constants = tuple(error if each == "error" else each for each in code.co_consts)
    code = code.replace(co_consts=constants, co_name=f"<doctest {test.name}>")
    module: Any = vars(sys.modules.get(names.get("__name__"), sys))
    own = {name: each for name, each in names.items() if module.get(name, sys) is not each}
    for name in ("__builtins__", "getfixture"):  # the second is pytest's
        own.pop(name, None)
    error.__traceback__ = None
    try:
        exec(code, names, own)
    except BaseException as raised:
        if raised is error:
            trace: Any = raised.__traceback__
            _stop(type(error), error, trace.tb_next, facts)


def _is_in_program(trace: Any) -> bool:
    while trace is not None:
        if _debugger["is_program"](trace.tb_frame):
            return True
        trace = trace.tb_next
    return False
