"""The contract's fixtures: every test runs once for each debugger."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from _matrix import Debugger, held_against

from harness import contract_results, programs
from harness.client import Daemons, Dbg
from harness.programs import Program


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "debugger" in metafunc.fixturenames:
        rows = held_against(metafunc.module.__name__, metafunc.function.__name__)
        metafunc.parametrize("debugger", rows, ids=str)


#: set on a test that failed
_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemons]:
    """Daemons that serve one test after another."""
    shared = Daemons()
    yield shared
    if problems := shared.close(tmp_path_factory.mktemp("last")):
        pytest.fail("after all tests: " + "\n".join(problems), pytrace=False)


@pytest.fixture
def dbg(
    project: Path,
    debugger: Debugger,
    daemons: Daemons,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> Iterator[Dbg]:
    """The client of a caller whose natural debugger is this one.

    Unless the test is marked `own_daemon`, its daemon may have served others before.
    """
    record_property(contract_results.PROPERTY, debugger.facts())
    shares = not request.node.get_closest_marker("own_daemon")
    client = daemons.lend(project) if shares else Dbg(project)
    debugger.prepare(client)
    yield client
    sound = not request.node.stash.get(_FAILED, False)
    problems = daemons.take_back(client, sound=sound) if shares else client.close()
    if problems:
        pytest.fail("after the test: " + "\n".join(problems), pytrace=False)


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
