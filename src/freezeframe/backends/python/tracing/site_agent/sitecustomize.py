"""Begins the trace of a Python process; found through PYTHONPATH.

`traced_run.py` puts this directory there, and the settings into a variable. An interpreter imports
a module of this name before its program. Both are removed from the search path and `os.environ`,
but stay in the environment of the process, so that children are traced too. Then the real module
of this name is imported, if there is one.
"""

import os
import sys

_VARIABLE = "FREEZEFRAME_TRACE"


def _withdraw():  # type: ignore[no-untyped-def]
    """Restore the search path and `os.environ`; return the variable's contents."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != here]
    sys.path_importer_cache.pop(here, None)
    setting = os.environ.get(_VARIABLE, "")
    given = os.environ.get("PYTHONPATH", "")
    kept = [each for each in given.split(os.pathsep) if each != here]
    # Only the dictionary is changed: what `os.environ` does reaches the children.
    seen = os.environ._data  # type: ignore[attr-defined]
    encode = os.environ.encodekey
    seen.pop(encode(_VARIABLE), None)
    if kept or setting.startswith("+"):
        seen[encode("PYTHONPATH")] = os.environ.encodevalue(os.pathsep.join(kept))
    else:
        seen.pop(encode("PYTHONPATH"), None)
    return setting[1:], here


def _begin(path, here):  # type: ignore[no-untyped-def]
    boot = os.path.join(os.path.dirname(here), "bootstrap_agent.py")
    names = {}  # type: ignore[var-annotated]
    names.update(__name__="_freezeframe_trace", __file__=boot)
    with open(boot, "rb") as file:
        code = compile(file.read(), boot, "exec")
    eval(code, names)
    with open(path, "rb") as file:
        settings = eval(file.read(), {"__builtins__": {}})
    names["begin"](settings)


def _run():  # type: ignore[no-untyped-def]
    path, here = _withdraw()  # type: ignore[no-untyped-call]
    held = sys.modules.pop("sitecustomize", None)
    try:
        # Where there is none, this fails as it would have without us: the interpreter continues.
        __import__("sitecustomize")
    finally:
        try:
            if path and sys.version_info >= (3, 8):
                _begin(path, here)  # type: ignore[no-untyped-call]
        except Exception:
            pass  # The program runs as it would have; it is not traced.
        del held


_run()  # type: ignore[no-untyped-call]
