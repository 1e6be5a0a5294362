"""Compact JSON encoding of values and frames for the database.

A value is `[name, text, type, count, flags, children]` without trailing defaults; a scope is
`[kind, name, more, values]`; a frame `[function, file, line, library, module, arguments]`. This
module does not access the database.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from freezeframe.model.stops import Frame
from freezeframe.model.values import Scope, ScopeKind, Value

from .redaction import Secrets

RawValue = list[Any]
RawScope = list[Any]

#: Characters kept of one value's text.
_MAX_TEXT = 2_000
#: Children kept of one value, and levels of children kept below a variable.
_MAX_CHILDREN = 50
_MAX_LEVELS = 2
#: Bytes of all variables of one stop; beyond them children are dropped first, then long texts.
_MAX_STOP_BYTES = 64_000
#: Bytes above which a text is compressed.
_MAX_PLAIN_BYTES = 600

#: Compact JSON.
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_OPAQUE, _FAILED, _PARENT, _CUT = 1, 2, 4, 8


# --- writing ------------------------------------------------------------------------------------


def scopes_bytes(scopes: Iterable[Scope], secrets: Secrets) -> bytes | str:
    """Return scopes as they are stored, within the size limit of one stop."""
    scopes = list(scopes)
    for levels, text in ((_MAX_LEVELS, _MAX_TEXT), (1, 500), (0, 200), (0, 60)):
        raw = [raw_scope(scope, secrets, levels, text) for scope in scopes]
        packed = encode(raw)
        if len(packed) <= _MAX_STOP_BYTES:
            break
    return pack(packed)


def raw_scope(
    scope: Scope, secrets: Secrets, levels: int = _MAX_LEVELS, text: int = _MAX_TEXT
) -> RawScope:
    values = [raw_value(value, secrets, levels, text) for value in scope.values]
    return [scope.kind.value, scope.name, scope.more, values]


def raw_value(value: Value, secrets: Secrets, levels: int, limit: int) -> RawValue:
    if secrets.hides(value.name, value.text):
        return [value.name, secrets.placeholder, value.type]
    text = secrets.redact(value.text)
    if not value.has_children and not value.children and len(text) <= limit and not value.failed:
        short = [value.name, text, value.type]
        return short if value.count is None else [*short, value.count]
    flags = (
        _OPAQUE * value.opaque
        | _FAILED * value.failed
        | _PARENT * value.has_children
        | _CUT * (len(text) > limit)
    )
    children = []
    if levels:
        children = [
            raw_value(c, secrets, levels - 1, limit) for c in value.children[:_MAX_CHILDREN]
        ]
    raw: RawValue = [value.name, text[:limit], value.type, value.count, flags, children]
    while raw[-1] in (None, 0, []) and len(raw) > 2:
        raw.pop()
    return raw


def raw_frame(frame: Frame, file: str | None, secrets: Secrets) -> list[Any]:
    arguments = secrets.redact(frame.arguments) if frame.arguments is not None else None
    raw = [frame.function, file, frame.line, int(frame.library), frame.module, arguments]
    while raw[-1] in (None, 0) and len(raw) > 1:
        raw.pop()
    return raw


def pack(text: str) -> bytes | str:
    """Return *text*, compressed if it is long."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= _MAX_PLAIN_BYTES:
        return text if text.isascii() else data.decode("utf-8", "replace")
    return zlib.compress(data, 1)


def unpack(content: bytes | str) -> str:
    if isinstance(content, str):
        return content
    return zlib.decompress(content).decode("utf-8", "replace")


# --- reading ------------------------------------------------------------------------------------


def raw_scopes(content: bytes | str) -> list[RawScope]:
    return json.loads(unpack(content))  # type: ignore[no-any-return]


def scopes(raw: Iterable[RawScope]) -> tuple[Scope, ...]:
    return tuple(
        Scope(name, ScopeKind(kind), tuple(value(each) for each in values), more)
        for kind, name, more, values in raw
    )


def value(raw: RawValue) -> Value:
    name, text, kind, count, flags, children = _padded(raw)
    flags = flags or 0
    return Value(
        name,
        text,
        kind,
        tuple(value(child) for child in children or ()),
        bool(flags & _PARENT),
        count,
        opaque=bool(flags & _OPAQUE),
        failed=bool(flags & _FAILED),
    )


def frame(index: int, raw: Sequence[Any]) -> Frame:
    function, path, line, library, module, arguments = _padded(raw)
    return Frame(
        index, function, path, line, module=module, library=bool(library), arguments=arguments
    )


def _padded(raw: Sequence[Any]) -> list[Any]:
    return [*raw, *[None] * (6 - len(raw))]


def children_of(raw: RawValue) -> list[RawValue]:
    return raw[5] if len(raw) > 5 else []


def is_cut(raw: RawValue) -> bool:
    return bool(len(raw) > 4 and raw[4] and raw[4] & _CUT)


def is_opaque(raw: RawValue) -> bool:
    return bool(len(raw) > 4 and raw[4] and raw[4] & _OPAQUE)
