"""Fixtures of the fault tests: everything runs as an ordinary user with bounded means."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import users
from harness.client import Dbg


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """An empty project that an ordinary user can reach: pytest closes its own folders to others."""
    if not users.is_root():
        (tmp_path / "project" / ".git").mkdir(parents=True)
        yield tmp_path / "project"
        return
    folder = Path(tempfile.mkdtemp(prefix="ff-faults-", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "project" / ".git").mkdir(parents=True)
    yield folder / "project"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def dbg(project: Path) -> Iterator[Dbg]:
    """The real client with a daemon of its own, as an ordinary user where the tests run as root."""
    if users.is_root() and users.interpreter() is None:
        pytest.skip("no Python on this machine can be run by an ordinary user")
    client = users.OrdinaryDbg(project)
    yield client
    problems = client.close()
    if problems:
        pytest.fail("after the test: " + "\n".join(problems), pytrace=False)
