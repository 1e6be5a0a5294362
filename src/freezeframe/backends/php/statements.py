"""How many statements of a PHP file begin on one line, one after the other."""

from __future__ import annotations

import os
from functools import lru_cache
from itertools import groupby, pairwise

from freezeframe import files

from . import LARGEST, read_tokens

#: after these a statement begins
_ENDS = frozenset(";{}")
#: line_tokens that leave a statement before the next one of the line
_LEAVING = frozenset(("return", "throw", "break", "continue", "exit", "die"))
#: statements that have parts, or that may begin no statement for the debugger
_UNCLEAR = frozenset(
    (
        *("if", "else", "elseif", "for", "foreach", "while", "do", "switch", "case", "default"),
        *("try", "catch", "finally", "match", "function", "fn", "class", "goto", "declare", "use"),
        *("namespace", "global", "static", "const", "unset", "yield", "endif", "endwhile"),
        *("endfor", "endforeach", "endswitch"),
    )
)


#: statements with others in them, and how many of these are passed at most: each costs a step
_COMPOUND = frozenset(("if", "for", "foreach", "while", "do", "switch"))
_MANY = 2_000
_FUNCTIONS = frozenset(("function", "fn", "class", "match", "yield"))


def statements_on(path: str | None, line: int | None) -> int:
    """Return how many statements begin on a line and run one after the other; 1 if unclear.

    Never too many: each of them begins exactly once whenever the line runs to its end. A whole
    loop or condition on one line has many: a statement of another line follows.
    """
    if path is None or line is None:
        return 1
    try:
        status = os.stat(path)
        if status.st_size > LARGEST:
            return 1
        return _read(path, status.st_mtime_ns, status.st_size).get(line, 1)
    except OSError:
        return 1


@lru_cache(maxsize=64)
def _read(path: str, stamp: int, size: int) -> dict[int, int]:
    return count(files.read_text(path, LARGEST, errors="surrogateescape"))


def count(text: str) -> dict[int, int]:
    """Return the lines of a source with several statements, and how many each has."""
    lines = [(line, [text for text, _ in row]) for line, row in groupby(read_tokens(text), _line)]
    found = {}
    behind = [row for _, row in lines[1:]] + [["}"]]
    for ((_, before), (line, line_tokens)), after in zip(
        pairwise([(0, [";"]), *lines]), behind, strict=True
    ):
        number = _statements(line_tokens) if before[-1] in _ENDS else 1
        if number == 1 and before[-1] in _ENDS and _is_compound(line_tokens, after):
            number = _MANY
        if number > 1:
            found[line] = number
    return found


def _line(token: tuple[str, int]) -> int:
    return token[1]


def _statements(line_tokens: list[str]) -> int:
    line_tokens = _body(line_tokens)
    while line_tokens and line_tokens[-1] == "}":
        line_tokens = line_tokens[:-1]
    if any(token.lower() in _UNCLEAR or token in "{}" for token in line_tokens):
        return 1
    number = depth = 0
    begins, is_echo = True, False
    for token in line_tokens:
        if begins:
            if token == ";":
                return 1
            number += 1
            is_echo, leaves = token.lower() == "echo", token.lower() in _LEAVING
            begins = False
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token, 0)
        # Each part of `echo 1, 2;` is a statement of its own.
        number += is_echo and depth == 0 and token == ","
        if token == ";" and depth == 0:
            if leaves:
                break
            begins = True
    return number


def _is_compound(line_tokens: list[str], after: list[str]) -> bool:
    """Return whether a line is a loop or a condition from its first word to its end.

    What leaves the line, or its function, could come to it again with no other line between.
    """
    lower = [token.lower() for token in line_tokens]
    if lower[0] not in _COMPOUND or not _LEAVING.isdisjoint({*lower} - {"break"}):
        return False
    if not _FUNCTIONS.isdisjoint(lower) or (":" in lower and lower[0] != "switch"):
        return False
    braces = lower.count("{") - lower.count("}")
    follows = after[0].lower() not in ("}", "else", "elseif", "case", "default", "?")
    return braces == 0 and lower[-1] in (";", "}") and follows


def _body(line_tokens: list[str]) -> list[str]:
    """Return a line without the label or the head of the function that its statements follow."""
    lower = [token.lower() for token in line_tokens]
    begin = 0
    if lower[0] in ("case", "default"):
        # A colon of `::` or `?:` is not that of the label.
        colons = [index for index in range(len(line_tokens)) if _is_colon(line_tokens, index)]
        begin = colons[0] + 1 if len(colons) == 1 and "?" not in line_tokens else 0
    elif "function" in lower and "{" in line_tokens:
        at, brace = lower.index("function"), line_tokens.index("{")
        is_named = line_tokens[at + 2 : at + 3] == ["("]
        begin = brace + 1 if is_named and at < brace else 0
    return line_tokens[begin:]


def _is_colon(line_tokens: list[str], index: int) -> bool:
    around = line_tokens[max(0, index - 1) : index + 2]
    return line_tokens[index] == ":" and around.count(":") == 1
