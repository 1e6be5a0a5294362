"""Check a DAP message against the protocol's own schema.

`validate(message)` raises AssertionError with the path and the reason. A request, response or event
that the protocol knows is held to its own definition; a custom one to the general form.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema

SCHEMA = "_vendored/pydevd/_pydevd_bundle/_debug_adapter/debugProtocol.json"


def validate(message: Mapping[str, Any]) -> None:
    """Raise AssertionError unless *message* is what the protocol says that it is."""
    definition = definition_of(message)
    for error in _validator(definition).iter_errors(message):
        path = "/".join(str(part) for part in error.absolute_path) or "the message"
        raise AssertionError(f"{definition}: {path}: {error.message[:300]}")


def definition_of(message: Mapping[str, Any]) -> str:
    """Return the name of the definition that *message* must meet."""
    kind = message.get("type")
    known = schema()["definitions"]
    if kind == "request":
        return _known(message.get("command"), "Request", known)
    if kind == "event":
        return _known(message.get("event"), "Event", known)
    if kind == "response":
        if not message.get("success"):
            # Its `body` is required there, and may be empty; adapters leave it out.
            return "Response" if "body" not in message else "ErrorResponse"
        return _known(message.get("command"), "Response", known)
    return "ProtocolMessage"


@functools.cache
def schema() -> dict[str, Any]:
    """Return the schema that is part of the installed debugpy."""
    spec = importlib.util.find_spec("debugpy")
    assert spec is not None
    assert spec.origin is not None
    text = (Path(spec.origin).parent / SCHEMA).read_text(encoding="utf-8")
    whole: dict[str, Any] = json.loads(text)
    return whole


@functools.cache
def _validator(definition: str) -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(
        {"$ref": f"#/definitions/{definition}", "definitions": schema()["definitions"]}
    )


def _known(name: object, suffix: str, known: Mapping[str, Any]) -> str:
    if not isinstance(name, str) or not name:
        return suffix
    candidate = name[0].upper() + name[1:] + suffix
    return candidate if candidate in known else suffix
