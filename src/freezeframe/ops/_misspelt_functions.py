"""Find the function that the user meant by a name that no function of theirs has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice

from freezeframe import files
from freezeframe.backends.backend import Launch
from freezeframe.runners.runner import Project
from freezeframe.session.session import Session

from ._suggestions import nearest

_LONGEST_SOURCE = 1_000_000
#: files of a project that are searched where the program itself is not the user's
_MOST_FILES = 200
_FUNCTION = re.compile(r"([^\W\d]\w+)\s*\(")


def misspelt_function(session: Session) -> tuple[str, ...]:
    """Return the next step after a breakpoint on a function that does not exist: one like it."""
    target = session.root.target
    if not isinstance(target, Launch):
        return ()
    names: set[str] | None = None
    for entry in session.breakpoints:
        name = (entry.location.function or "").rpartition(".")[2]
        if not name or entry.hits or not entry.enabled:
            continue
        if names is None:
            names = {word for path in _sources(target) for word in _functions(path)}
        near = nearest(name, names) if name not in names else []
        if near:
            return (f"break {near[0]}",)
    return ()


def _sources(target: Launch) -> Iterator[str]:
    """Yield the program's source; for a tool that runs the user's code, the sources around."""
    source = target.recipe.source if target.recipe is not None else target.program
    # A script of an environment is a tool too, and may be below the directory.
    is_tool = target.module or os.path.basename(os.path.dirname(source)) in ("bin", "Scripts")
    if not is_tool:
        yield source
        return
    project = Project(target.cwd, {})
    for path in islice(project.files(r".*\.(?:py|rb|js|ts|php|pl|java)"), _MOST_FILES):
        yield project.path(path)


def _functions(path: str) -> set[str]:
    """Return the names that are called or defined in a file, as far as it can be read."""
    try:
        text = files.read_head(path, _LONGEST_SOURCE).decode("utf-8", "replace")
    except OSError:
        return set()
    return set(_FUNCTION.findall(text))
