"""Below the source, whatever the debugger: each does it, or says clearly that it does not."""

from __future__ import annotations

import base64
import sys

import pytest

from harness.reports import place


@pytest.fixture
def stopped(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("loop"))
    return p


def refused(dbg, debugger, *command: object) -> bool:
    """Whether the debugger's row says that it lacks this; then it must say so itself."""
    words = " ".join(map(str, command[:2])) if command[0] == "memory" else str(command[0])
    if not any(each.startswith(words) for each in debugger.refuses):
        return False
    error = dbg.error(*command)
    assert error["code"] == "unsupported"
    assert error["next"]
    return True


def counter_of(dbg) -> int:
    """Return the location of the innermost frame."""
    return int(dbg.data("backtrace")["stacks"][0]["frames"][0]["address"], 16)


def test_registers_instructions_addresses_and_memory_agree_with_the_source(dbg, stopped, debugger):
    counter = counter_of(dbg) if _addressed(dbg) else 0x1000
    if not refused(dbg, debugger, "registers"):
        [scope] = dbg.data("registers", "pc")["scopes"]
        [value] = scope["values"]
        assert int(value["text"].split()[0], 0) == counter
    if not refused(dbg, debugger, "disassemble"):
        instructions = dbg.data("disassemble", "--count", 3)["instructions"]
        assert len(instructions) == 3
        assert int(instructions[0]["address"], 16) == counter
        assert all(each["text"] for each in instructions)
    if any(each.startswith("break *") for each in debugger.refuses):
        assert dbg.error("break", f"*{counter:#x}")["code"] == "unsupported"
    else:
        dbg.data("breakpoint", "remove", "--all")
        dbg.data("break", f"*{counter:#x}")
    assert place(dbg.data("continue")) == stopped.at("loop")
    if not refused(dbg, debugger, "memory", "read", "0x1000"):
        memory = dbg.data("memory", "read", "&total", "--count", 4)
        assert int.from_bytes(base64.b64decode(memory["data"]), sys.byteorder) == 6


def test_a_variable_that_is_watched_stops_where_it_is_written(dbg, stopped, debugger):
    if refused(dbg, debugger, "watch", "total"):
        return
    # Not from the instruction that writes: some step over the current location unwatched.
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("break", stopped.at("callee"), "--temporary")
    dbg.data("continue")
    dbg.data("finish")

    dbg.data("watch", debugger.says("total"))
    report = dbg.data("continue")

    assert report["stop"]["reason"] == "watchpoint"
    assert (report["stop"]["watch"]["old"], report["stop"]["watch"]["new"]) == ("6", "11")


def _addressed(dbg) -> bool:
    return bool(dbg.data("backtrace")["stacks"][0]["frames"][0]["address"])
