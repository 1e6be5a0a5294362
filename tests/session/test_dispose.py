"""Disposing of a backend never hides the error that caused it."""

from __future__ import annotations

import asyncio

import pytest

from freezeframe.backends.backend import Launch, ToolInfo
from freezeframe.config import Config
from freezeframe.errors import LaunchFailed
from freezeframe.session.breakpoints import LogicalBreakpoints
from freezeframe.session.session import Session
from freezeframe.session.source_cache import Sources


class Broken:
    """A backend that can neither be started nor disposed of."""

    tool = ToolInfo("broken", None, "console")

    async def start(self, *_: object) -> None:
        raise LaunchFailed("the program could not be started.")

    async def dispose(self) -> None:
        raise OSError("its pipes are gone")


def test_a_failed_start_raises_its_own_error_even_if_disposal_fails(caplog):
    async def start() -> None:
        session = Session(
            "app",
            breakpoints=LogicalBreakpoints(),
            config=Config(),
            sources=Sources(),
            make_backend=Broken,  # type: ignore[arg-type]
            reason="",
        )
        await session.start(Launch("app"))

    with pytest.raises(LaunchFailed, match="could not be started"):
        asyncio.run(start())

    assert "broken could not be disposed of" in caplog.text
    assert "its pipes are gone" in caplog.text
