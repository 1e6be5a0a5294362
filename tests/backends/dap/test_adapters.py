"""Which adapters are known: ours, and those of other packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from freezeframe.backends import selection
from freezeframe.backends.dap import adapters
from freezeframe.backends.dap.adapters.rdbg.snapshots import is_library as is_ruby_library

MINIMAL = """
from freezeframe.backends.dap.adapters._descriptor import Adapter, Plan, Stdio
from freezeframe.backends.debugger import Missing
ADAPTER = Adapter(
    name="moondap", adapter_id="moondap", languages=("Moon",), patterns=("*.moon",), shebangs=(),
    install=(), find=lambda env, config: Missing("not here"),
    plan=lambda target, around: Plan(Stdio(), "launch", {}),
)
"""

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package of someone else: a module that is named as an adapter."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(module: str, code: str) -> None:
        (tmp_path / f"{module}.py").write_text(code)
        metadata = tmp_path / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(
            f"[freezeframe.adapters]\n{module} = {module}:ADAPTER\n"
        )
        adapters.known.cache_clear()
        selection._installed.cache_clear()

    yield install
    adapters.known.cache_clear()
    selection._installed.cache_clear()


def test_an_adapter_of_another_package_is_known(install: Install) -> None:
    install("theirs", MINIMAL)

    assert adapters.known()["moondap"].languages == ("Moon",)
    assert selection.known()["moondap"].patterns == ("*.moon",)


def test_a_package_that_cannot_be_loaded_costs_nobody_else_their_debugger(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    ours = set(adapters.known())
    install("broken", "import no_such_module_anywhere\n")

    assert set(adapters.known()) == ours
    assert "broken" in caplog.text


def test_what_runs_inside_programs_is_not_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.endswith("agent")]:
        monkeypatch.delitem(sys.modules, name)
    adapters.known.cache_clear()

    adapters.known()

    loaded = [name for name in sys.modules if name.startswith("freezeframe.")]
    assert not [name for name in loaded if name.endswith("agent")]


def test_ruby_scripts_that_only_load_a_gem_are_library_code():
    paths = ("/usr/bin/rspec", "/home/u/p/bin/rake", "/home/u/p/bin/app", "/home/u/p/rspec.rb")

    assert [is_ruby_library(path, None) for path in paths] == [True, True, False, False]
