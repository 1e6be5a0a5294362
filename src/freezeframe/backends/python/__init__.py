"""What every debugger of Python programs needs: the interpreter to run, and agents.

The agents run inside the program:

object_fields_agent    classes, fields and elements, read without running their code
native_agent           contents of values implemented in C: buffers, ctypes, tables
value_structure_agent  how values are composed of their parts
value_text_agent       texts of values, and their children
pages_agent            some children of a value, which the user asked for
assignments_agent      which variables a statement assigns to
function_names_agent   which functions a name matches
loaded_code_agent      lines of the code that the program has loaded from a file
exceptions_agent       exceptions as a traceback shows them
failures_agent         makes pytest and unittest report a failing test
signals_agent          holds signal handlers back at a stop
stacks_agent           stacks of running threads
tasks_agent            tasks of asyncio, and what each awaits
locks_agent            locks that the statements of frames take and hold
waits_agent            what threads and tasks wait for, and the locks they hold
trace_sharing_agent    trace functions of the program beside the debugger's
watch_agent            watched expressions, compared after each line
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from freezeframe.backends.backend import Attach, Launch
from freezeframe.errors import DebuggerMissing
from freezeframe.model.stops import Frame, Task
from freezeframe.model.testing import FailingTest, ResultCounts

#: the modules that show values inside a program, in the order they are loaded
OBJECTS_AGENT = Path(__file__).with_name("object_fields_agent.py")
NATIVE_AGENT = Path(__file__).with_name("native_agent.py")
SHAPES_AGENT = Path(__file__).with_name("value_structure_agent.py")
ASSIGNING_AGENT = Path(__file__).with_name("assignments_agent.py")
TEXT_AGENT = Path(__file__).with_name("value_text_agent.py")
PAGES_AGENT = Path(__file__).with_name("pages_agent.py")
#: the module that inserts calls into bytecode
BYTECODE_AGENT = Path(__file__).with_name("bytecode_agent.py")
#: the module that finds functions by name
NAMES_AGENT = Path(__file__).with_name("function_names_agent.py")
#: the module that returns lines of loaded code
LOADED_AGENT = Path(__file__).with_name("loaded_code_agent.py")
#: the module that changes code when it is loaded
LOADING_AGENT = Path(__file__).with_name("code_loading_agent.py")
#: the module that hooks test runners
FAILURES_AGENT = Path(__file__).with_name("failures_agent.py")
#: the module that describes exceptions
EXCEPTIONS_AGENT = Path(__file__).with_name("exceptions_agent.py")
#: the module that holds signal handlers back
SIGNALS_AGENT = Path(__file__).with_name("signals_agent.py")
#: the module that returns stacks of running threads
STACKS_AGENT = Path(__file__).with_name("stacks_agent.py")
#: the module that lists tasks
TASKS_AGENT = Path(__file__).with_name("tasks_agent.py")
#: the module that finds the locks that frames hold
LOCKS_AGENT = Path(__file__).with_name("locks_agent.py")
#: the module that finds what threads and tasks wait for
WAITS_AGENT = Path(__file__).with_name("waits_agent.py")
#: the module that shares `sys.settrace` with the program
TRACE_SHARING_AGENT = Path(__file__).with_name("trace_sharing_agent.py")
#: watched expressions: read, compared, and who wrote them
WATCH_AGENT = Path(__file__).with_name("watch_agent.py")


def failing_test(facts: Mapping[str, Any] | None) -> FailingTest | None:
    """Return the test that `failures_agent.py` describes."""
    if facts is None:
        return None
    counts = ResultCounts(
        *map(facts.get, ("passed", "failed", "error", "skipped", "xfailed", "xpassed"))
    )
    return FailingTest(
        str(facts["id"]),
        str(facts["part"]),
        facts.get("position"),
        facts.get("total"),
        counts,
        facts.get("duration_s"),
    )


def read_task(entry: Mapping[str, Any], *, library: bool = False) -> Task:
    """Return the task that an entry of `tasks_agent.listing` describes."""
    path, line = entry["path"], entry["line"]
    frame = None
    if path is not None:
        number = int(line) if line is not None else None
        frame = Frame(0, str(entry["function"]), str(path), number, library=library)
    return Task(str(entry["name"]), str(entry["state"]), frame, entry["awaits"], entry["by"])


def assignment(target: str, value: str) -> str:
    """Return a plain assignment as a statement; `assignments_agent.py` recognizes it by its end."""
    return f"{target} = {value}\n# set"


def page(expression: str, start: int, end: int) -> str:
    """Return the expression for some children of *expression*'s value."""
    pages = "__import__('sys').modules['_freezeframe_pages']"
    return f"{pages}.page({expression!r}, ({expression}), {start}, {end})"


def interpreter(target: Launch | Attach, configured: str | None) -> str:
    """Return the caller's interpreter: the named one, the active venv's, that of .venv, or from
    PATH."""
    name = target.interpreter or configured
    if name is not None:
        return named(name, target.env)
    beside: tuple[str, ...] = ()
    if isinstance(target, Launch) and not target.module:
        beside = (os.path.dirname(target.program),)
    return next(environments(target.cwd, target.env, beside), None) or on_path(target.env)


def named(name: str, env: Mapping[str, str]) -> str:
    """Return the path of an interpreter that the user named. Raises DebuggerMissing."""
    found = shutil.which(os.path.expanduser(name), path=env.get("PATH", os.defpath))
    if found is None:
        raise DebuggerMissing(
            f"there is no interpreter {name}.", next="dbg start PROGRAM --interpreter PATH"
        )
    return found


def environments(cwd: str, env: Mapping[str, str], beside: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the interpreters of the active environment and of the project's own.

    The project's are those in the directories *beside*, in *cwd*, and above it up to a repository.
    """
    bin_directory = "Scripts" if sys.platform == "win32" else "bin"
    prefixes = [env.get(variable) for variable in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    for directory in (*beside, *_upwards(cwd)):
        prefixes += [os.path.join(directory, name) for name in (".venv", "venv")]
    for prefix in filter(None, prefixes):
        candidate = os.path.join(prefix, bin_directory, "python")
        if os.access(candidate, os.X_OK):
            yield candidate


def on_path(env: Mapping[str, str]) -> str:
    """Return the interpreter of the caller's PATH, or else the one that runs us."""
    path = env.get("PATH", os.defpath)
    return shutil.which("python3", path=path) or shutil.which("python", path=path) or sys.executable


def _upwards(cwd: str) -> Iterator[str]:
    """Yield the working directory, and its parents up to a repository."""
    while True:
        yield cwd
        parent = os.path.dirname(cwd)
        if parent == cwd or os.path.exists(os.path.join(cwd, ".git")):
            return
        cwd = parent
