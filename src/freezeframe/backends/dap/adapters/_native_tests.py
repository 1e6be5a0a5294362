"""What a failing assertion of GoogleTest or Catch2 says, asked at its stop."""

from __future__ import annotations

import re
from collections.abc import Callable

from freezeframe.backends import native_tests
from freezeframe.model.stops import ExceptionInfo

from ._inquiry import Ask, AskFunctions, FunctionFilter, Inquiry, Thrown

_NUMBER = re.compile(r"(?<![\w$])\d+\b")
FUNCTIONS = {native_tests.NAME: FunctionFilter(native_tests.FUNCTION)}


def examine(argument: Callable[[str, int], str], machine: str | None = None) -> Inquiry:
    """Ask for the kind and the text of a result; *argument* is an expression for one, from 0.

    *machine* is a raw command whose answer it depends on.
    """
    told = ExceptionInfo(native_tests.NAME, "")
    [function] = ((yield AskFunctions(1)) or "").splitlines()[:1] or [""]
    if not native_tests.tells_results(function):
        return Thrown(told)
    about = ((yield Ask(machine, raw=True)) or "") if machine is not None else ""
    kind = _NUMBER.search((yield Ask(f"(int){argument(about, native_tests.KIND)}")) or "")
    if kind is not None and not native_tests.is_failure(int(kind[0])):
        return Thrown(told, known=True)
    said = (yield Ask(f"*(char**){argument(about, native_tests.TEXT)}")) or ""
    text = said.partition('"')[2].removesuffix('"').replace('\\"', '"')
    return Thrown(ExceptionInfo(native_tests.NAME, text))
