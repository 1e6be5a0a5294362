"""Commands that evaluate PHP, and the answers of `agent.php`."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

from freezeframe.errors import EvaluationFailed

#: the longest command that phpdbg reads, in characters
LONGEST = 480


def quietly(command: str) -> str:
    """Return a command that hits no breakpoints. Raises EvaluationFailed if it is too long."""
    if len(command) > LONGEST:
        raise EvaluationFailed(f"phpdbg reads lines of {LONGEST} characters, and this is longer")
    return f"set breaks off\n{command}\nset breaks on"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")


def answer(text: str) -> Any:
    """Return what the agent answered. Raises EvaluationFailed with PHP's message."""
    found = re.findall(r"^@freezeframe (.*)$", text, re.MULTILINE)
    if not found:
        message = re.search(r"\[?PHP [\w ]+:  ?(.*)", text)
        raise EvaluationFailed((message[1] if message else text.strip()[:200]).rstrip("]."))
    result = json.loads(found[-1])
    if isinstance(result, dict) and "failed" in result:
        raise EvaluationFailed(str(result["failed"]).rstrip("."))
    return result


def answer_or_none(text: str) -> Sequence[str] | None:
    try:
        return list(answer(text))
    except EvaluationFailed:
        return None
