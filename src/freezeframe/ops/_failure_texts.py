"""What the output of a failed run says: where it failed, and with which message. Pure."""

from __future__ import annotations

import math
import os
import re
import signal

from freezeframe.model.fast_dataclass import dataclass

_LONGEST_MESSAGE = 200
_ESCAPE = re.compile(r"\x1b\[[\d;]*m")
_LIBRARY = re.compile(
    r"site-packages|dist-packages|node_modules|/lib/python3|\.cargo/|/rustc/|/go/src/|node:|<frozen"
    r"|/usr/lib/|/_pytest/|/usr/local/go/"
)
_PY_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)', re.MULTILINE)
_PY_ERROR = re.compile(r"^(?P<type>(?:\w+\.)*[A-Z]\w+)(?:: (?P<text>.*))?$", re.MULTILINE)
_PYTEST_AT = re.compile(r"^(?P<file>[^\s:]+\.py):(?P<line>\d+): (?P<type>\w[\w.]*)$", re.MULTILINE)
_PYTEST_E = re.compile(r"^E +(?P<text>\S.*)$", re.MULTILINE)
_PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S+)(?: - (?P<text>.*))?$", re.MULTILINE)
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (?P<test>\w+ \(.*?\))", re.MULTILINE)
_GO_TEST = re.compile(r"^\s*--- FAIL: (?P<test>\S+)", re.MULTILINE)
_GO_AT = re.compile(r"^\s+(?P<file>[\w./-]+\.go):(?P<line>\d+): (?P<text>.+)$", re.MULTILINE)
_GO_PANIC = re.compile(r"^(?:panic|fatal error): (?P<text>.+?)(?: \[recovered\].*)?$", re.MULTILINE)
_GO_FRAME = re.compile(r"^\t(?P<file>/\S+\.go):(?P<line>\d+)", re.MULTILINE)
_RUST = re.compile(
    r"^thread '(?P<test>[^']*)'.* panicked at (?P<file>[^:\n]+):(?P<line>\d+):\d+:\n(?P<text>.*)$",
    re.MULTILINE,
)
_JS_ERROR = re.compile(
    r"^\s*(?:Uncaught )?(?P<type>\w*Error)(?: \[\w+\])?: (?P<text>.+)$", re.MULTILINE
)
_JS_FRAME = re.compile(
    r"^\s+at .*?\(?(?:file://)?(?P<file>/[^\s():]+):(?P<line>\d+):\d+\)?$", re.MULTILINE
)
_NATIVE = re.compile(
    r"^(?:\S+: )?(?P<file>[\w./-]+\.(?:c|cc|cpp|cxx|h|hpp)):(?P<line>\d+):.*?"
    r"(?P<text>Assertion .*|Failure|error: .*|runtime error: .*)$",
    re.MULTILINE,
)
_VARYING = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class FailureText:
    message: str
    location: str | None = None
    test: str | None = None

    @property
    def group(self) -> tuple[str | None, str]:
        """What failures of one kind have in common: numbers and addresses are not."""
        return self.location, _VARYING.sub("#", self.message)


def failure_of(output: str, status: int | None, cwd: str, limit_s: float) -> FailureText:
    """Return what a failed run says; *status* None: it was ended after *limit_s*."""
    text = _ESCAPE.sub("", output)
    for reader in (_rust, _go, _python, _javascript, _native):
        found = reader(text)
        if found is not None:
            return _short(found, cwd)
    last = next((each.strip() for each in reversed(text.splitlines()) if each.strip()), "")
    if status is None:
        return _short(FailureText(f"did not end within {limit_s:g} s"), cwd)
    if status < 0:
        return _short(FailureText(f"killed by {_signal(-status)}"), cwd)
    return _short(FailureText(last or f"exited with code {status}, without output"), cwd)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _short(found: FailureText, cwd: str) -> FailureText:
    message = " ".join(found.message.split())[:_LONGEST_MESSAGE]
    location = found.location
    if location is not None and location.startswith(cwd + os.sep):
        location = location[len(cwd) + 1 :]
    return FailureText(message, location, found.test)


def _own(matches: list[re.Match[str]]) -> re.Match[str] | None:
    """Return the last match that is in no library."""
    own = [each for each in matches if not _LIBRARY.search(each["file"])]
    return own[-1] if own else None


def _at(match: re.Match[str] | None) -> str | None:
    return f"{match['file']}:{match['line']}" if match is not None else None


def _python(text: str) -> FailureText | None:
    named = _PYTEST_FAILED.search(text) or _UNITTEST.search(text)
    test = named["test"] if named is not None else None
    at = [*_PYTEST_AT.finditer(text)]
    first = _PYTEST_E.search(text)
    if at and (first is not None or named is not None):
        # The first failure of the run: its last own frame before the next one begins.
        behind = [each for each in at if first is None or each.start() >= first.start()]
        where = behind[0] if behind else at[0]
        own = _own([each for each in at if each.start() <= where.start()])
        message = first["text"] if first is not None else where["type"]
        return FailureText(message, _at(own or where), test)
    frames = [*_PY_FRAME.finditer(text)]
    if not frames:
        if test is None or named is None or named.re is not _PYTEST_FAILED:
            return None
        return FailureText(named["text"] or "failed", test.partition("::")[0], test)
    error = _PY_ERROR.search(text, frames[0].end())
    upto = [each for each in frames if error is None or each.end() <= error.start()]
    message = error[0] if error is not None else "failed"
    return FailureText(message, _at(_own(upto) or frames[-1]), test)


def _go(text: str) -> FailureText | None:
    named = _GO_TEST.search(text)
    test = named["test"] if named is not None else None
    if "WARNING: DATA RACE" in text:
        frames = [*re.finditer(r"^\s+(?P<file>/\S+\.go):(?P<line>\d+)", text, re.MULTILINE)]
        own = [each for each in frames if not _LIBRARY.search(each["file"])]
        return FailureText("DATA RACE", _at(own[0] if own else None), test)
    panic = _GO_PANIC.search(text)
    if panic is not None and ("goroutine " in text or test is not None):
        frames = [each for each in _GO_FRAME.finditer(text) if not _LIBRARY.search(each["file"])]
        return FailureText(panic[0], _at(frames[0] if frames else None), test)
    at = _GO_AT.search(text) if test is not None else None
    return FailureText(at["text"], _at(at), test) if at is not None else None


def _rust(text: str) -> FailureText | None:
    found = _RUST.search(text)
    return FailureText(found["text"], _at(found), found["test"]) if found is not None else None


def _javascript(text: str) -> FailureText | None:
    error = _JS_ERROR.search(text)
    frames = [each for each in _JS_FRAME.finditer(text) if not _LIBRARY.search(each["file"])]
    if error is None or not frames:
        return None
    return FailureText(error[0].strip(), _at(frames[0]))


def _native(text: str) -> FailureText | None:
    found = _NATIVE.search(text)
    return FailureText(found["text"], _at(found)) if found is not None else None


def wilson(failures: int, runs: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a failure rate, by Wilson's score."""
    if not runs:
        return 0.0, 1.0
    z = 1.959964
    rate = failures / runs
    base = 1 + z * z / runs
    middle = rate + z * z / (2 * runs)
    spread = z * math.sqrt(rate * (1 - rate) / runs + z * z / (4 * runs * runs))
    return max(0.0, (middle - spread) / base), min(1.0, (middle + spread) / base)
