"""What the text of a program shows of its first statement, and of being an ES module."""

from __future__ import annotations

from .js_scanner import read_text


def begins_with_private_class(text: str) -> bool:
    """Return whether the first statement is a class with private names."""
    read = read_text(text)
    at = 0
    while read.word(at) in ("export", "default"):
        at += 1
    if read.word(at) != "class":
        return False
    while at < len(read.tokens) and read.word(at) != "{":
        at += 1
    body = read.tokens[at + 1 : read.past(at)]
    return any(each.kind == "name" and each.text.startswith("#") for each in body)


def has_imports_or_exports(text: str) -> bool:
    """Return whether a text has import or export statements outside of all brackets."""
    read = read_text(text)
    at = 0
    while at < len(read.tokens):
        is_statement = read.word(at) in ("import", "export") and read.word(at + 1) not in (".", "(")
        if is_statement and read.tokens[at].kind == "name" and read.word(at - 1) != ".":
            return True
        at = read.past(at)
    return False
