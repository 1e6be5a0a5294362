from __future__ import annotations

import os
from pathlib import Path

from freezeframe.daemon.state import STATE, DaemonState, SessionRecord


def test_sessions_of_a_daemon_that_vanished_are_told_once(tmp_path: Path) -> None:
    first = DaemonState(str(tmp_path))
    first.record([SessionRecord("app", "app.py", "/w", 12, "app.py:3"), SessionRecord("b", "b.py")])
    second = DaemonState(str(tmp_path))
    assert second.take_notes() == (
        "the daemon ended unexpectedly; session app (pid 12, app.py, at app.py:3) was lost.",
        "the daemon ended unexpectedly; session b (b.py) was lost.",
    )
    assert second.take_notes() == ()
    assert DaemonState(str(tmp_path)).take_notes() == ()


def test_sessions_that_ended_are_not_lost(tmp_path: Path) -> None:
    house = DaemonState(str(tmp_path))
    house.record([SessionRecord("app", "app.py")])
    house.record([])
    assert not (tmp_path / STATE).exists()
    assert DaemonState(str(tmp_path)).take_notes() == ()


def test_a_list_that_cannot_be_read_is_told_and_removed(tmp_path: Path) -> None:
    deep = "[" * 100_000
    number = '{"sessions": [{"name": 1, "program": "p"}]}'
    for content in ("", "{", "[]", '{"sessions": [{"odd": 1}]}', deep, number):
        (tmp_path / STATE).write_text(content)
        assert len(DaemonState(str(tmp_path)).take_notes()) == 1
        assert not (tmp_path / STATE).exists()
    os.mkfifo(tmp_path / STATE)
    assert len(DaemonState(str(tmp_path)).take_notes()) == 1


def test_the_list_is_for_the_owner_alone(tmp_path: Path) -> None:
    DaemonState(str(tmp_path)).record([SessionRecord("app", "caf\udce9.py")])
    assert (tmp_path / STATE).stat().st_mode & 0o777 == 0o600
    assert "caf\udce9.py" in DaemonState(str(tmp_path)).take_notes()[0]


def test_a_list_that_cannot_be_written_costs_a_note_and_nothing_else(tmp_path: Path) -> None:
    house = DaemonState(str(tmp_path))
    (tmp_path / f"{STATE}.new").mkdir()
    house.record([SessionRecord("app", "app.py")])
    assert not (tmp_path / STATE).exists()


def test_the_list_of_a_daemon_that_must_leave_stays(tmp_path: Path) -> None:
    house = DaemonState(str(tmp_path))
    house.record([SessionRecord("app", "app.py")])
    house.keep_record("it received SIGTERM")
    house.record([])
    house.forget()
    assert DaemonState(str(tmp_path)).take_notes() == (
        "the daemon ended because it received SIGTERM; session app (app.py) was lost.",
    )
