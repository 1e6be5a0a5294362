"""Fixtures of the daemon's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from daemon.echo_home import EchoHome


@pytest.fixture
def home() -> Iterator[EchoHome]:
    """A daemon's home of its own; after the test nothing lives and nothing is left in it."""
    made = EchoHome()
    yield made
    made.close()
