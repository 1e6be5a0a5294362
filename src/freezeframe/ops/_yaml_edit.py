"""Insert or remove one entry of a block mapping in a YAML file; the rest stays the same. No I/O.

Only the block of the entry is understood: one key a line, values in the notation of JSON, which is
YAML, too. A file that is written otherwise is refused.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ._config_edit import UnreadableConfig


def read(text: str, key: str) -> dict[str, dict[str, Any]]:
    """Return the entries of the mapping *key*, with those of their values that are plain."""
    found: dict[str, dict[str, Any]] = {}
    for name, block in _entries(text, key):
        values = re.findall(r"^\s+([\w-]+):[ \t]+(\S[^\n]*?)[ \t]*$", block, re.MULTILINE)
        found[name] = {field: _plain(value) for field, value in values}
    return found


def put(text: str, key: str, name: str, value: dict[str, Any] | None) -> str:
    """Return *text* with the entry *name* in the mapping *key*, or without it (None).

    Raises UnreadableConfig.
    """
    for present, block in _entries(text, key):
        if present == name:
            text = text.replace(block, "", 1)
    if value is None:
        return text
    lines = [f"  {name}:", *(f"    {field}: {json.dumps(each)}" for field, each in value.items())]
    entry = "\n".join(lines) + "\n"
    head = re.search(rf"^{re.escape(key)}:[ \t]*(.*)$", text, re.MULTILINE)
    if head is None:
        gap = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{gap}{key}:\n{entry}"
    if head[1] not in ("", "{}", "null", "~"):
        raise UnreadableConfig(f"{key} is not a block of lines")
    inner = re.search(r"\A\n([ \t]+)\S", text[head.end() :])
    if inner and inner[1] != "  ":
        raise UnreadableConfig(f"{key} is not indented by two spaces")
    return f"{text[: head.start()]}{key}:\n{entry}{text[head.end() :].removeprefix(chr(10))}"


def _entries(text: str, key: str) -> list[tuple[str, str]]:
    """Return name and lines of each entry."""
    block = rf"^{re.escape(key)}:[ \t]*\n((?:(?:[ \t]+[^\n]*)?\n)*)"
    head = re.search(block, text, re.MULTILINE)
    body = head[1] if head else ""
    pattern = r"^  ([\w-]+):[^\n]*\n(?:(?:   +[^\n]*|[ \t]*)\n)*"
    return [(found[1], found[0]) for found in re.finditer(pattern, body, re.MULTILINE)]


def _plain(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value.strip("'\"")
