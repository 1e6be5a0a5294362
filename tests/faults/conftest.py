"""Fixtures of the fault tests: everything runs as an ordinary user with bounded means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import users
from harness.client import Dbg


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
