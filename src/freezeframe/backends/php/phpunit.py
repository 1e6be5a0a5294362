"""Exceptions that fail a test of PHPUnit: which frames belong to the test, and what it expects.

PHPUnit catches everything that a test throws, so no exception of a test is uncaught. Measured with
9.6; the names are the same from 8 to 12.
"""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.backends.backend import RawFrame

_CASE = "PHPUnit\\Framework\\TestCase"
#: catches what a test throws, and reports it
_RUNNERS = (f"{_CASE}::runBare", "PHPUnit\\Framework\\TestSuite::run")
#: catches what a test throws, and throws it again unless the test expects it
_METHOD = f"{_CASE}::runTest"
_RETHROWS = (_METHOD, f"{_CASE}::onNotSuccessfulTest")
#: exceptions that end a test without failing it
UNFAILING = ("PHPUnit\\Framework\\SkippedTest", "PHPUnit\\Framework\\IncompleteTest")
_TRACE = "debug_backtrace(DEBUG_BACKTRACE_PROVIDE_OBJECT | DEBUG_BACKTRACE_IGNORE_ARGS)"


def frames_in_test(frames: Sequence[RawFrame]) -> Sequence[RawFrame] | None:
    """Return the frames that may catch an exception before PHPUnit does, innermost first.

    None if PHPUnit runs no test, or rethrows a test's exception.
    """
    for index, frame in enumerate(frames):
        if frame.function in _RUNNERS:
            inside = [each for each in frames[:index] if each.function != _METHOD]
            return inside if index and frames[0].function not in _RETHROWS else None
    return None


def is_of_runner(frame: RawFrame) -> bool:
    """Whether a frame belongs to PHPUnit, not to the user."""
    return frame.function.startswith("PHPUnit\\") or (frame.path or "").startswith("phar://")


def is_expected(name: str) -> str:
    """Return an expression that is true if the current test expects an exception of a class."""
    expectation = (
        "array_filter(get_object_vars($this), fn($value, $key) =>"
        " $value !== null && str_starts_with($key, 'expectedException'), ARRAY_FILTER_USE_BOTH)"
    )
    return (
        f"(static function ($name, $frames) {{ foreach ($frames as $frame) {{"
        f" $case = $frame['object'] ?? null; if (!$case instanceof \\{_CASE}) continue;"
        f" $expected = \\Closure::bind(function () {{ return {expectation}; }}, $case,"
        f" \\{_CASE}::class)(); return $expected && (!isset($expected['expectedException'])"
        " || is_a($name, $expected['expectedException'], true)); }"
        f" return false; }})('{name}', {_TRACE})"
    )
