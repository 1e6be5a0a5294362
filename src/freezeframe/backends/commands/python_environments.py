"""Find the Python of a project that has a module: its environment, its tool's, or PATH's."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable

from freezeframe import files
from freezeframe.backends import python
from freezeframe.errors import FreezeframeError
from freezeframe.model.fast_dataclass import dataclass

from .command_line import CommandLine, Resolved, Tools, nearest_above
from .wrappers import project_run

#: tools that keep a project's environment at a place of their own: the file that shows the tool,
#: and what its text contains
_PROJECT_TOOLS = (
    ("uv", "uv.lock", ""),
    ("poetry", "poetry.lock", ""),
    ("poetry", "pyproject.toml", "[tool.poetry"),
    ("pdm", "pdm.lock", ""),
    ("pipenv", "Pipfile", ""),
    ("hatch", "pyproject.toml", "[tool.hatch.envs"),
)
_LONGEST_FILE = 1_000_000
_PROBE = "import importlib.util, sys; sys.exit(importlib.util.find_spec({!r}) is None)"

Resolve = Callable[[CommandLine, Tools], Awaitable[Resolved | None]]


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """An interpreter, and the command line in the environment that the interpreter runs in."""

    interpreter: str
    line: CommandLine
    #: whether the interpreter can import the module that was looked for
    has_module: bool = True


async def environment_with(
    module: str, line: CommandLine, tools: Tools, resolve: Resolve, *, named: str | None = None
) -> PythonEnvironment:
    """Return the first environment of a project that has *module*; the first one if none has it.

    *named* is the only interpreter to look at, if the user named one. Otherwise the order is that
    of a user who types the module's name: the active environment, the project's `.venv`, the
    environment of the project's tool (uv, poetry, …), the interpreter of the command that has the
    module's name, and the `python3` of PATH.
    """
    first = None
    async for each in _environments(module, line, tools, resolve, named):
        argv = (each.interpreter, "-c", _PROBE.format(module))
        if (await tools.run(argv, cwd=line.cwd, env=each.line.env)).status == 0:
            return each
        first = first or PythonEnvironment(each.interpreter, each.line, has_module=False)
    assert first is not None  # PATH's, or that of the daemon
    return first


async def _environments(
    module: str, line: CommandLine, tools: Tools, resolve: Resolve, named: str | None
) -> AsyncIterator[PythonEnvironment]:
    if named is not None:
        yield PythonEnvironment(python.named(named, line.env), line)
        return
    for path in python.environments(line.cwd, line.env):
        yield PythonEnvironment(path, line)
    if (found := await _of_tool(line, tools)) is not None:
        yield found
    if (found := await _of_command(module, line, tools, resolve)) is not None:
        yield found
    yield PythonEnvironment(python.on_path(line.env), line)


async def _of_tool(line: CommandLine, tools: Tools) -> PythonEnvironment | None:
    for tool, name, text in _PROJECT_TOOLS:
        path = nearest_above(line.cwd, name)
        if path is None or line.which(tool) is None:
            continue
        if text and text not in files.read_head(path, _LONGEST_FILE).decode("utf-8", "replace"):
            continue
        try:
            inside = await project_run(line.then(tool, "run", "python"), tools)
        except FreezeframeError:
            return None  # the tool has no environment for the project; PATH may have one
        interpreter = inside.which("python") if inside is not None else None
        if inside is not None and interpreter is not None:
            return PythonEnvironment(
                interpreter, inside.remarking(f"`{tool} run` gave the environment ({name})")
            )
    return None


async def _of_command(
    name: str, line: CommandLine, tools: Tools, resolve: Resolve
) -> PythonEnvironment | None:
    """Return the environment of a console script of that name on PATH."""
    if line.which(name) is None or os.path.exists(line.path(name)):
        return None
    try:
        resolved = await resolve(line.then(name), tools)
    except FreezeframeError:
        return None
    if resolved is None or resolved.program.runs_command:
        return None
    interpreter = resolved.program.interpreter
    if interpreter is None or not os.access(interpreter, os.X_OK):
        return None
    return PythonEnvironment(interpreter, resolved.line)
