"""Every module can be imported on a system that is not POSIX."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "freezeframe"
#: modules that only POSIX systems have
POSIX_ONLY = ("fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty")
#: functions of POSIX systems that must not be needed by an import
FUNCTIONS = ("fork", "geteuid", "getsid", "getuid", "killpg", "mkfifo", "openpty", "sysconf")
#: signals that Windows has, besides SIGBREAK
SIGNALS = ("SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN")

_IMPORT_ALL = f"""
import importlib, os, pkgutil, signal, sys
import asyncio, subprocess, tempfile, mcp.server, rich  # these choose by themselves
import freezeframe
from freezeframe import client  # the built-in module that it chooses by the platform is loaded
for name in {POSIX_ONLY!r}:
    sys.modules[name] = None
for name in {FUNCTIONS!r}:
    delattr(os, name)
for name in dir(signal):
    if name.startswith("SIG") and name not in {SIGNALS!r}:
        delattr(signal, name)
for module in pkgutil.walk_packages(freezeframe.__path__, "freezeframe."):
    if not module.name.endswith(("agent", "__main__")) and "_agent." not in module.name:
        importlib.import_module(module.name)
        print(module.name)
"""


def test_every_module_is_imported_without_what_only_posix_systems_have() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) > 300


def test_agents_import_nothing_that_only_posix_systems_have() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line} {name}"
        for path in PACKAGE.rglob("*.py")
        for line, name in _imports_at_module_level(path)
        if name in POSIX_ONLY and path.name != "client.py"
    ]
    assert not found


def _imports_at_module_level(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the modules that a file imports when it is loaded, also under a condition."""
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module or ""
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
