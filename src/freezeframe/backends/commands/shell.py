"""Shell lines that can be parsed without a shell: sequences, arguments, variables, globs."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Mapping

from freezeframe.model.fast_dataclass import dataclass, field

#: what only a shell can run: pipes, redirections, substitutions, loops
_HARD = re.compile(r"\|(?!\|)|(?<!&)&(?!&)|[<>`()]|\$\(|\|\|")
_KEYWORDS = frozenset(("for", "while", "until", "if", "case", "function", "{", "}", "!", "[["))
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
#: commands after the program that is to be debugged
_REPORTS = frozenset(("echo", "printf", "true", ":", "exit", "cat", "ls", "rm", "wait"))
#: commands that run tests or a program, by their names
_RUNNERS = re.compile(
    r"(?:python|pypy)[\d.]*|pytest|py\.test|tox|nox|uv|poetry|node|npm|npx|yarn|pnpm|cargo|go|mvn"
    r"|java|ruby|bundle|rspec|rake|php|phpunit|perl|prove|ctest|meson|env|jest|mocha|vitest|tsx"
)


@dataclass(frozen=True, slots=True)
class Simple:
    """One command: the variables it sets, its argument vector, and its text."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


def read(text: str, env: Mapping[str, str], cwd: str) -> list[Simple] | None:
    """Return the commands of a line that run one after the other; None if it needs a shell."""
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
        if row[0] in _KEYWORDS:
            return None
        simple = _simple(row, env, cwd)
        if simple is None:
            return None
        found.append(simple)
    return found


def is_runner(word: str) -> bool:
    """Return whether a command is known to run tests, or a program that it is given."""
    return _RUNNERS.fullmatch(os.path.basename(word)) is not None


def ends_with_report(commands: list[Simple]) -> bool:
    """Return whether the last command only reports how an earlier one, the program, has ended."""
    names = [os.path.basename(each.argv[0]) for each in commands if each.argv]
    return bool(names) and names[-1] in _REPORTS and any(map(is_runner, names[:-1]))


def _without_quoted(text: str) -> str:
    return re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", "''", text)


def _simple(tokens: list[str], env: Mapping[str, str], cwd: str) -> Simple | None:
    added: dict[str, str] = {}
    argv: list[str] = []
    for token in tokens:
        try:
            expanded = _expanded(token, {**env, **added})
        except ValueError:
            return None
        if not argv and _ASSIGNMENT.match(token):
            name, _, value = expanded.partition("=")
            added[name] = value
        elif re.search(r"[*?]", _without_quoted(token)):
            matches = sorted(glob.glob(os.path.join(glob.escape(cwd), expanded)))
            argv += [os.path.relpath(each, cwd) for each in matches] or [expanded]
        else:
            argv.append(expanded)
    return Simple(tuple(argv), added, " ".join(tokens))


def _expanded(token: str, env: Mapping[str, str]) -> str:
    """Return a word without quotes, with its variables expanded. Raises ValueError for a bad
    one."""
    if "'" not in token:
        token = _VARIABLE.sub(lambda found: env.get(found[1] or found[2], ""), token)
    argv = shlex.split(token)
    return " ".join(argv)
