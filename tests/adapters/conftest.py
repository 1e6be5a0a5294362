"""The contract's fixtures: every test runs once for each debugger."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from _debuggers import DEBUGGERS, PYTHONS, Debugger

from harness.client import Dbg
from harness.programs import Program


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    # Files about one language name it; all others are held against every debugger.
    if "debugger" in metafunc.fixturenames:
        rows = PYTHONS if "python" in metafunc.module.__name__ else DEBUGGERS
        metafunc.parametrize("debugger", rows, ids=str)


@pytest.fixture
def dbg(dbg: Dbg, debugger: Debugger) -> Dbg:
    """The client of a caller whose natural debugger is this one."""
    debugger.prepare(dbg)
    return dbg


@pytest.fixture
def sample(program: Callable[[str], Program], debugger: Debugger) -> Callable[[str], Program]:
    """Copy the contract's program of that stem, in the debugger's language, into the project."""
    return lambda stem: program(stem + debugger.suffix)
