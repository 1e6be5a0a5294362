"""What a test needs and does not find: a skip, and in CI, which installs it, a failure."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def give_up(why: str) -> NoReturn:
    """Skip a test that needs what is not installed; in CI, which installs it, that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


def need(tool: str, install: str) -> None:
    """Give up where a program that a test runs itself is not there."""
    if shutil.which(tool) is None:
        give_up(f"there is no {tool}: {install}")
