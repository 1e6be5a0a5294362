"""Which calls of a line may enter the workspace's own functions: the others are stepped over.

A step into a library costs two stops and more. A call is taken for a library's only if it is a
method or a path (`strings.Split(…)`, `items.push(…)`) whose name no function of the workspace has,
or a function of the language itself; what a variable calls is entered.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from freezeframe import files
from freezeframe.model import late_regex

from .source_patterns import CLOSURE, STRING

_SKIPPED = frozenset(("node_modules", "target", "vendor", "build", "dist", "__pycache__"))
_MOST_FILES, _LONGEST_FILE = 2000, 1_000_000
_DEFINED = late_regex.compile(
    r"\b(?:fn|func|function\*?|def|fun|sub|macro_rules!|#define)\s+(?:\([^()]*\)\s*)?(?P<named>[\w$]+)"
    r"|(?P<assigned>[\w$]+)\s*[:=]\s*(?:async\s*)?(?:function\b|\([^()]*\)[^=]*=>|[\w$]+\s*=>|func\b)"
    r"|(?P<field>\w+)\s+func\("
)
#: a method or function without a keyword: `int total(const Cart &c) {`; a call that looks like one
#: costs no more than a step
_METHOD = late_regex.compile(
    r"\s*(?:[^\s()=.]+\s+)*[*&~]*(?:[\w<>]+::)*(?P<name>~?[\w$]+)\s*\([^;]*$"
)
_CALL = late_regex.compile(
    r"(?P<owner>(?:\.|::|->)\s*)?(?P<name>[^\W\d][\w$]*)(?P<macro>!)?(?:::<[^>]*>)?\("
)
#: languages whose debuggers step into sources of libraries; others skip them themselves
_STEPPED_INTO = (".go", ".rs", ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx", ".inl")
#: functions, types and words of languages before a parenthesis
_LANGUAGE = frozenset(
    ("if", "for", "while", "switch", "return", "catch", "match", "sizeof", "func")
) | {
    *("fn", "Ok", "Err", "Some", "Box", "Vec", "String", "vec", "format", "write", "writeln"),
    *("len", "cap", "make", "append", "copy", "delete", "panic", "new", "string", "byte", "rune"),
    *("int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "bool", "char", "long", "double", "float", "size_t", "assert"),
}


#: what functions of libraries call back
_CALLED_BACK = {
    "parse": "from_str",
    "into": "from",
    "try_into": "try_from",
    "collect": "from_iter",
    "to_string": "fmt",
    "format": "fmt",
    "write": "fmt",
    "toString": "toString",
    "stringify": "toJSON",
    "Marshal": "MarshalJSON",
    "Unmarshal": "UnmarshalJSON",
    "Sort": "Less",
    "sort": "compareTo",
}


class OwnFunctions:
    """The names of the functions that sources below some directories define."""

    def __init__(self, roots: Iterable[str]) -> None:
        self._roots = tuple(roots)
        self._names: dict[str, frozenset[str]] = {}

    def may_be_called(self, text: str, path: str) -> bool:
        """Whether a line of code may enter a function of the workspace."""
        if CLOSURE.search(text) or not path.endswith(_STEPPED_INTO):
            return True
        own = self._of(os.path.splitext(path)[1])
        if re.match(r"\s*(?:for|while)\b", text) and own & {"next", "__next__", "hasNext"}:
            return True
        for call in _CALL.finditer(STRING.sub('""', text)):
            name = call["name"]
            if (
                name in own
                or _CALLED_BACK.get(name) in own
                or not (call["owner"] or name in _LANGUAGE or call["macro"])
            ):
                return True
        return False

    def _of(self, extension: str) -> frozenset[str]:
        if extension not in self._names:
            found: set[str] = set()
            for path in self._files(_family(extension)):
                try:
                    text = files.read_head(path, _LONGEST_FILE).decode("utf-8", "replace")
                except OSError:
                    continue
                found.update(_defined(text))
            self._names[extension] = frozenset(found)
        return self._names[extension]

    def _files(self, extensions: Sequence[str]) -> Iterable[str]:
        left = _MOST_FILES
        for root in self._roots:
            for folder, folders, names in os.walk(root):
                folders[:] = [f for f in folders if f not in _SKIPPED and not f.startswith(".")]
                for name in names:
                    if name.endswith(tuple(extensions)) and left > 0:
                        left -= 1
                        yield os.path.join(folder, name)


def _defined(text: str) -> Iterable[str]:
    for match in _DEFINED.finditer(text):
        yield match["named"] or match["assigned"] or match["field"]
    for line in text.splitlines():
        if (method := _METHOD.match(line)) is not None and method["name"] not in _LANGUAGE:
            yield method["name"]


def _family(extension: str) -> tuple[str, ...]:
    """Return the extensions of files whose functions call each other."""
    return (extension,) if extension in (".go", ".rs") else _STEPPED_INTO[2:]
