"""The contract's fixtures: every test runs once for each debugger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from _matrix import Debugger, held_against

from harness import contract_results, programs
from harness.client import Dbg
from harness.programs import Program


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "debugger" in metafunc.fixturenames:
        rows = held_against(metafunc.module.__name__, metafunc.function.__name__)
        metafunc.parametrize("debugger", rows, ids=str)


@pytest.fixture
def dbg(lent: Dbg, debugger: Debugger, record_property: Callable[[str, object], None]) -> Dbg:
    """The client of a caller whose natural debugger is this one."""
    record_property(contract_results.PROPERTY, debugger.facts())
    debugger.prepare(lent)
    return lent


@pytest.fixture
def sample(project: Path, debugger: Debugger) -> Callable[..., Program]:
    """Put the contract's program of that stem, in the debugger's language, into the project."""
    return lambda stem, into=project: debugger.install(stem, into)


@pytest.fixture
def native(project: Path, debugger: Debugger) -> Callable[..., Program]:
    """Compile a program that only one test needs: its text, and flags for the compiler."""

    def make(text: str, *flags: str, name: str = "app") -> Program:
        source = programs.write(f"{name}{debugger.suffix}", text, project)
        return programs.compiled(source, *flags)

    return make
