"""How the words of GDB's own DAP are read, without GDB."""

from __future__ import annotations

from pathlib import Path

import pytest

from freezeframe.backends import selection
from freezeframe.backends.backend import Launch, RawValue
from freezeframe.backends.dap.adapters import lldb_dap
from freezeframe.backends.dap.adapters._descriptor import LaunchEnvironment
from freezeframe.backends.dap.adapters.gdb_dap import ADAPTER
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig, Config
from freezeframe.model.stops import Exit, StopReason


def _gdb(folder: Path, version: str) -> Path:
    path = folder / "gdb"
    path.write_text(f"#!/bin/sh\necho 'GNU gdb (Some Linux {version}-1) {version}'\n")
    path.chmod(0o755)
    return path


def test_a_gdb_from_before_its_dap_is_refused_with_its_version(tmp_path):
    _gdb(tmp_path, "13.1")

    missing = ADAPTER.find({"PATH": str(tmp_path)}, AdapterConfig())

    assert isinstance(missing, Missing)
    assert "13.1" in missing.reason
    assert "14.1" in missing.reason


def test_a_gdb_with_dap_is_found(tmp_path):
    path = _gdb(tmp_path, "16.3")

    found = ADAPTER.find({"PATH": str(tmp_path)}, AdapterConfig())

    assert isinstance(found, Found)
    assert (found.path, found.version) == (str(path), "16.3")


@pytest.mark.parametrize(
    ("told", "exit"),
    [("11", Exit(signal="SIGSEGV")), ("9\n", Exit(signal="SIGKILL")), ("void", None), ("", None)],
)
def test_the_signal_that_ended_a_program_is_asked_for(told, exit):
    assert ADAPTER.end.question(0) is not None
    assert ADAPTER.end.question(3) is None
    assert ADAPTER.end.read(told) == exit


def test_a_signal_is_known_by_its_name():
    body = {"reason": "signal", "description": "SIGFPE: Arithmetic exception"}

    assert ADAPTER.stops.read(body) == (StopReason.SIGNAL, "SIGFPE")
    assert ADAPTER.stops.read({"reason": "pause"}) is None


def test_a_container_is_opened_and_its_size_known():
    value = RawValue("v", "std::vector of length 3, capacity 4", "std::vector<int>", 7)

    enriched = ADAPTER.values.enrich(value, {})

    assert (enriched.count, enriched.opaque) == (3, True)


def test_the_program_is_known_before_its_breakpoints_are_set(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF" + bytes(60))
    program.chmod(0o755)
    around = LaunchEnvironment(Found("gdb", "16.3", ("gdb",)), AdapterConfig(), None, str(tmp_path))

    plan = ADAPTER.plan(Launch(str(program), cwd=str(tmp_path), env={}), around)

    assert plan.spawn is not None
    assert plan.spawn.argv[-2:] == ("-i=dap", str(program))


@pytest.mark.parametrize(
    ("version", "kind", "taken"),
    [("16.3", None, "gdb-mi"), ("13.1", None, "gdb-mi"), ("16.3", "dap", "gdb-dap")],
)
def test_gdb_s_machine_interface_is_taken_unless_dap_is_asked_for(
    tmp_path, monkeypatch, version, kind, taken
):
    monkeypatch.setattr(lldb_dap.glob, "glob", lambda pattern: [])
    _gdb(tmp_path, version)
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF" + bytes(60))

    choice = selection.choose(str(program), name=kind, env={"PATH": str(tmp_path)}, config=Config())

    assert choice.debugger.name == taken
