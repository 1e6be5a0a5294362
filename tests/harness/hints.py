"""The next steps that answers name: each must be a command line that `dbg` reads."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from freezeframe.errors import UsageError
from freezeframe.frontends import cli_ops
from freezeframe.frontends import help as pages
from freezeframe.frontends.parser import parse

assert cli_ops  # declares operations

_NEXT = re.compile(r"^(?:  )?next: (?P<commands>.+)$", re.MULTILINE)
#: between two commands of one line
_BETWEEN = re.compile(r"(?:, | or | && |; )(?=dbg )")
#: placeholders for what the reader types
_PLACEHOLDERS = {"LINE": "1", "FIRST-LAST": "1-2", "PID": "1", "PORT": "1234", "ADDR": "0x10"}
_PLACEHOLDER = re.compile(rf"\b(?:{'|'.join(_PLACEHOLDERS)})\b")


def named(out: str, err: str) -> Iterator[str]:
    """Return the `dbg` command lines that an answer names as next steps, in text or in JSON."""
    for text in (out, err):
        envelope = _envelope(text)
        if envelope is not None:
            yield from _of_envelope(envelope)
            continue
        for found in _NEXT.finditer(text):
            for each in _BETWEEN.split(found["commands"]):
                if each.startswith("dbg "):
                    yield each


def _envelope(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _of_envelope(envelope: dict[str, Any]) -> Iterator[str]:
    after = envelope.get("next")
    for each in after if isinstance(after, list) else ():
        yield each if each.startswith("dbg ") else f"dbg {each}"
    error = envelope.get("error")
    step = error.get("next") if isinstance(error, dict) else None
    if isinstance(step, str) and step.startswith("dbg "):
        yield step


def problem(command: str) -> str | None:
    """Return what is wrong with a command line of a next step; None where `dbg` reads it."""
    text = _PLACEHOLDER.sub(lambda found: _PLACEHOLDERS[found[0]], command)
    try:
        words = shlex.split(text, comments=True)[1:]
        parsed = parse(words)
        if parsed.globals.help and parsed.name_tokens:
            pages.page(list(parsed.name_tokens))
    except (UsageError, ValueError) as wrong:
        return f"`{command}`: {wrong}"
    return None


def check(out: str, err: str) -> None:
    """Fail where an answer names a next step that `dbg` does not read."""
    wrong = [found for found in map(problem, named(out, err)) if found is not None]
    assert not wrong, f"next steps that cannot be typed: {'; '.join(wrong)}\n{out}{err}"
