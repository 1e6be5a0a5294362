"""Assertions that fail in a test: the runner catches them, but the user wants to stop there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from freezeframe.backends.javascript import js_scanner

from .frames import V8Stack
from .scripts import Scripts, offset_of

#: files that identify a test runner when they are loaded
_RUNNERS = re.compile(
    r"^node:internal/test_runner/test$|/node_modules/(?:mocha/lib/runner|jest-circus/|@vitest/runner/)"
)
#: files of a runner that call the code of a test
_CALLERS = re.compile(
    r"^node:internal/test_runner/|/node_modules/(?:mocha/lib/|jest-circus/|jest-jasmine2/|"
    r"@vitest/runner/|vitest/dist/)"
)
#: the module that a file of tests imports for node's own runner
TESTS = "node:test"
#: classes of assertion errors: node's and chai's, and jest's own
_KINDS = frozenset({"AssertionError", "JestAssertionError"})
#: functions of libraries and of node that take code which is expected to throw
_EXPECTING = re.compile(
    r"(?:^|\.)(?:throws?|doesNotThrow|rejects|doesNotReject|toThrow\w*|assertThrows|"
    r"expectsError|getActual|waitForActual|throwingMatcher)$"
)
#: functions of libraries that try an assertion again until it holds
_RETRYING = re.compile(r"poll|retry|until|waitFor(?!Actual)|checkCallback", re.IGNORECASE)
#: before the parameters of a function
_ASYNC = re.compile(r"\basync\b(?:\s+function\b)?[\s*]*[\w$]*\s*(?:\(.{0,5})?$", re.DOTALL)
#: exceptions of a test run that are scanned before V8's own prediction must be enough
SCAN_LIMIT = 2_000


def is_runner(url: str) -> bool:
    """Return whether a script is part of a test runner."""
    return _RUNNERS.search(url) is not None


def calls_tests(url: str) -> bool:
    """Return whether a script is the part of a test runner that calls tests."""
    return _CALLERS.search(url) is not None


def is_assertion(kinds: list[str]) -> bool:
    return not _KINDS.isdisjoint(kinds)


async def fails_a_test(stack: V8Stack, scripts: Scripts) -> bool:
    """Return whether an exception leaves all code of the user, and no caller expects it."""
    is_user_code = False
    for call in stack.calls:
        script = scripts.get(str(call["location"]["scriptId"]))
        if script is None or script.library:
            name = str(call.get("functionName") or "")
            if is_user_code and (_EXPECTING.search(name) or _RETRYING.search(name)):
                return False
            continue
        is_user_code = True
        text = await scripts.text_of(script)
        begin, offset = _offsets(text, call)
        if js_scanner.is_caught(text, offset, begin):
            return False
    return is_user_code or await _fails_awaiting_code(stack, scripts)


async def _fails_awaiting_code(stack: V8Stack, scripts: Scripts) -> bool:
    """Return whether code of the user awaits the library that throws, and does not catch it."""
    is_user_code = False
    frames = [(call, call["location"]) for call in stack.calls]
    for call, location in [*frames, *((call, call) for _, call in stack.callers)]:
        script = scripts.get(str(location["scriptId"]))
        if script is None or script.library or script.internal:
            if _RETRYING.search(str(call.get("functionName") or "")):
                return False
            continue
        is_user_code = True
        text = await scripts.text_of(script)
        offset = offset_of(text, location["lineNumber"], int(location.get("columnNumber") or 0))
        function = js_scanner.innermost(text, offset)
        if js_scanner.is_caught(text, offset, function.start if function is not None else 0):
            return False
    return is_user_code


def _offsets(text: str, call: Mapping[str, Any]) -> tuple[int, int]:
    """Return the offsets of a call's function and of the call in the text of its script."""
    location, start = call["location"], call.get("functionLocation") or {}
    begin = offset_of(text, int(start.get("lineNumber") or 0), int(start.get("columnNumber") or 0))
    return begin, offset_of(text, location["lineNumber"], int(location.get("columnNumber") or 0))


async def errs_in_a_test(stack: V8Stack, scripts: Scripts) -> bool:
    """Return whether an error propagates through all code of the user to the test runner.

    The user's code threw it, or the runtime that it called, and the runner called the user's code:
    what libraries throw, or call, they may catch. An async function passes it to the code that
    awaits it, which is known for the outermost one only.
    """
    is_user_code = is_async = False
    outermost: tuple[str, str | None] = ("", None)
    for call in stack.calls:
        script = scripts.get(str(call["location"]["scriptId"]))
        if script is None:
            return False
        if script.internal and not calls_tests(script.url):
            if _EXPECTING.search(str(call.get("functionName") or "")):
                return False
            continue
        if script.library or script.internal:
            if _RETRYING.search(str(call.get("functionName") or "")):
                return False
            return is_user_code and calls_tests(script.url)
        if is_async:
            return False
        is_user_code = True
        text = await scripts.text_of(script)
        begin, offset = _offsets(text, call)
        if js_scanner.is_caught(text, offset, begin):
            return False
        # V8 reports where the parameters of a function begin, or an arrow with what is before them.
        is_async = _ASYNC.search(text[max(0, begin - 80) : begin + 6]) is not None
        outermost = (str(call["location"]["scriptId"]), call.get("functionName"))
    return is_async and _is_awaited_by_runner(stack, scripts, outermost)


def _is_awaited_by_runner(
    stack: V8Stack, scripts: Scripts, outermost: tuple[str, str | None]
) -> bool:
    """Return whether a runner called the async function that continued in the outermost frame."""
    for _, call in stack.callers:
        id = str(call["scriptId"])
        script = scripts.get(id)
        if (id, call.get("functionName")) == outermost:
            continue
        if script is None:
            return False
        if calls_tests(script.url):
            return True
        if not script.internal:
            return False
    return False
