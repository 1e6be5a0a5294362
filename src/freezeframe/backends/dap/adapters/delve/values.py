"""Values as they are shown: delve's own form with short types, every number once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import RawValue

from .places import PACKAGE_PATH
from .readable import duration, is_cut_error, readable

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_QUOTED_TYPE = re.compile(r'\((\**)"([^"]+)"\)')
#: unsigned numbers are shown twice
_HEX = re.compile(r"(?<=[\d)]) = 0x[0-9a-f]+\b")
_BYTES = re.compile(r"(\[\](?:uint8|byte) len: \d+, cap: \d+, )\[([\d,]+)\]")
_SIZES = re.compile(r" len: (\d+), cap: (\d+), ")


def enrich(value: RawValue, variable: Mapping[str, Any]) -> RawValue:
    kind = PACKAGE_PATH.sub("", value.type) if value.type else None
    # Beside its elements a container has its length for a child.
    count = variable.get("indexedVariables") or value.count
    text = _text(value.text)
    if kind == "time.Duration" and re.fullmatch(r"-?\d+", text):
        text = f"{duration(int(text))} ({text})"
    # The error that another one wraps is what matters: it is opened.
    opaque = value.opaque or (bool(value.ref) and is_cut_error(text))
    # Registers stand right-aligned.
    return replace(value, name=value.name.strip(), text=text, type=kind, count=count, opaque=opaque)


def is_nameless(variable: Mapping[str, Any]) -> bool:
    """Whether it is what a pointer points to, or what an interface holds."""
    if variable.get("name") == "":
        return True
    path = str(variable.get("evaluateName") or "")
    return variable.get("name") == "data" and path.endswith(".(data)")


def hides(variable: Mapping[str, Any]) -> bool:
    """What the compiler adds, results that have no name and are not there yet, and lengths."""
    return str(variable.get("name", "")).startswith((".", "~", "len()", "cap()"))


def _text(text: str) -> str:
    """Return a value as it is shown, with short types and numbers once; strings as they are."""
    text = _QUOTED_TYPE.sub(lambda m: f"({m[1]}{PACKAGE_PATH.sub('', m[2])})", text)
    strings: list[str] = []

    def kept(found: re.Match[str]) -> str:
        strings.append(found[0])
        return f"\0{len(strings) - 1}\0"

    text = readable(_tidy(_STRING.sub(kept, text)))
    return re.sub(r"\0(\d+)\0", lambda found: strings[int(found[1])], text)


def _tidy(text: str) -> str:
    text = _HEX.sub("", PACKAGE_PATH.sub("", text))
    text = _BYTES.sub(lambda m: m[1] + _as_text(m[2]), text)
    text = re.sub(r",(?=[^\s])", ", ", text)
    text = text.replace(", ]", "]").replace(", }", "}")
    return _SIZES.sub(_sizes, text)


def _sizes(found: re.Match[str]) -> str:
    """Return of a slice's length and capacity what its elements do not show."""
    length, capacity = found[1], found[2]
    if "...+" in _elements(found.string[found.end() :]):
        return f"(len {length}, cap {capacity}) "
    return " " if length == capacity else f"(cap {capacity}) "


def _elements(text: str) -> str:
    """Return the brackets that *text* begins with, and what is in them."""
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "[{") - (char in "]}")
        if depth <= 0:
            return text[:index]
    return text


def _as_text(numbers: str) -> str:
    """Return bytes as the string that they spell, where they do."""
    spelled = bytes(int(number) for number in numbers.split(","))
    try:
        text = spelled.decode("utf-8")
    except UnicodeDecodeError:
        return f"[{numbers}]"
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else f"[{numbers}]"
