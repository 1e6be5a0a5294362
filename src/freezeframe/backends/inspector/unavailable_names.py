"""Say why V8 does not know a variable that the source declares.

V8 keeps a variable of a module, or of a function around the running one, for inner functions only
if one of them uses it; minifiers remove variables.
"""

from __future__ import annotations

import os
import re

from freezeframe import files
from freezeframe.errors import EvaluationFailed

_UNKNOWN = re.compile(r"ReferenceError: ([\w$]+) is not defined")
#: size limit of a source that is searched, in bytes
_LONGEST_SOURCE = 1_000_000


def explained(error: EvaluationFailed, path: str | None) -> EvaluationFailed:
    """Return *error*, with its reason if the source at *path* declares the unknown name."""
    found = _UNKNOWN.search(error.message)
    if found is None or path is None or not _declares(path, found[1]):
        return error
    name = os.path.basename(path)
    return EvaluationFailed(
        f"{found[0]} here: {name} declares it, but V8 keeps it in no scope of this frame"
    )


def _declares(path: str, name: str) -> bool:
    try:
        text = files.read_head(path, _LONGEST_SOURCE).decode("utf-8", "replace")
    except OSError:
        return False
    declared = rf"\b(?:const|let|var)\s(?:[^;\n]*?[\s,{{\[:])?{re.escape(name)}(?![\w$])"
    return re.search(declared, text) is not None
