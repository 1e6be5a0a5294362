"""Connects a Python that a shell or another program started; found through PYTHONPATH.

`environment_probe.py` puts this directory there, and what is to be run into a variable. An
interpreter imports a module of this name before its program. Both are taken out again, and the
module that really has this name is imported, if there is one. The interpreter may be any, also one
that debugpy does not run in, so this file is written for all.
"""

import os
import sys

_VARIABLE = "FREEZEFRAME_PYTHON_CHILD"


def _withdraw():  # type: ignore[no-untyped-def]
    """Restore the search path and the environment; return what the variable said."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != here]
    sys.path_importer_cache.pop(here, None)
    said = os.environ.pop(_VARIABLE, "")
    given = os.environ.get("PYTHONPATH", "")
    kept = [each for each in given.split(os.pathsep) if each != here]
    if kept or said.startswith("+"):
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
    else:
        os.environ.pop("PYTHONPATH", None)
    return said[1:]


def _is_interpreter():  # type: ignore[no-untyped-def]
    """Whether this is Python itself, not a program that has one inside."""
    name = os.path.basename(sys.executable or "").lower()
    if "python" not in name and "pypy" not in name:
        return False
    own = "/proc/self/exe"
    return not os.path.exists(own) or os.path.samefile(own, sys.executable)


def _listens(port):  # type: ignore[no-untyped-def]
    """Whether the debugger is still there. To call it would be to be taken for a child."""
    if not os.path.exists("/proc/net/tcp"):
        return True
    end = ":%04X" % int(port)  # noqa: UP031
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file]
    return any(row[1].endswith(end) and row[3] == "0A" for row in rows if len(row) > 3)


def _connect(said):  # type: ignore[no-untyped-def]
    try:
        port, _, code = said.partition(" ")
        if not (port and _is_interpreter() and _listens(port)):  # type: ignore[no-untyped-call]
            return
    except Exception:
        return
    path = list(sys.path)
    try:
        eval(compile(code, "<frozen freezeframe>", "exec"), {})
    except Exception:
        pass  # The program runs as it would have; it is not followed.
    finally:
        sys.path[:] = path


def _run():  # type: ignore[no-untyped-def]
    said = _withdraw()  # type: ignore[no-untyped-call]
    # Python 2 would clear the names of a module that nobody holds.
    held = sys.modules.pop("sitecustomize", None)
    try:
        # Where there is none, this fails as it would have without us: the interpreter goes on.
        __import__("sitecustomize")
    finally:
        _connect(said)  # type: ignore[no-untyped-call]
        del held


_run()  # type: ignore[no-untyped-call]
