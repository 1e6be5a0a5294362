"""One daemon under wine serves all tests of a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .wine import WindowsDbg, require


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    require()
    home = tmp_path_factory.mktemp("windows") / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        "[timeouts]\ninitialize_s = 120\nrequest_s = 60\nresume_s = 200\n"
    )
    yield home
    # With the last program wine's own server ends too.
    WindowsDbg(home, home.parent)("daemon", "stop")


@pytest.fixture
def wdbg(shared_home: Path, tmp_path: Path) -> Iterator[WindowsDbg]:
    dbg = WindowsDbg(shared_home, tmp_path)
    yield dbg
    dbg("stop", "--all", status=None)
    log = (shared_home / "daemon.log").read_text()
    assert "Traceback" not in log, log


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], None]:
    def write(name: str, text: str) -> None:
        (tmp_path / name).write_text(text)

    return write
