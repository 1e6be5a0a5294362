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
    """Return where the program stands, as its frame says."""
    return int(dbg.data("backtrace")["stacks"][0]["frames"][0]["address"], 16)


def test_registers_tell_where_the_program_stands(dbg, stopped, debugger):
    if refused(dbg, debugger, "registers"):
        return

    [scope] = dbg.data("registers", "pc")["scopes"]

    [value] = scope["values"]
    assert int(value["text"].split()[0], 0) == counter_of(dbg)


def test_memory_holds_what_a_variable_is(dbg, stopped, debugger):
    if refused(dbg, debugger, "memory", "read", "0x1000"):
        return
    dbg.data("continue")

    memory = dbg.data("memory", "read", "&total", "--count", 4)

    assert int.from_bytes(base64.b64decode(memory["data"]), sys.byteorder) == 6


def test_instructions_are_shown_from_where_the_program_stands(dbg, stopped, debugger):
    if refused(dbg, debugger, "disassemble"):
        return

    instructions = dbg.data("disassemble", "--count", 3)["instructions"]

    assert len(instructions) == 3
    assert int(instructions[0]["address"], 16) == counter_of(dbg)
    assert all(each["text"] for each in instructions)


def test_a_variable_that_is_watched_stops_where_it_is_written(dbg, stopped, debugger):
    if refused(dbg, debugger, "watch", "total"):
        return
    # Not from the instruction that writes: some step over the place they stand at unwatched.
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("break", stopped.at("callee"), "--temporary")
    dbg.data("continue")
    dbg.data("finish")

    dbg.data("watch", debugger.says("total"))
    report = dbg.data("continue")

    assert report["stop"]["reason"] == "watchpoint"
    assert (report["stop"]["watch"]["old"], report["stop"]["watch"]["new"]) == ("6", "11")


def test_an_address_can_be_stopped_at(dbg, stopped, debugger):
    address = hex(counter_of(dbg)) if _addressed(dbg) else "0x1000"
    if any(each.startswith("break *") for each in debugger.refuses):
        assert dbg.error("break", f"*{address}")["code"] == "unsupported"
        return
    dbg.data("breakpoint", "remove", "--all")

    dbg.data("break", f"*{address}")

    assert place(dbg.data("continue")) == stopped.at("loop")


def _addressed(dbg) -> bool:
    return bool(dbg.data("backtrace")["stacks"][0]["frames"][0]["address"])
