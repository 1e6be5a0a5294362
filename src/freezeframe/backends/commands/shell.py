"""Lines of a shell that can be read without one: commands in a row, words, variables, globs."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

#: what only a shell can run: pipes, redirections, substitutions, loops
_HARD = re.compile(r"\|(?!\|)|(?<!&)&(?!&)|[<>`()]|\$\(|\|\|")
_HARD_WORDS = frozenset(("for", "while", "until", "if", "case", "function", "{", "}", "!", "[["))
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
#: commands that run tests or a program, by their names
_RUNNERS = re.compile(
    r"(?:python|pypy)[\d.]*|pytest|py\.test|tox|nox|uv|poetry|node|npm|npx|yarn|pnpm|cargo|go|mvn"
    r"|java|ruby|bundle|rspec|rake|php|phpunit|perl|prove|ctest|meson|env|jest|mocha|vitest|tsx"
)


@dataclass(frozen=True, slots=True)
class Simple:
    """One command: what it sets, its words, and how it was written."""

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


def read(text: str, env: Mapping[str, str], cwd: str) -> list[Simple] | None:
    """Return the commands of a line that run one after the other; None where it takes a shell."""
    if _HARD.search(_without_quoted(text)) or "$(" in text or "`" in text:
        return None
    try:
        lexer = shlex.shlex(text, posix=False, punctuation_chars="&;")
        lexer.whitespace_split = True
        tokens = list(lexer)
    except ValueError:
        return None
    rows: list[list[str]] = [[]]
    for token in tokens:
        if set(token) <= set("&;"):
            rows.append([])
        else:
            rows[-1].append(token)
    found = []
    for row in filter(None, rows):
        if row[0] in _HARD_WORDS:
            return None
        simple = _simple(row, env, cwd)
        if simple is None:
            return None
        found.append(simple)
    return found


def is_runner(word: str) -> bool:
    """Whether a command is known to run tests, or a program that it is given."""
    return _RUNNERS.fullmatch(os.path.basename(word)) is not None


def _without_quoted(text: str) -> str:
    return re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", "''", text)


def _simple(tokens: list[str], env: Mapping[str, str], cwd: str) -> Simple | None:
    added: dict[str, str] = {}
    words: list[str] = []
    for token in tokens:
        try:
            expanded = _expanded(token, {**env, **added})
        except ValueError:
            return None
        if not words and _ASSIGNMENT.match(token):
            name, _, value = expanded.partition("=")
            added[name] = value
        elif re.search(r"[*?]", _without_quoted(token)):
            matches = sorted(glob.glob(os.path.join(glob.escape(cwd), expanded)))
            words += [os.path.relpath(each, cwd) for each in matches] or [expanded]
        else:
            words.append(expanded)
    return Simple(tuple(words), added, " ".join(tokens))


def _expanded(token: str, env: Mapping[str, str]) -> str:
    """Return a word without its quotes, with its variables. Raises ValueError for a bad one."""
    if "'" not in token:
        token = _VARIABLE.sub(lambda found: env.get(found[1] or found[2], ""), token)
    words = shlex.split(token)
    return " ".join(words)
