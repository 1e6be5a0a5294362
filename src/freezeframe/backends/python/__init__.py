"""What every debugger of Python programs needs: the interpreter to run, and how values read.

objects_probe  runs inside the program: classes, fields and elements, read without their code
shapes_probe   runs inside the program: how values are put together from their parts
text_probe     runs inside the program: texts of values, and what they hold
assigning_probe  runs inside the program: which variables a statement assigns to
names_probe    runs inside the program: which function a name means
loaded_probe   runs inside the program: lines of the code that it has loaded from a file
exceptions_probe  runs inside the program: exceptions as a traceback tells them
stacks_probe   runs inside the program: stacks of threads that nothing has stopped
tasks_probe    runs inside the program: tasks of asyncio, and what each awaits
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from freezeframe.backends.backend import Attach, Launch
from freezeframe.errors import DebuggerMissing

#: the files of the modules that tell values inside a program, in the order they are loaded
OBJECTS_PROBE = Path(__file__).with_name("objects_probe.py")
SHAPES_PROBE = Path(__file__).with_name("shapes_probe.py")
ASSIGNING_PROBE = Path(__file__).with_name("assigning_probe.py")
TEXT_PROBE = Path(__file__).with_name("text_probe.py")
#: the file of the module that finds functions by name
NAMES_PROBE = Path(__file__).with_name("names_probe.py")
#: the file of the module that tells lines of loaded code
LOADED_PROBE = Path(__file__).with_name("loaded_probe.py")
#: the file of the module that tells exceptions
EXCEPTIONS_PROBE = Path(__file__).with_name("exceptions_probe.py")
#: the file of the module that tells stacks of running threads
STACKS_PROBE = Path(__file__).with_name("stacks_probe.py")
#: the file of the module that tells tasks
TASKS_PROBE = Path(__file__).with_name("tasks_probe.py")


def assignment(target: str, value: str) -> str:
    """Return the statement of a plain assignment; `assigning_probe.py` knows it by its end."""
    return f"{target} = {value}\n# set"


def interpreter(target: Launch | Attach, configured: str | None) -> str:
    """Return the caller's own interpreter: named, venv that is active, .venv, PATH."""
    named = target.interpreter or configured
    path = target.env.get("PATH", os.defpath)
    if named is not None:
        found = shutil.which(os.path.expanduser(named), path=path)
        if found is None:
            raise DebuggerMissing(
                f"there is no interpreter {named}.", next="dbg start PROGRAM --interpreter PATH"
            )
        return found
    bin_directory = "Scripts" if sys.platform == "win32" else "bin"
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := target.env.get(variable):
            candidate = os.path.join(prefix, bin_directory, "python")
            if os.access(candidate, os.X_OK):
                return candidate
    for directory in _upwards(target):
        for name in (".venv", "venv"):
            candidate = os.path.join(directory, name, bin_directory, "python")
            if os.access(candidate, os.X_OK):
                return candidate
    found = shutil.which("python3", path=path) or shutil.which("python", path=path)
    return found or sys.executable


def _upwards(target: Launch | Attach) -> list[str]:
    """The program's directory, the working directory, and what lies above it up to a repository."""
    found = []
    if isinstance(target, Launch) and not target.module:
        found.append(os.path.dirname(target.program))
    directory = target.cwd
    while directory not in found or directory == target.cwd:
        found.append(directory)
        parent = os.path.dirname(directory)
        if parent == directory or os.path.exists(os.path.join(directory, ".git")):
            break
        directory = parent
    return found
