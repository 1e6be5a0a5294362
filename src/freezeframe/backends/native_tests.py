"""Failing assertions of GoogleTest and Catch2: the function that each of them calls.

The frameworks only count a failure and continue, so it causes no exception and no signal.
Measured with GoogleTest 1.12 and Catch2 2.13.
"""

from __future__ import annotations

import functools
import os
import re

from freezeframe import files
from freezeframe.model import late_regex
from freezeframe.model.stops import ExceptionFilter

NAME = "failure"
FILTER = ExceptionFilter(NAME, "Failing Tests", default=True)

#: Placeholder name of the filter's breakpoint before the program is known.
FUNCTION = "freezeframe::failing_assertion"
#: A symbol of each framework, and the function that every failing assertion calls.
_GOOGLE = (b"_ZN7testing8internal12AssertHelper", "testing::UnitTest::AddTestPartResult")
_CATCH = (b"_ZN5Catch10RunContext16populateReaction", "Catch::RunContext::populateReaction")

#: The name of a template is preceded by its return type.
_FRAMEWORK = late_regex.compile(r"(?:\w+ )?(?:testing|Catch)::")
#: Indexes of its arguments: the kind of result, and the text.
KIND, TEXT = 1, 4
#: Kinds of results that are failures: successes and skips call it too.
_FAILURES = (1, 2)
#: Registers of a function's first arguments, in gdb's syntax.
_REGISTERS = {
    "x86-64": ("$rdi", "$rsi", "$rdx", "$rcx", "$r8"),
    "aarch64": ("$x0", "$x1", "$x2", "$x3", "$x4"),
}


def function_of(program: str | None) -> str | None:
    """Return the function that a program's failing assertions call; None if it has none."""
    if program is None:
        return None
    try:
        return _function_of(program, os.stat(program).st_mtime_ns)
    except OSError:
        return None


@functools.lru_cache(maxsize=64)
def _function_of(path: str, stamp: int) -> str | None:
    try:
        with files.mapped(path) as view:
            for symbol, function in (_GOOGLE, _CATCH):
                if view.find(symbol) >= 0:
                    return function
    except (OSError, ValueError):
        pass
    return None


def filters_of(program: str | None) -> tuple[ExceptionFilter, ...]:
    """Return the filter of failing tests for a program that has any."""
    return (FILTER,) if function_of(program) is not None else ()


def is_framework(function: str) -> bool:
    """Whether a function belongs to a test framework linked into the program."""
    return _FRAMEWORK.match(function) is not None


def has_result_arguments(function: str) -> bool:
    """Whether the arguments of the function hold the kind of result and its text."""
    return function.startswith(_GOOGLE[1])


def is_failure(kind: int) -> bool:
    """Whether a kind of result, as a register holds it, is a failure."""
    return kind & 0xFFFFFFFF in _FAILURES


def unescaped(text: str) -> str:
    """Return a message that a debugger wrote as a string of C."""
    escapes = {"n": "\n", "t": "\t"}
    return re.sub(r"\\(.)", lambda found: escapes.get(found[1], found[1]), text)


def registers(architecture: str) -> tuple[str, ...]:
    known = (each for name, each in _REGISTERS.items() if name in architecture)
    return next(known, _REGISTERS["x86-64"])
