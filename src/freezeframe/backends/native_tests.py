"""Failing assertions of GoogleTest and Catch2: the one function that all of them come to.

The frameworks only count a failure and go on, so that nothing about it is an exception or a signal.
Measured with GoogleTest 1.12 and Catch2 2.13.
"""

from __future__ import annotations

import functools
import os
import re

from freezeframe import files
from freezeframe.model.stops import ExceptionFilter

NAME = "failure"
FILTER = ExceptionFilter(NAME, "Failing Tests", default=True)

#: the name that a filter's breakpoint has before the program is known
FUNCTION = "freezeframe::failing_assertion"
#: what is in a program of each framework, and the function that every failing assertion comes to
_GOOGLE = (b"_ZN7testing8internal12AssertHelper", "testing::UnitTest::AddTestPartResult")
_CATCH = (b"_ZN5Catch10RunContext16populateReaction", "Catch::RunContext::populateReaction")

#: a template's name has what it returns before it
_FRAMEWORK = re.compile(r"(?:\w+ )?(?:testing|Catch)::")
#: of its arguments, from 0: the kind of result, and the text
KIND, TEXT = 1, 4
#: kinds of results that are failures: a success and a skip come here too
_FAILURES = (1, 2)
#: registers of a function's first arguments, in gdb's words
_REGISTERS = {
    "x86-64": ("$rdi", "$rsi", "$rdx", "$rcx", "$r8"),
    "aarch64": ("$x0", "$x1", "$x2", "$x3", "$x4"),
}


def function_of(program: str | None) -> str | None:
    """Return the function that a program's failing assertions come to; None where it has none."""
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
            for mark, function in (_GOOGLE, _CATCH):
                if view.find(mark) >= 0:
                    return function
    except (OSError, ValueError):
        pass
    return None


def filters_of(program: str | None) -> tuple[ExceptionFilter, ...]:
    """Return the filter of failing tests for a program that has any."""
    return (FILTER,) if function_of(program) is not None else ()


def is_framework(function: str) -> bool:
    """Whether a function is one of a framework's own, linked into the program."""
    return _FRAMEWORK.match(function) is not None


def tells_results(function: str) -> bool:
    """Whether the function is told what kind of result it is, and its text."""
    return function.startswith(_GOOGLE[1])


def is_failure(kind: int) -> bool:
    """Whether a kind of result, as a register holds it, is a failure."""
    return kind & 0xFFFFFFFF in _FAILURES


def registers(architecture: str) -> tuple[str, ...]:
    known = (them for name, them in _REGISTERS.items() if name in architecture)
    return next(known, _REGISTERS["x86-64"])
