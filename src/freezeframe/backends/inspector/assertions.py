"""Assertions that fail in a test: the runner catches them, and they are what the run is about."""

from __future__ import annotations

import re

from . import grammar
from .frames import Stack
from .scripts import Scripts, offset_of

#: files by which a test runner is known when it is loaded
_RUNNERS = re.compile(
    r"^node:internal/test_runner/test$|/node_modules/(?:mocha/lib/runner|jest-circus/|@vitest/runner/)"
)
#: what a file of tests names that needs no runner of its own
TESTS = "node:test"
#: classes of errors that assertions throw: node's and chai's, and jest's own
_KINDS = frozenset({"AssertionError", "JestAssertionError"})
#: functions of libraries and of node that are given code which is to throw
_EXPECTING = re.compile(
    r"(?:^|\.)(?:throws?|doesNotThrow|rejects|doesNotReject|toThrow\w*|assertThrows|"
    r"expectsError|getActual|waitForActual|throwingMatcher)$"
)
#: exceptions of a test run that are looked at before V8's own foresight has to do
PATIENCE = 2_000


def is_runner(url: str) -> bool:
    """Whether a script is part of a test runner."""
    return _RUNNERS.search(url) is not None


def is_assertion(kinds: list[str]) -> bool:
    return not _KINDS.isdisjoint(kinds)


async def fails_a_test(stack: Stack, scripts: Scripts) -> bool:
    """Whether what is thrown gets through all code of the user's, and nobody waits for it."""
    is_own = False
    for call in stack.calls:
        script = scripts.get(str(call["location"]["scriptId"]))
        if script is None or script.library:
            if _EXPECTING.search(str(call.get("functionName") or "")) and is_own:
                return False
            continue
        is_own = True
        text = await scripts.text_of(script)
        location, start = call["location"], call.get("functionLocation") or {}
        offset = offset_of(text, location["lineNumber"], int(location.get("columnNumber") or 0))
        begin = offset_of(
            text, int(start.get("lineNumber") or 0), int(start.get("columnNumber") or 0)
        )
        if grammar.is_caught(text, offset, begin):
            return False
    return is_own
