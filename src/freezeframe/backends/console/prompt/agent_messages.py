"""Parse what our agents print at a prompt: a stop, an answer, an error, a value. Pure.

A stop is a line `@stop {…}`, an answer is JSON, an error message begins with `***`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from freezeframe.backends.backend import RawValue
from freezeframe.errors import DebuggerError, EvaluationFailed

_STOP = "@stop "


def stop(text: str) -> Mapping[str, Any] | None:
    """Return the last reported stop, or None."""
    reported = [line for line in text.split("\n") if line.startswith(_STOP)]
    return dict(json.loads(reported[-1].removeprefix(_STOP))) if reported else None


def answer(tool: str, text: str) -> Any:
    """Return what an agent answered. Raises EvaluationFailed with its error message."""
    # A stop may be reported in the middle of an answer.
    body = "\n".join(line for line in text.split("\n") if not line.startswith(_STOP))
    if body.startswith("***"):
        raise EvaluationFailed(error_text(body))
    try:
        return json.loads(body)
    except ValueError:
        raise DebuggerError(f"{tool} answered {text.strip()[:200]!r}.", next="dbg logs") from None


def error_text(text: str) -> str:
    """Return an agent's error message, in one line and without a full stop."""
    return text.strip().splitlines()[0].removeprefix("***").strip().rstrip(".")


def value(fields: Mapping[str, Any]) -> RawValue:
    return RawValue(
        fields.get("name") or "",
        fields["text"],
        fields.get("type"),
        fields.get("ref", 0),
        fields.get("count"),
        fields.get("expression"),
        failed=bool(fields.get("failed")),
        definition=bool(fields.get("definition")),
    )
