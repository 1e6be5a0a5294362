"""A debugger that is let go of never hides why."""

from __future__ import annotations

import asyncio

import pytest

from freezeframe.backends.backend import Launch, ToolInfo
from freezeframe.config import Config
from freezeframe.errors import LaunchFailed
from freezeframe.session.breakpoints import Book
from freezeframe.session.session import Session
from freezeframe.session.sources import Sources


class Broken:
    """A debugger that neither starts nor can be let go of."""

    tool = ToolInfo("broken", None, "console")

    async def start(self, *_: object) -> None:
        raise LaunchFailed("the program could not be started.")

    async def dispose(self) -> None:
        raise OSError("its pipes are gone")


def test_the_error_that_ends_a_start_is_the_one_that_is_told(caplog):
    async def start() -> None:
        session = Session(
            "app",
            book=Book(),
            config=Config(),
            sources=Sources(),
            make_backend=Broken,  # type: ignore[arg-type]
            reason="",
        )
        await session.start(Launch("app"))

    with pytest.raises(LaunchFailed, match="could not be started"):
        asyncio.run(start())

    assert "broken could not be let go of" in caplog.text
    assert "its pipes are gone" in caplog.text
