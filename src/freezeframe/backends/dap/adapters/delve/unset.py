"""Variables that have no value yet, or are listed twice, determined from the source.

delve reads the memory of a variable before it is set: at the line of `func` results are not zeroed
and what a closure captures is not loaded, and within a statement of several lines its variables are
not set (1.27.2). It lists an argument
that is moved to the heap twice: as `x`, and as `(x)`, its old location.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from freezeframe import files
from freezeframe.backends.optimization import UNKNOWN_NAMES, FrameNames

from .frames import names_in

#: blanked before the source is searched
_TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|`[^`]*`|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.S)
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_FUNC = re.compile(r"\bfunc\b[ \t]*")
_DECLARES = re.compile(r"(?P<names>\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*:=|\bvar[ \t]+(?P<one>\w+)\b")
#: statements whose first line declares variables for their block
_HEADER = re.compile(r"\s*(?:\}\s*else\s+)?(?:if|for|switch|select|case)\b")
#: a line that ends like this continues on the next
_CONTINUED = re.compile(r"[-+*/%&|^<>=!,.(\[{:]\s*$")
#: `func1`, `func1.2`: closures within closures
_CLOSURES = re.compile(r"\.(?:func)?\d+(?=\.|$)")


@dataclass(frozen=True, slots=True)
class _Function:
    begin: int
    #: offsets of the body's beginning and end
    body: int
    end: int
    parameters: tuple[str, ...]
    results: tuple[str, ...]


def frame_names(path: str, line: int, function: str, innermost: bool) -> FrameNames:
    """Return which names of the frame at a line have no value yet, and which are listed twice."""
    try:
        stat = os.stat(path)
        text, functions = _read(path, stat.st_mtime_ns, stat.st_size)
    except OSError:
        return UNKNOWN_NAMES
    begin = _offset(text, line)
    end = text.find("\n", begin) if begin is not None else -1
    if begin is None or end < 0:
        return UNKNOWN_NAMES
    depth = _depth(function)
    around = _around(functions, begin, end, depth)
    if around is None:
        return UNKNOWN_NAMES
    before = text[around.body : begin]
    signature = (*around.parameters, *around.results)
    twice = frozenset(each for each in signature if not _declares(before, each))
    if begin <= around.body:
        unset = frozenset(around.results)
        if depth:
            unset |= _captured(text, functions, around)
        if around.body >= end or not text[around.body + 1 : end].strip():
            return FrameNames(unset, twice=twice)
        # In a one-line function the code cannot be distinguished from what precedes it.
        return FrameNames(perhaps=unset if innermost else frozenset(), twice=twice)
    return FrameNames(_being_declared(text, around, begin) - {*signature}, twice=twice)


def _offset(text: str, line: int) -> int | None:
    """Return the offset of a line."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
        if not at:
            return None
    return at


def _depth(function: str) -> int:
    """Return how many functions enclose a closure, by its name."""
    # Closures of package variables are named after the function that initializes those.
    name = re.sub(r"\.init\.\d+|(?:\.init|\.glob\.)\.func\d+", "", function)
    return len(_CLOSURES.findall(name))


def _around(functions: tuple[_Function, ...], begin: int, end: int, depth: int) -> _Function | None:
    """Return the function that a frame is in, by the nesting depth in its name."""
    found = [each for each in functions if each.begin < end and each.end > begin]
    fitting = [
        each
        for each in found
        if sum(1 for other in found if other.body < each.begin < other.end) == depth
    ]
    return fitting[0] if len(fitting) == 1 else None


def _captured(text: str, functions: tuple[_Function, ...], closure: _Function) -> frozenset[str]:
    """Return the names in a closure that occur before it too, in the functions around it."""
    outer = min(each.begin for each in functions if each.begin <= closure.begin < each.end)
    before = _NAME.findall(text, outer, closure.begin)
    inside = _NAME.findall(text, closure.body, closure.end)
    return frozenset(before) & frozenset(inside) - {*closure.parameters}


def _being_declared(text: str, around: _Function, begin: int) -> frozenset[str]:
    """Return the names that a statement declares which began before the line and continues in
    it."""
    unset: set[str] = set()
    for found in _DECLARES.finditer(text, around.body, begin):
        start = text.rfind("\n", 0, found.start()) + 1
        if _HEADER.match(text, start) or _statement_end(text, found.end()) < begin:
            continue
        names = (found["names"] or found["one"]).replace(" ", "").split(",")
        before = text[around.body : start]
        unset.update(name for name in names if not _declares(before, name))
    return frozenset(unset)


def _declares(text: str, name: str) -> bool:
    """Return whether a source declares that name; may report True too often."""
    word = rf"(?<![\w.]){re.escape(name)}\b"
    declared = rf"{word}\s*(?:,\s*\w+\s*)*:=|\bvar\s+(?:\w+\s*,\s*)*{word}|^\s*{word}\s+[\w*\[]"
    return re.search(declared, text, re.MULTILINE) is not None


def _statement_end(text: str, at: int) -> int:
    """Return the offset where the statement at an offset ends."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        opened = next((i for i in range(at, end) if text[i] in "([{"), None)
        if opened is not None:
            at = _closed(text, opened)
        elif _CONTINUED.search(text, at, end):
            at = end + 1
        else:
            return end
    return len(text)


def _closed(text: str, at: int) -> int:
    """Return the offset after the bracket that closes the one at an offset."""
    depth = 0
    for found in re.compile(r"[][(){}]").finditer(text, at):
        depth += 1 if found[0] in "([{" else -1
        if depth == 0:
            return found.end()
    return len(text)


@functools.lru_cache(maxsize=16)
def _read(path: str, stamp: int, size: int) -> tuple[str, tuple[_Function, ...]]:
    text = _TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), files.read_text(path))
    return text, tuple(_functions(text))


def _functions(text: str) -> Iterator[_Function]:
    """Yield the functions of a source, also those without a name, but not function types."""
    bodies: set[int] = set()
    for found in _FUNC.finditer(text):
        at, parameters = found.end(), []
        declared = not text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if declared and text.startswith("(", at):
            end = _closed(text, at)
            parameters += names_in(text[at + 1 : end - 1])
            at = end
        if declared:
            name = re.compile(r"\s*\w+\s*").match(text, at)
            at = name.end() if name else at
            at = _closed(text, at) if text.startswith("[", at) else at
        if not text.startswith("(", at):
            continue
        end = _closed(text, at)
        parameters += names_in(text[at + 1 : end - 1])
        results: list[str] = []
        behind = re.compile(r"[ \t]*").match(text, end)
        at = behind.end() if behind else end
        if text.startswith("(", at):
            end = _closed(text, at)
            inside = text[at + 1 : end - 1]
            # `(int, error)` has no names.
            results = names_in(inside) if re.search(r"\w[ \t]+[\w*\[(]|\.\.\.", inside) else []
            at = end
        body = _body(text, at)
        # A function type as a result ends where the function's own body begins.
        if body is not None and body not in bodies:
            bodies.add(body)
            yield _Function(
                found.start(), body, _closed(text, body), tuple(parameters), tuple(results)
            )


_TYPE_WITH_BRACES = re.compile(r"(?:interface|struct)\s*\{")


def _body(text: str, at: int) -> int | None:
    """Return the offset of the body after a signature; None after a function type."""
    while at < len(text):
        typed = _TYPE_WITH_BRACES.match(text, at)
        if typed is not None:
            at = _closed(text, typed.end() - 1)
        elif text[at] == "{":
            return at
        elif text[at] in "([":
            at = _closed(text, at)
        elif text[at] in "\n,;:=)]}":
            return None
        else:
            at += 1
    return None
