"""Redact answers: values that look secret by name or shape are hidden unless revealed.

Applied to every answer, text or JSON. The program's output is not redacted.
"""

from __future__ import annotations

import functools
from dataclasses import fields, is_dataclass, replace
from typing import Any

from freezeframe.history.redaction import Secrets
from freezeframe.model.answers import Chunk
from freezeframe.model.locations import Source
from freezeframe.model.stops import ExceptionInfo, Frame, WatchHit
from freezeframe.model.values import Value

#: replaces a secret inside a longer text
WORD = "<hidden>"

#: fields whose text quotes values of the program
_QUOTING: dict[type, tuple[str, ...]] = {
    ExceptionInfo: ("message", "raw_traceback", "causes"),
    Frame: ("arguments",),
}
_AS_THEY_ARE = (Chunk, Source)


@functools.lru_cache(maxsize=4)
def secrets_of(patterns: tuple[str, ...]) -> Secrets:
    """Return the redaction rules for answers, which hide the names that history does not keep."""
    return Secrets(patterns, WORD)


def redact(answer: Any, secrets: Secrets) -> Any:
    """Return *answer*, or a copy in which secrets are hidden."""
    kind = type(answer)
    if kind is Value:
        return _value(answer, secrets)
    if kind is WatchHit:
        return _watch(answer, secrets)
    if kind is tuple:
        made = [redact(each, secrets) for each in answer]
        return answer if all(a is b for a, b in zip(answer, made, strict=True)) else tuple(made)
    names = _fields(kind)  # type: ignore[arg-type]  # mypy: type[Any] is not Hashable
    if not names or kind in _AS_THEY_ARE:
        return answer
    quoting = _QUOTING.get(kind, ())
    changes = {}
    for name in names:
        before = getattr(answer, name)
        if name == "command" and isinstance(before, tuple):
            after = _arguments(before, secrets)
        else:
            after = _text(before, secrets) if name in quoting else redact(before, secrets)
        if after is not before:
            changes[name] = after
    return replace(answer, **changes) if changes else answer


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()


def _arguments(command: tuple[str, ...], secrets: Secrets) -> tuple[str, ...]:
    shown = secrets.redact_arguments(command)
    return command if shown == command else shown


def _text(found: Any, secrets: Secrets) -> Any:
    if isinstance(found, str):
        cleared = secrets.redact(found)
        return found if cleared == found else cleared
    if isinstance(found, tuple):
        return tuple(_text(each, secrets) for each in found)
    return found


def _value(value: Value, secrets: Secrets) -> Value:
    if secrets.hides(value.name, value.text):
        hint = f"<hidden: dbg print --reveal {value.expression or value.name}>"
        return replace(
            value,
            text=hint,
            children=(),
            has_children=False,
            was=None if value.was is None else WORD,
            parts=(),
            more_parts=0,
            opaque=False,
        )
    changes: dict[str, Any] = {}
    if (text := secrets.redact(value.text)) != value.text:
        changes["text"] = text
    if value.was is not None and (was := _was(value, secrets)) != value.was:
        changes["was"] = was
    for name in ("children", "parts"):
        before = getattr(value, name)
        if before and (after := redact(before, secrets)) is not before:
            changes[name] = after
    return replace(value, **changes) if changes else value


def _was(value: Value, secrets: Secrets) -> str:
    assert value.was is not None
    return WORD if secrets.hides(value.name, value.was) else secrets.redact(value.was)


def _watch(hit: WatchHit, secrets: Secrets) -> WatchHit:
    changes: dict[str, Any] = {}
    for name in ("old", "new"):
        text = getattr(hit, name)
        if text is None:
            continue
        shown = WORD if secrets.hides(hit.expression, text) else secrets.redact(text)
        if shown != text:
            changes[name] = shown
    return replace(hit, **changes) if changes else hit
