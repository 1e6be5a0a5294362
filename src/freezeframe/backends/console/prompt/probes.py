"""What probes of ours tell at a prompt, read: a stop, an answer, a complaint, a value. Pure.

A stop is a line `@stop {…}`, an answer is JSON, a complaint begins with `***`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from freezeframe.backends.backend import RawValue
from freezeframe.errors import DebuggerError, EvaluationFailed

_STOP = "@stop "


def stop(text: str) -> Mapping[str, Any] | None:
    """Return the last stop that is told; None where none is."""
    told = [line for line in text.split("\n") if line.startswith(_STOP)]
    return dict(json.loads(told[-1].removeprefix(_STOP))) if told else None


def answer(tool: str, text: str) -> Any:
    """Return what a probe answers. Raises EvaluationFailed with its complaint."""
    # A stop may be told in the midst of an answer.
    said = "\n".join(line for line in text.split("\n") if not line.startswith(_STOP))
    if said.startswith("***"):
        raise EvaluationFailed(complaint(said))
    try:
        return json.loads(said)
    except ValueError:
        raise DebuggerError(f"{tool} answered {text.strip()[:200]!r}.", next="dbg logs") from None


def complaint(text: str) -> str:
    """Return what is wrong, in one line and without a full stop."""
    return text.strip().splitlines()[0].removeprefix("***").strip().rstrip(".")


def value(told: Mapping[str, Any]) -> RawValue:
    return RawValue(
        told.get("name") or "",
        told["text"],
        told.get("type"),
        told.get("ref", 0),
        told.get("count"),
        told.get("expression"),
        failed=bool(told.get("failed")),
        definition=bool(told.get("definition")),
    )
