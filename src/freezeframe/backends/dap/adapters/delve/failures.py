"""Failing tests: `t.Error`, `t.Fatal` and everything that calls them."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Generator, Sequence

from freezeframe.backends.backend import Launch, Target
from freezeframe.backends.dap.adapters._descriptor import (
    AdapterQuery,
    ExceptionDetails,
    ExceptionQuery,
    FunctionFilter,
    FunctionsQuery,
)
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo

NAME = "failure"
FILTER = ExceptionFilter(NAME, "Failing Tests", default=True)

#: Every failing call ends here, once more for each enclosing test: the outermost has no parent.
FUNCTION = FunctionFilter("testing.(*common).Fail", condition="c.parent == nil")

#: the deepest nesting of tests that is searched
_FRAMES = 40
_FAIL = FUNCTION.function
_FAIL_NOW = f"{_FAIL}Now"
_ERROR_CALL = re.compile(r"testing\.\(\*common\)\.(Error|Fatal)(?P<formats>f?)")
#: limits: bytes of a test's log, and arguments of one call
_LOG, _ARGUMENTS = 4000, 16
_ENTRY = re.compile(r"^(?P<indent> *)\S+\.go:\d+: ", re.M)


def is_test(target: Target) -> bool:
    """Return whether a program was built by `go test -c`."""
    if not isinstance(target, Launch):
        return False
    product = target.recipe.product if target.recipe is not None else ""
    return product.endswith(".test") or target.program.endswith(".test")


def examine(plain: Callable[[str], str]) -> ExceptionQuery:
    """Read the message of a failing test; *plain* formats a value as the program would print it."""
    names = ((yield FunctionsQuery(_FRAMES)) or "").splitlines()
    # `FailNow` begins with the name of `Fail`.
    at = next((index for index, name in enumerate(names) if not name.startswith(_FAIL)), 0)
    error_call = _ERROR_CALL.fullmatch(names[at]) if names else None
    if error_call is None:
        # A panic also fails the enclosing test, and has its own stop.
        known = bool(names) and names[at].startswith("testing.tRunner")
        if at and names[at - 1] == _FAIL_NOW:
            # Libraries that report by `Errorf` call this afterwards to end the test.
            known = (yield AdapterQuery("c.failed", frame=at - 1)) == "true"
        return ExceptionDetails(ExceptionInfo(NAME, ""), known=known)
    message = _logged((yield from _log(at)))
    if message is None:
        message = yield from _arguments(at, bool(error_call["formats"]), plain)
    return ExceptionDetails(ExceptionInfo(NAME, message or ""))


def _log(frame: int) -> Generator[AdapterQuery, str | None, str]:
    """Return the end of the test's log; with `-v` the log is printed and not kept."""
    length = _number((yield AdapterQuery("len(c.output)", frame=frame)))
    if not length:
        return ""
    begin = max(0, length - _LOG)
    text = yield AdapterQuery(f"string(c.output[{begin}:{length}])", frame=frame)
    return _unquoted(text or "") or ""


def _logged(log: str) -> str | None:
    """Return the last entry of a log, without the location that wrote it."""
    entries = list(_ENTRY.finditer(log))
    if not entries:
        return None
    first, *rest = log[entries[-1].end() :].rstrip("\n").split("\n")
    return "\n".join([first, textwrap.dedent("\n".join(rest))] if rest else [first]).strip("\n")


def _arguments(
    frame: int, formats: bool, plain: Callable[[str], str]
) -> Generator[AdapterQuery, str | None, str]:
    """Return the message, from the arguments of the call."""
    count = _number((yield AdapterQuery("len(args)", frame=frame))) or 0
    values = []
    for index in range(min(count, _ARGUMENTS)):
        text = (yield AdapterQuery(f"args[{index}]", frame=frame)) or "?"
        values.append(_printed(plain(text)))
    is_known = not any(map(_COMPOSED.search, values))
    if not formats:
        return " ".join(values)
    pattern = _unquoted((yield AdapterQuery("format", frame=frame)) or "")
    return ", ".join(values) if pattern is None else _formatted(pattern, values, is_known)


_VERB = re.compile(r"%(?P<flags>[-+# 0]*\d*(?:\.\d+)?)(?P<verb>[a-zA-Z%])")


def _formatted(pattern: str, values: Sequence[str], is_known: bool) -> str:
    """Return a text with values for its verbs, or with the values appended where they do not
    fit; *is_known*: each value is as the program prints it."""
    verbs = [each for each in _VERB.finditer(pattern) if each["verb"] != "%"]
    simple = all(not each["flags"].strip("+#") and each["verb"] in "dsvqtw" for each in verbs)
    if not simple or not is_known or len(verbs) != len(values):
        return " ".join([pattern, f"({', '.join(values)})"] if values else [pattern])
    remaining = iter(values)

    def fill(found: re.Match[str]) -> str:
        if found["verb"] == "%":
            return "%"
        value = next(remaining)
        return json.dumps(value, ensure_ascii=False) if found["verb"] == "q" else value

    return _VERB.sub(fill, pattern)


#: a value with parts, which Go prints in its own way, or by a method of the value
_COMPOSED = re.compile(
    r"^(?:\*|\[|map\[|interface |struct |error\(|[\w./*]+ [\[{*(])|^[\w/]+\.\w+ "
)
_NUMBER = re.compile(r"(?:u?int\d*|uintptr|float\d+|bool|byte|rune) (?P<value>\S+)")


def _printed(text: str) -> str:
    found = _NUMBER.fullmatch(text)
    return found["value"] if found else text


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _unquoted(text: str) -> str | None:
    found = re.match(r'"(?:[^"\\]|\\.)*"', text)
    if found is None:
        return None
    try:
        return str(json.loads(re.sub(r"\\x([0-9a-f]{2})", r"\\u00\1", found[0])))
    except ValueError:
        return found[0][1:-1]
