"""Python programs all of whose threads wait: they cannot be stopped, but they can be seen."""

from __future__ import annotations

from harness import facts


def test_a_deadlock_is_shown_although_nothing_can_be_stopped(dbg, program):
    p = program("deadlock.py")
    dbg("start", p.name, "--no-wait")
    wanted = [f"{name} is at {p.at(name)} in {name}" for name in ("first", "second")]

    def seen() -> bool:
        said = dbg.data("pause", "--timeout", "0.3")
        if said["state"] == "stopped":  # it was still on its way there
            dbg("continue", "--no-wait")
        return all(any(line in note for note in said["notes"]) for line in wanted)

    facts.wait_until(seen, "both threads wait for each other")
    text = dbg("pause", "--timeout", "0.3").out
    assert f"MainThread is at {p.at('main')} in <module>" in text
    assert "next: dbg await or dbg stop" in text
