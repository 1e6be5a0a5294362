"""The message of a failing GoogleTest or Catch2 assertion, queried at its stop."""

from __future__ import annotations

import re
from collections.abc import Callable

from freezeframe.backends import native_tests
from freezeframe.model.stops import ExceptionInfo

from ._exception_query import (
    AdapterQuery,
    ExceptionDetails,
    ExceptionQuery,
    FunctionFilter,
    FunctionsQuery,
)

_NUMBER = re.compile(r"(?<![\w$])\d+\b")
FUNCTIONS = {native_tests.NAME: FunctionFilter(native_tests.FUNCTION)}


def examine(argument: Callable[[str, int], str], machine: str | None = None) -> ExceptionQuery:
    """Query the kind and the text of a result; *argument* makes an expression for an argument, from
    0.

    *machine* is a raw command whose answer that expression depends on.
    """
    info = ExceptionInfo(native_tests.NAME, "")
    [function] = ((yield FunctionsQuery(1)) or "").splitlines()[:1] or [""]
    if not native_tests.has_result_arguments(function):
        return ExceptionDetails(info)
    about = ((yield AdapterQuery(machine, raw=True)) or "") if machine is not None else ""
    kind = _NUMBER.search((yield AdapterQuery(f"(int){argument(about, native_tests.KIND)}")) or "")
    if kind is not None and not native_tests.is_failure(int(kind[0])):
        return ExceptionDetails(info, known=True)
    answer = (yield AdapterQuery(f"*(char**){argument(about, native_tests.TEXT)}")) or ""
    text = answer.partition('"')[2].removesuffix('"')
    return ExceptionDetails(ExceptionInfo(native_tests.NAME, native_tests.unescaped(text)))
