"""Java: what is made before a program, and what is told of one that does not come to a stop."""

from __future__ import annotations

import os

import pytest

from harness import programs
from harness.reports import place


@pytest.mark.own_daemon
def test_the_debugger_s_own_part_is_compiled_once_outside_a_start_s_limit(dbg, project):
    os.unlink(dbg.home / "cache" / "probes")
    p = programs.install("loop.java", project)

    first = dbg.data("start", p.name, "-b", p.at("loop"))
    again = dbg.data("restart")

    assert place(first) == place(again) == p.at("loop")
    assert any("once" in note for note in first["notes"])
    assert not any("once" in note for note in again["notes"])
