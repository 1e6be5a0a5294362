"""Which variables a statement assigns to; runs inside the debuggee, as `_freezeframe_assigning`.

Follows the rules of `value_text_agent.py`. A debugger executes statements with copies of a frame's
variables: an assignment to a global must be recognized, or the program never sees it, and a
misspelled name must be rejected, or the assignment seems to have worked.
"""

from __future__ import annotations

import ast
import textwrap
from typing import Any

#: ends the text of a plain assignment, where a new name is rejected also at module level
SET = "\n# set"
_MOST_NAMES = 12


def check(text: str, frame: Any) -> None:
    """Raise NameError for an assignment to a name that the frame does not know."""
    try:
        body = ast.parse(textwrap.dedent(text).strip()).body
    except (SyntaxError, ValueError):
        return
    if len(body) != 1 or not isinstance(body[0], (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return
    statement = body[0]
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [each.id for target in targets for each in _stored(target)]
    if frame.f_locals is frame.f_globals and not text.endswith(SET):
        return  # there the program sees it
    known = set(_locals(frame)) | set(frame.f_globals)
    for name in names:
        if name not in known:
            raise NameError(
                f"there is no variable {name} to assign to; {_existing_names(name, frame)}"
            )


def is_global(name: str, frame: Any) -> bool:
    """Return whether *name* is not a local of the frame, and is an existing global."""
    return name in frame.f_globals and name not in _locals(frame)


def declared(text: str, frame: Any) -> str:
    """Return a statement with declarations of the globals that it assigns to."""
    if frame.f_locals is frame.f_globals:
        return text
    text = textwrap.dedent(text)
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError):
        return text
    names = sorted({each for each in _bound(tree) if is_global(each, frame)})
    return f"global {', '.join(names)}\n{text.strip()}" if names else text


def _locals(frame: Any) -> list[str]:
    code = frame.f_code
    if not hasattr(code, "co_varnames"):
        return [*frame.f_locals]  # a template's frame, which pydevd has made up
    return [*code.co_varnames, *code.co_cellvars, *code.co_freevars, *frame.f_locals]


def _stored(target: ast.AST) -> list[ast.Name]:
    """Return the names in a target that are assigned directly: not those of `a.b`, `a[0]`."""
    if isinstance(target, ast.Name):
        return [target]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for each in target.elts for name in _stored(each)]
    return _stored(target.value) if isinstance(target, ast.Starred) else []


def _bound(node: ast.AST) -> list[str]:
    """Return the names that a statement binds in its own scope, not in functions that it
    defines."""
    found: list[str] = []
    for each in ast.iter_child_nodes(node):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append(each.name)
            continue
        if isinstance(each, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp)):
            continue
        if isinstance(each, ast.GeneratorExp):
            continue
        if isinstance(each, ast.Name) and isinstance(each.ctx, (ast.Store, ast.Del)):
            found.append(each.id)
        if isinstance(each, (ast.Import, ast.ImportFrom)):
            found += [(one.asname or one.name.partition(".")[0]) for one in each.names]
        found += _bound(each)
    return found


def _existing_names(name: str, frame: Any) -> str:
    local_names = [
        each for each in dict.fromkeys(_locals(frame)) if not each.startswith(("_", "."))
    ]
    alike = [each for each in frame.f_globals if _alike(each, name) and each not in local_names]
    there = ", ".join([*alike[:3], *local_names[:_MOST_NAMES]])
    return f"there are {there}" if there else "there are none here"


def _alike(one: str, other: str) -> bool:
    return sorted(one.lower()) == sorted(other.lower()) or (
        abs(len(one) - len(other)) <= 1 and one[:3].lower() == other[:3].lower()
    )
