"""The names that a source imports, and the variables that compilers keep its modules in."""

from __future__ import annotations

import re
from dataclasses import dataclass

_IMPORT = re.compile(
    r"^[ \t]*import\s+(?!type\b\s*[\w{*])([^'\"();]+?)\s+from\s*(['\"])([^'\"\n]+)\2", re.MULTILINE
)
_NAME = r"[A-Za-z_$][\w$]*"
#: how vite, esbuild, TypeScript and Babel call the variable of a module
_HOLDER = re.compile(rf"__vite_ssr_import_\d+__|import_{_NAME}|{_NAME}_\d+|_{_NAME}")


@dataclass(frozen=True, slots=True)
class Import:
    """A name that a module is imported for; *exported* is None for the module itself."""

    module: str
    exported: str | None


def imports_of(text: str) -> dict[str, Import]:
    """Return the imports of a source, by the name they have in it."""
    found: dict[str, Import] = {}
    for match in _IMPORT.finditer(text):
        clause, module = match[1], match[3]
        braced = re.search(r"\{([^}]*)\}", clause)
        for each in (braced[1] if braced else "").split(","):
            exported, _, name = each.strip().removeprefix("type ").partition(" as ")
            if exported.strip():
                found[(name or exported).strip()] = Import(module, exported.strip())
        for each in re.sub(r"\{[^}]*\}", "", clause).split(","):
            word = each.strip()
            if word.startswith("*"):
                found[word.removeprefix("*").strip().removeprefix("as").strip()] = Import(
                    module, None
                )
            elif re.fullmatch(_NAME, word):
                found[word] = Import(module, "default")
    return found


def is_holder(name: str) -> bool:
    """Return whether a compiler may have made a variable of this name for a module."""
    return _HOLDER.fullmatch(name) is not None


def is_named_after(holder: str, module: str) -> bool:
    """Return whether a variable has the name of a module in its own."""
    stem = re.sub(r"\W", "", module.rstrip("/").rpartition("/")[2].partition(".")[0]).lower()
    return bool(stem) and stem in re.sub(r"\W", "", holder).lower()
