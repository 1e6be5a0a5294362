"""Fixtures of every test: a real client with a daemon of its own, and programs to debug."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# `harness`, `dap_schema` and `fake_adapter` are importable from every test, in every import mode.
if (_here := str(Path(__file__).parent)) not in sys.path:
    sys.path.insert(0, _here)

from harness import contract_results, programs
from harness.client import Daemons, Dbg
from harness.programs import Program

# A busy machine is not a failure, and two runs of the same tree say the same.
settings.register_profile("freezeframe", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("freezeframe")

#: what is debugged, not what is tested; one of them is a test file that fails on purpose
collect_ignore = ["programs"]


@pytest.fixture(scope="session", autouse=True)
def home_of_units(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a backend that a test drives itself makes is not in the user's own directories.

    A daemon of the user's that starts meanwhile removes what it finds there.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FREEZEFRAME_HOME", str(tmp_path_factory.mktemp("home")))
        yield


def pytest_configure(config: pytest.Config) -> None:
    # Ctrl-C reaches what the tests start, also where the run itself is a script's background job.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Workers of xdist send their reports on.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(contract_results.Results())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project: the workspace of the test. The marker keeps it apart from its parents."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    return root


@pytest.fixture
def dbg(project: Path) -> Iterator[Dbg]:
    """The real client, in the project, with a daemon of its own.

    When the test is over: the daemon stops when told, its log holds no traceback, nothing that was
    started lives on, no file is left, and every message sent to a debugger was a valid one.
    """
    client = Dbg(project)
    yield client
    problems = client.close()
    if problems:
        pytest.fail("after the test: " + "\n".join(problems), pytrace=False)


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
def lent(project: Path, daemons: Daemons, request: pytest.FixtureRequest) -> Iterator[Dbg]:
    """The real client. Its daemon served other tests before, unless this is marked `own_daemon`."""
    shares = not request.node.get_closest_marker("own_daemon")
    client = daemons.lend(project) if shares else Dbg(project)
    yield client
    sound = not request.node.stash.get(_FAILED, False)
    problems = daemons.take_back(client, sound=sound) if shares else client.close()
    if problems:
        pytest.fail("after the test: " + "\n".join(problems), pytrace=False)


@pytest.fixture
def program(project: Path) -> Callable[[str], Program]:
    """Copy tests/programs/NAME into the project; its markers name line numbers."""
    return lambda name: programs.install(name, project)


@pytest.fixture
def write_program(project: Path) -> Callable[[str, str], Program]:
    """Write a program that only this test needs."""
    return lambda name, text: programs.write(name, text, project)
