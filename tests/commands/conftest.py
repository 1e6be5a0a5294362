"""Commands are typed against a daemon that has served other tests, as those of users are."""

from __future__ import annotations

import pytest

from harness.client import Dbg


@pytest.fixture
def dbg(lent: Dbg) -> Dbg:
    return lent
