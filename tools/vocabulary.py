"""Find identifiers of src/ that use a word outside the vocabulary of debuggers.

`python tools/vocabulary.py` lists them, `python tools/vocabulary.py src/freezeframe/daemon` those
of one package. tests/test_vocabulary_of_code.py refuses every one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "freezeframe"

#: refused words → what to say instead
REFUSED = {
    "joins joining": "attach",
    "stand stands standing stood": "stopped, paused",
    "tell tells telling told": "report, result, answer",
    "hear hears hearing heard overhear overheard": "on_event, handle, parse",
    "say says saying said": "output, text, reply",
    "words": "text, args, message",
    "complaint complaints": "error message, diagnostic",
    "ask asks asking asked inquiry": "query, request, evaluate",
    "heed heeds heeded heedless": "handle, filter, respect",
    "let_go lets_go farewell": "detach, release, close",
    "lingering": "has_open_pipes",
    "mend mends mending mended cure cures cured": "fix, patch",
    "kin eldest roof living": "process tree, root, shared resources, live",
    "ground grounds": "resources",
    "house houses door doors": "daemon, admin, listener",
    "marks": "breakpoints, markers",
    "motion": "execution",
    "life": "lifecycle",
    "spell spells spelling spellings spelled spelt": "command set, encode, name",
    "place places spot spots": "location, position",
    "wish wishes want wants wanted meant": "request, requested, resolved",
    "ours yours theirs strange stray": "internal, user-defined, adapter's, unrelated, leftover",
    "of_the_dead": "core file",
    "foresee foreseen foresight nearing": "prefetch, predict, step to",
    "he his": "they, the caller",
}

#: words of the same table that are not refused, because they are the right word elsewhere
ORDINARY = {
    "join joined": "strings, paths and threads are joined",
    "leave leaves leaving": "a function, a scope and a directory are left; debuggers say `leave`",
    "left": "the opposite of right, or what remains",
    "question questions": "a debugger asks before it quits: `exit_question`",
    "family": "an address family of sockets",
    "room rooms": "the width that remains for a text",
    "mark marked": "the verb: a process is marked; also a marker in a text",
    "go goes going": "the language",
    "moved": "a breakpoint is moved to the next line with code",
    "where": "a command of gdb, a clause of SQL and an option of ours",
    "own": "the verb, and what belongs to the object: `own_daemon`",
    "dead": "a dead process; only `of_the_dead` is refused",
    "passes passed": "a test passes, an argument is passed",
    "word": "of a shell command, or of memory",
}

#: ordinary compounds of refused words
COMPOUNDS = ("stand_in", "stand_ins")

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORD = re.compile(f"_({'|'.join(' '.join(REFUSED).split())})(?=_)")
_COMPOUND = re.compile(f"_(?:{'|'.join(COMPOUNDS)})(?=_)")

#: path under src/freezeframe → names that others have fixed, and why
FIXED = {
    "daemon/state.py": {"place": "a field of sessions.json"},
    "model/answers.py": {"place": "a field of JSON answers"},
    "model/setup_answers.py": {
        "mended": "a field of JSON answers",
        "yours": "a field of JSON answers",
    },
    "model/history.py": {
        "place": "a field of JSON answers",
        "b_place": "a field of JSON answers",
        "asked": "a field of JSON answers",
    },
    "model/stops.py": {"words": "a field of JSON answers"},
}

#: written by tools/generate_dap_types.py
GENERATED = {PACKAGE / "backends" / "dap" / "types.py"}

#: suffix of an agent that is not Python → its comments and strings
_LITERALS = {
    suffix: re.compile(
        r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')" + comments, re.DOTALL | re.MULTILINE
    )
    for suffixes, comments in (
        ((".java", ".js", ".cjs", ".mjs", ".gradle"), r"|//[^\n]*|/\*.*?\*/"),
        ((".rb", ".pl", ".pm"), r"|#[^\n]*"),
        ((".php",), r"|//[^\n]*|#[^\n]*|/\*.*?\*/"),
    )
    for suffix in suffixes
}


@dataclass(frozen=True, order=True)
class RefusedName:
    """An identifier with a refused word, at the line where a file first defines it."""

    file: Path
    line: int
    name: str
    word: str

    def __str__(self) -> str:
        path = self.file.relative_to(ROOT).as_posix()
        return f"{path}:{self.line} {self.name}: not `{self.word}`, but {instead_of(self.word)}"


def instead_of(word: str) -> str:
    return next(instead for words, instead in REFUSED.items() if word in words.split())


@cache
def refused_word(name: str) -> str | None:
    """Return the refused word, or words in a row, that *name* is built with."""
    parts = _PART.findall(name)
    found = _WORD.search(_COMPOUND.sub("", f"_{'_'.join(parts).lower()}_"))
    return found[1] if found else None


def names_of(file: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of everything that *file* defines, its own name first."""
    yield 1, file.stem
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        for node in ast.walk(ast.parse(text, str(file))):
            yield from _defined(node)
    else:
        # Without a parser, names that such an agent only uses count too.
        code = _LITERALS[file.suffix].sub(lambda match: "\n" * match[0].count("\n"), text)
        for number, line in enumerate(code.splitlines(), 1):
            for name in re.findall(r"[A-Za-z_]\w*", line):
                yield number, name


def _defined(node: ast.AST) -> Iterator[tuple[int, str]]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield node.lineno, name
        case ast.arg(arg=name):
            yield node.lineno, name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield node.lineno, name
        case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
            yield node.lineno, name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield node.lineno, name


def refused_names(*under: Path) -> list[RefusedName]:
    """Return every refused identifier of src/, or of what is under these paths, once per file."""
    found: list[RefusedName] = []
    for file in sorted(PACKAGE.rglob("*")):
        if file in GENERATED or file.suffix not in {".py", *_LITERALS}:
            continue
        if under and not any(file.is_relative_to(path) for path in under):
            continue
        fixed = FIXED.get(file.relative_to(PACKAGE).as_posix(), {})
        seen: dict[str, RefusedName] = {}
        for line, name in names_of(file):
            if name not in seen and name not in fixed and (word := refused_word(name)):
                seen[name] = RefusedName(file, line, name, word)
        found += seen.values()
    return sorted(found)


def main(arguments: list[str]) -> int:
    names = refused_names(*(Path(argument).resolve() for argument in arguments))
    for each in names:
        print(each)
    print(f"{len(names)} identifiers")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
