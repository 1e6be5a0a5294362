"""Connects a Python that a shell or another program started; found through PYTHONPATH.

`child_environment_agent.py` puts this directory there, and the code to run into a variable. An
interpreter imports a module of this name before its program. Both are removed again, and the real
module of this name is imported, if there is one. The interpreter may be any version, also one that
debugpy does not run in, so this file is written for all versions.
"""

import os
import sys

_VARIABLE = "FREEZEFRAME_PYTHON_CHILD"


def _withdraw():  # type: ignore[no-untyped-def]
    """Restore the search path and the environment; return the variable's contents."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != here]
    sys.path_importer_cache.pop(here, None)
    setting = os.environ.pop(_VARIABLE, "")
    given = os.environ.get("PYTHONPATH", "")
    kept = [each for each in given.split(os.pathsep) if each != here]
    if kept or setting.startswith("+"):
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
    else:
        os.environ.pop("PYTHONPATH", None)
    return setting[1:]


def _is_interpreter():  # type: ignore[no-untyped-def]
    """Return whether this is Python itself, not a program that embeds one."""
    name = os.path.basename(sys.executable or "").lower()
    if "python" not in name and "pypy" not in name:
        return False
    executable = "/proc/self/exe"
    return not os.path.exists(executable) or os.path.samefile(executable, sys.executable)


def _listens(port):  # type: ignore[no-untyped-def]
    """Return whether the debugger still listens. A connection would be taken for a child."""
    if not os.path.exists("/proc/net/tcp"):
        return True
    end = ":%04X" % int(port)  # noqa: UP031
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file]
    return any(row[1].endswith(end) and row[3] == "0A" for row in rows if len(row) > 3)


def _connect(setting):  # type: ignore[no-untyped-def]
    try:
        port, _, code = setting.partition(" ")
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
    setting = _withdraw()  # type: ignore[no-untyped-call]
    # Python 2 would clear the names of a module without references.
    held = sys.modules.pop("sitecustomize", None)
    try:
        # Where there is none, this fails as it would have without us: the interpreter continues.
        __import__("sitecustomize")
    finally:
        _connect(setting)  # type: ignore[no-untyped-call]
        del held


_run()  # type: ignore[no-untyped-call]
