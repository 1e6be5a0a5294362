"""How CodeLLDB's words are read, without CodeLLDB."""

from __future__ import annotations

from pathlib import Path

from freezeframe.backends.backend import RawFrame, RawValue
from freezeframe.backends.dap.adapters.codelldb import ADAPTER, read_pid
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig


def test_threads_go_by_their_own_names():
    name = ADAPTER.frames.thread_name

    assert name('3: tid=8173 "worker-2"') == "worker-2"
    assert name("3: tid=8173") == ""


def test_the_process_is_known_from_what_it_says_on_the_console():
    assert read_pid("Launched process 3487 from '/p/loop'\n") == 3487
    assert read_pid("Attached to process 12\n") == 12
    assert read_pid("Process exited with code 3.\n") is None


def test_a_value_that_is_not_there_is_optimised_out():
    value = ADAPTER.values.enrich(RawValue("seed", "<variable not available>", "int", 0), {})

    assert value.text == "<optimized out>"
    assert not value.failed


def test_a_frame_without_source_shows_no_line_of_its_listing():
    raw = RawFrame(1, "f", None, 26, 0, "7F22A500F000", "0x7F22A503624A", True, 1000)

    frame = ADAPTER.frames.read(raw, {"name": "f"})

    assert (frame.line, frame.source_reference, frame.module) == (None, 0, None)


def test_one_without_its_library_is_said_to_be(tmp_path: Path):
    alone = tmp_path / "codelldb"
    alone.write_text("#!/bin/sh\n")
    alone.chmod(0o755)

    missing = ADAPTER.find({"PATH": str(tmp_path)}, AdapterConfig())

    assert isinstance(missing, Missing)
    assert "liblldb" in missing.reason


def test_its_library_and_version_are_found_beside_it(tmp_path: Path):
    for name in ("adapter/codelldb", "lldb/lib/liblldb.so"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "package.json").write_text('{"version": "1.99.0"}')

    found = ADAPTER.find({"PATH": str(tmp_path / "adapter")}, AdapterConfig())

    assert isinstance(found, Found)
    assert found.version == "1.99.0"
    assert found.command[1:] == ("--liblldb", str(tmp_path / "lldb/lib/liblldb.so"))
