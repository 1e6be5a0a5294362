"""What PHP debuggers need from the source: `try` blocks, namespaces and imports.

A debugger that stops where an exception is thrown may not report whether it will be caught. The
frames' source files tell: a line in a `try` block of its own function is caught by its types.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from freezeframe import files
from freezeframe.backends.backend import RawFrame

#: a token, outside of strings and comments
_TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*?(?=\?>|\n|\Z)|\#(?!\[)[^\n]*?(?=\?>|\n|\Z)|/\*.*?(?:\*/|\Z))"
    r"|(?P<html>\?>.*?(?:<\?php\b|<\?=|\Z))"
    r"|(?P<heredoc><<<[ \t]*(?P<quote>['\"]?)(?P<label>\w+)(?P=quote)\r?\n)"
    r"|(?P<single>'(?:[^'\\]|\\.)*(?:'|\Z))"
    r"|(?P<double>[\"`])"
    r"|(?P<word>\$?\\?[A-Za-z_\x80-\U0010ffff][\w\\\x80-\U0010ffff]*)"
    r"|(?P<mark>.)",
    re.DOTALL,
)
_OPENING = re.compile(r"<\?php\b|<\?=")
LARGEST = 4_000_000


@dataclass(frozen=True, slots=True)
class Guard:
    """A `try`: the lines of its body, and the types that it catches, fully qualified."""

    first: int
    last: int
    types: tuple[str, ...]
    #: the first line of the function around it
    function: int


@dataclass(slots=True)
class _Block:
    kind: str
    line: int


@dataclass(slots=True)
class _Names:
    """How names of classes are resolved."""

    namespace: str = ""
    imports: dict[str, str] = field(default_factory=dict)

    def whole(self, name: str) -> str:
        if name.startswith("\\"):
            return name[1:]
        first, slash, rest = name.partition("\\")
        if first.lower() == "namespace" and slash:
            return f"{self.namespace}\\{rest}".lstrip("\\")
        for alias, whole in self.imports.items():
            if alias.lower() == first.lower():
                return whole + slash + rest
        return f"{self.namespace}\\{name}".lstrip("\\")


@dataclass(frozen=True, slots=True)
class PhpSource:
    """The guards and functions of one file, by their lines."""

    guards: tuple[Guard, ...]
    functions: tuple[tuple[int, int], ...]
    #: name resolution, by the line from which it applies
    parts: tuple[tuple[int, _Names], ...] = ()
    #: lines that closures begin on
    closures: frozenset[int] = frozenset()

    def preamble(self, line: int) -> str:
        """Return the statements that give names the meaning they have on a line."""
        names = [each for first, each in self.parts if first <= line][-1:]
        if not names:
            return ""
        text = f"namespace {names[0].namespace};" if names[0].namespace else ""
        for alias, whole in names[0].imports.items():
            if "\\" in whole or text:
                text += f" use {whole} as {alias};"
        return text

    def around(self, line: int) -> Iterator[Guard]:
        """Return the guards around a line, without those of an outer function."""
        inside = [first for first, last in self.functions if first <= line <= last]
        function = max(inside, default=0)
        for guard in self.guards:
            if guard.first <= line <= guard.last and guard.function == function:
                yield guard


def catchers(frames: Sequence[RawFrame]) -> list[str]:
    """Return the types, each once, that some frame of the stack catches."""
    types: dict[str, None] = {}
    for frame in frames:
        if frame.path is None or frame.line is None:
            continue
        for guard in _source(frame.path).around(frame.line):
            types.update(dict.fromkeys(guard.types))
    return list(types)


def is_library(path: str | None) -> bool:
    """Whether a file is not the user's: of Composer, of PEAR, of the system, in an archive."""
    if path is None:
        return False
    return "/vendor/" in path or path.startswith(("/usr/share/php/", "/usr/bin/", "phar://"))


def preamble(path: str | None, line: int | None) -> str:
    """Return the statements to prepend to an expression so that its names resolve as on a line."""
    return _source(path).preamble(line) if path is not None and line is not None else ""


def has_closure(path: str | None, line: int | None) -> bool:
    """Whether a closure begins on a line."""
    return path is not None and line is not None and line in _source(path).closures


def _source(path: str) -> PhpSource:
    """Scan a file; the result is empty if the file cannot be read."""
    try:
        status = os.stat(path)
        if status.st_size > LARGEST:
            return PhpSource((), ())
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return PhpSource((), ())


@lru_cache(maxsize=256)
def _read(path: str, stamp: int, size: int) -> PhpSource:
    return scan(files.read_text(path, LARGEST, errors="surrogateescape"))


def scan(text: str) -> PhpSource:
    """Scan the text of a file. Never raises: text that cannot be parsed has no guards."""
    tokens = list(read_tokens(text))
    names = _Names()
    parts: list[tuple[int, _Names]] = [(0, names)]
    blocks: list[_Block] = []
    functions: list[tuple[int, int]] = []
    guards: list[Guard] = []
    next_block: str = ""  # the block that the next brace opens
    depth = 0  # of parentheses
    closures = {
        line
        for (word, line), (follows, _) in pairwise(tokens)
        if word.lower() in ("fn", "function") and follows in ("(", "&")
    }
    at = 0
    while at < len(tokens):
        word, line = tokens[at]
        lower = word.lower()
        if lower == "namespace" and at + 1 < len(tokens) and not _after_arrow(tokens, at):
            follows = tokens[at + 1][0]
            names = _Names(follows if follows != "{" else "")
            parts.append((line, names))
            next_block = "namespace"
        elif lower == "use" and all(block.kind == "namespace" for block in blocks):
            # After a closure's parameters, `use` names variables.
            if at + 1 < len(tokens) and tokens[at + 1][0] != "(":
                at = _imports(tokens, at + 1, names)
        elif lower == "try" and not _after_arrow(tokens, at):
            next_block = "try"
        elif lower == "function" and not _after_arrow(tokens, at):
            next_block = "function"
        elif word in "([":
            depth += 1
        elif word in ")]":
            depth -= 1
        elif word == ";" and not depth:
            next_block = ""
        elif word == "{":
            blocks.append(_Block(next_block or "other", line))
            next_block = ""
        elif word == "}" and blocks:
            block = blocks.pop()
            if block.kind == "function":
                functions.append((block.line, line))
            elif block.kind == "try":
                function = next((b.line for b in reversed(blocks) if b.kind == "function"), 0)
                types = tuple(_types(tokens, at + 1, names))
                guards.append(Guard(block.line, line, types, function))
        at += 1
    return PhpSource(tuple(guards), tuple(functions), tuple(parts), frozenset(closures))


def _after_arrow(tokens: list[tuple[str, int]], at: int) -> bool:
    """Whether a word follows `->`, `?->` or `::`, and so is the name of a member."""
    return at > 0 and tokens[at - 1][0] in (">", ":") and at > 1 and tokens[at - 2][0] in "-:"


def _types(tokens: list[tuple[str, int]], at: int, names: _Names) -> Iterator[str]:
    """Return the types of the `catch` clauses that follow a `try`'s body."""
    while at < len(tokens) and tokens[at][0].lower() == "catch":
        at += 2  # catch (
        while at < len(tokens) and tokens[at][0] != ")":
            word = tokens[at][0]
            if word != "|" and not word.startswith("$"):
                yield names.whole(word)
            at += 1
        depth = 0
        while at < len(tokens):
            depth += {"{": 1, "}": -1}.get(tokens[at][0], 0)
            at += 1
            if tokens[at - 1][0] == "}" and depth == 0:
                break


def _imports(tokens: list[tuple[str, int]], at: int, names: _Names) -> int:
    """Read `use A\\B, C as D, E\\{F, G as H};`; return where it ends."""
    prefix, name, alias = "", "", ""

    def done() -> None:
        if name:
            whole = (prefix + name).lstrip("\\")
            names.imports[alias or whole.rpartition("\\")[2]] = whole

    while at < len(tokens) and tokens[at][0] != ";":
        word = tokens[at][0]
        if word == "{":
            prefix, name = name.rstrip("\\") + "\\", ""
        elif word in (",", "}"):
            done()
            name = alias = ""
        elif word.lower() == "as" and at + 1 < len(tokens):
            at += 1
            alias = tokens[at][0]
        elif word.lower() in ("function", "const"):
            # Functions and constants cannot be caught; skip their names.
            while at + 1 < len(tokens) and tokens[at + 1][0] not in (";", ",", "}"):
                at += 1
        else:
            name = word
        at += 1
    done()
    return at


def read_tokens(text: str) -> Iterator[tuple[str, int]]:
    """Return tokens with their lines, without strings, comments and plain text."""
    opening = _OPENING.search(text)
    at = opening.end() if opening else len(text)
    line = text.count("\n", 0, at) + 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None
        end = match.end()
        if match["heredoc"] is not None:
            end = _heredoc_end(text, end, match["label"])
        elif match["double"] is not None:
            end = _string_end(text, end, match["double"])
            yield '"', line
        elif match["single"] is not None:
            yield "'", line
        elif match["word"] is not None or match["mark"] is not None:
            yield match[0], line
        elif match["html"] is not None:
            yield ";", line
        line += text.count("\n", at, end)
        at = end


def _heredoc_end(text: str, at: int, label: str) -> int:
    found = re.compile(rf"^[ \t]*{label}\b", re.MULTILINE).search(text, at)
    return found.end() if found else len(text)


def _string_end(text: str, at: int, quote: str) -> int:
    """Return where a string ends that may contain `{$name["key"]}`."""
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 2
        elif character == quote:
            return at + 1
        elif text.startswith("{$", at):
            at = _braces_end(text, at + 1)
        else:
            at += 1
    return len(text)


def _braces_end(text: str, at: int) -> int:
    depth = 1
    while at < len(text) and depth:
        character = text[at]
        at += 1
        if character in "\"'":
            at = _string_end(text, at, character)
        else:
            depth += {"{": 1, "}": -1}.get(character, 0)
    return at
