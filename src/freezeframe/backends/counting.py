"""Hit counts and log messages, read. Pure."""

from __future__ import annotations

import re

_HITS = re.compile(r"\s*(==|=|>=|<=|>|<|%)?\s*(\d+)\s*")


def read_hits(text: str) -> tuple[str, int]:
    """Return comparison and number of a hit count. Raises ValueError in a sentence."""
    match = _HITS.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is no hit count; write 3, >= 3, > 3, < 3 or % 3")
    compare, n = match[1] or "==", int(match[2])
    if compare == "%" and n == 0:
        raise ValueError("`% 0` is never a hit")
    return "==" if compare == "=" else compare, n


def wants(hits: tuple[str, int], count: int) -> bool:
    """Whether the *count*-th pass is one that a hit count wants."""
    compare, n = hits
    match compare:
        case ">=":
            return count >= n
        case ">":
            return count > n
        case "<=":
            return count <= n
        case "<":
            return count < n
        case "%":
            return count % n == 0
    return count == n


def read_log(message: str) -> list[str | list[str]]:
    """Return a log message as text and, in lists of one, expressions. `{{` means a brace.

    Braces inside an expression are matched: `{(struct p){1, 2}}`. Raises ValueError.
    """
    parts: list[str | list[str]] = []
    text, position = "", 0
    while position < len(message):
        if message[position : position + 2] in ("{{", "}}"):
            text += message[position]
            position += 2
        elif message[position] == "{":
            depth, end = 1, position + 1
            while end < len(message) and depth:
                depth += {"{": 1, "}": -1}.get(message[end], 0)
                end += 1
            if depth:
                raise ValueError("a brace of its message is not closed")
            parts += [text] if text else []
            parts.append([message[position + 1 : end - 1].strip()])
            text, position = "", end
        else:
            text += message[position]
            position += 1
    return [*parts, text] if text else parts
