"""What CodeLLDB does in its own way, beyond the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from freezeframe.backends.backend import RawFrame, RawValue
from freezeframe.backends.dap.adapters.codelldb import ADAPTER
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from harness.reports import frame_of, printed, shown

PROGRAM = """\
#include <cstdio>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

int counter = 0;

static void bump(int by) {
    counter += by;  // @write
    std::printf("bump %d\\n", by);
}

int main() {
    int *nothing = nullptr;
    std::vector<std::string> names{"ada", "bob"};
    std::unordered_map<int, std::string> words{{7, "seven"}};
    for (int i = 1; i < 4; i++) {
        bump(i);  // @call
    }
    for (int i = 0; i < 2; i++) {
        try {
            if (i == 0) {
                throw std::logic_error("first");
            }
            throw std::out_of_range("second");  // @second
        } catch (const std::exception &) {
        }
    }
    return nothing == nullptr ? 0 : 1;
}
"""


@pytest.fixture
def started(dbg, native):
    """The program above, at the first call of `bump`."""
    p = native(PROGRAM)
    dbg.data("start", p.name, "-b", p.at("call"))
    dbg.data("breakpoint", "remove", "--all")
    return p


def test_an_exception_is_caught_by_its_type(dbg, started):
    dbg.data("catch", "throw", "std::out_of_range")

    report = dbg.data("continue")

    assert report["stop"]["reason"] == "exception"
    assert shown(report) == started.at("second")
    assert report["stop"]["exception"]["type"] == "std::out_of_range"
    assert report["stop"]["exception"]["message"] == "second"
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_watchpoint_heeds_its_condition_and_tells_the_line_that_wrote(dbg, started):
    dbg.data("watch", "counter", "--condition", "counter > 2")

    report = dbg.data("continue")

    seen = report["stop"]["watch"]
    assert dbg.data("print", "counter")["value"]["text"] == "3"
    assert (seen["line"] or frame_of(report)["line"]) == started.line("write")


def test_containers_are_readable_and_their_elements_are_reached(dbg, started):
    assert dbg.data("print", "names[1]")["value"]["text"] == '"bob"'
    assert "seven" in dbg("locals").out


def test_a_pointer_to_nothing_is_an_address(dbg, started):
    assert dbg.data("print", "nothing")["value"]["text"] == "0x0"


def test_what_a_command_prints_is_its_answer_and_nothing_else(dbg, started):
    assert "lldb version" in dbg.data("raw", "version")["text"]

    assert printed(dbg.data("output", "--all"), "console", "log") == ""


def test_a_debug_server_is_refused_by_name(dbg, started):
    error = dbg.error("attach", "127.0.0.1:1")

    assert error["code"] == "unsupported"


# --- what it says, read -------------------------------------------------------------------------


def test_threads_go_by_their_own_names():
    name = ADAPTER.frames.thread_name

    assert name('3: tid=8173 "worker-2"') == "worker-2"
    assert name("3: tid=8173") == ""


def test_the_process_is_known_from_what_it_says_on_the_console():
    read = ADAPTER.start.read_pid

    assert read("Launched process 3487 from '/p/loop'\n") == 3487
    assert read("Attached to process 12\n") == 12
    assert read("Process exited with code 3.\n") is None


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
