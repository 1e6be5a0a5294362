"""Commands that run programs as children, where the one to debug is not known beforehand.

A shell with a loop in it, `xargs`, a tool's own task: the command itself is started below a small
program in Python or node, whose debugger follows the children that run the same language.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from .command_line import CommandLine, Program

_PYTHON = re.compile(
    r"(?<![\w.-])(?:python[\d.]*|pypy[\d.]*|pytest|py\.test|tox|nox|hatch|uv|poetry|pipenv|pdm"
    r"|coverage|flask|django-admin|uvicorn|gunicorn|celery)(?![\w-])|\w\.py\b"
)
_NODE = re.compile(
    r"(?<![\w.-])(?:node|nodejs|npm|npx|yarn|pnpm|jest|mocha|vitest|tsx|ts-node)(?![\w-])"
    r"|\w\.[cm]?[jt]s\b"
)
_SCRIPTS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")


def followed(line: CommandLine, text: str) -> Program | None:
    """Return the command of *line* as a program whose children are followed.

    *text* is what it runs, as far as that is known. None where it names no program that could be
    followed, or there is nothing to run them with.
    """
    agent = Path(__file__)
    in_python = _PYTHON.search(text) is not None
    in_node = _NODE.search(text) is not None
    if in_python and in_node:
        in_python = not any(each.endswith(_SCRIPTS) for each in line.break_files)
    if in_python:
        runtime, name = line.which("python3") or line.which("python"), "follow_agent.py"
    elif in_node:
        runtime, name = line.which("node"), "follow_agent.cjs"
    else:
        return None
    command = line.which(line.argv[0])
    if runtime is None or command is None:
        return None
    return Program(
        str(agent.with_name(name)),
        (command, *line.argv[1:]),
        interpreter=runtime,
        name=os.path.basename(line.argv[0]),
        remarks=(f"the programs that {line.name} runs are followed as its children",),
        runs_command=True,
    )
