"""The functions by which compilers and bundlers export a name: `run: () => run`."""

from __future__ import annotations

import re

from .js_scanner import Function, bare

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_EXPORTED = re.compile(r"(?:return\s+)?\(?\s*(?:[\w$]+\.)*([\w$]+)\s*\)?\s*;?\s*\}?")


def is_export(text: str, function: Function) -> bool:
    """Return whether all that a function does is to return what has its own name."""
    body = _COMMENT.sub("", text[function.body : min(function.end, function.body + 500)]).strip()
    found = _EXPORTED.fullmatch(body)
    return found is not None and found[1] == bare(function.name)
