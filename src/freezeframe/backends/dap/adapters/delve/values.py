"""Values as they are shown: delve's format with short types, every number once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import RawValue

from .frames import PACKAGE_PATH
from .value_formats import duration, is_cut_error, readable

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_QUOTED_TYPE = re.compile(r'\((\**)"([^"]+)"\)')
#: delve shows unsigned numbers twice
_HEX = re.compile(r"(?<=[\d)]) = 0x[0-9a-f]+\b")
_BYTES = re.compile(r"(\[\](?:uint8|byte) len: \d+, cap: \d+, )\[([\d,]+)\]")
_SIZES = re.compile(r" len: (\d+), cap: (\d+), ")


def enrich(value: RawValue, variable: Mapping[str, Any]) -> RawValue:
    kind = PACKAGE_PATH.sub("", value.type) if value.type else None
    # A container's children are its elements and its length.
    count = variable.get("indexedVariables") or value.count
    text = _text(value.text)
    if kind == "time.Duration" and re.fullmatch(r"-?\d+", text):
        text = f"{duration(int(text))} ({text})"
    # A wrapped error is what matters: it is expanded.
    opaque = value.opaque or (bool(value.ref) and is_cut_error(text))
    # The names of registers are right-aligned.
    return replace(value, name=value.name.strip(), text=text, type=kind, count=count, opaque=opaque)


def is_nameless(variable: Mapping[str, Any]) -> bool:
    """Return whether the variable is a pointer's target, or an interface's value."""
    if variable.get("name") == "":
        return True
    path = str(variable.get("evaluateName") or "")
    return variable.get("name") == "data" and path.endswith(".(data)")


def hides(variable: Mapping[str, Any]) -> bool:
    """Hide the compiler's variables, unnamed results that are not set yet, and lengths."""
    # A name in parentheses is shadowed: in optimised code, both results of the same name.
    return str(variable.get("name", "")).lstrip("(").startswith((".", "~", "len()", "cap()"))


def _text(text: str) -> str:
    """Return a value as it is shown, with short types and each number once; strings unchanged."""
    text = _QUOTED_TYPE.sub(lambda m: f"({m[1]}{PACKAGE_PATH.sub('', m[2])})", text)
    strings: list[str] = []

    def kept(found: re.Match[str]) -> str:
        strings.append(found[0])
        return f"\0{len(strings) - 1}\0"

    text = readable(_tidy(_STRING.sub(kept, text)))
    return re.sub(r"\0(\d+)\0", lambda found: strings[int(found[1])], text)


def _tidy(text: str) -> str:
    text = _HEX.sub("", PACKAGE_PATH.sub("", _without_fields(text)))
    text = _BYTES.sub(lambda m: m[1] + _as_text(m[2]), text)
    text = re.sub(r",(?=[^\s])", ", ", text)
    text = text.replace(", ]", "]").replace(", }", "}")
    return _SIZES.sub(_sizes, text)


_STRUCT = "struct { "


def _without_fields(text: str) -> str:
    """Return a value without the fields of its anonymous struct types: its own text has them."""
    at = text.find(_STRUCT)
    while at >= 0:
        begin = at + len(_STRUCT) - 2
        end = begin + len(_elements(text[begin:])) + 1
        # Only where the fields with their values follow.
        if text[end : end + 2] == " {":
            text = f"{text[:begin]}{text[end + 1 :]}"
        at = text.find(_STRUCT, at + len(_STRUCT))
    return text


def _sizes(found: re.Match[str]) -> str:
    """Return the part of a slice's length and capacity that its elements do not show."""
    length, capacity = found[1], found[2]
    if "...+" in _elements(found.string[found.end() :]):
        return f"(len {length}, cap {capacity}) "
    return " " if length == capacity else f"(cap {capacity}) "


def _elements(text: str) -> str:
    """Return the brackets that *text* begins with, and their contents."""
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "[{") - (char in "]}")
        if depth <= 0:
            return text[:index]
    return text


def _as_text(numbers: str) -> str:
    """Return bytes as a string, if they are printable text."""
    data = bytes(int(number) for number in numbers.split(","))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"[{numbers}]"
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else f"[{numbers}]"
