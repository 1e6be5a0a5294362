from __future__ import annotations

import json
import os
from pathlib import Path

from freezeframe.backends.transport.wire_log import WireLog


def test_every_message_is_a_line_with_its_direction_and_time(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    tap = WireLog(str(path))
    observe = tap.observer("app")
    observe("send", {"seq": 1, "command": "é"})
    observe("recv", {"seq": 2})
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert (first["who"], first["direction"], first["message"]["command"]) == ("app", "send", "é")
    assert second["direction"] == "recv"
    assert second["ms"] >= first["ms"] >= 0
    assert path.stat().st_mode & 0o777 == 0o600
    tap.close()
    observe("send", {})
    assert len(path.read_text().splitlines()) == 2


def test_the_log_is_bounded_and_keeps_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    tap = WireLog(str(path), limit_bytes=10_000)
    for number in range(1000):
        tap.write("app", "send", {"seq": number})
    tap.close()
    assert sum(os.stat(tmp_path / name).st_size for name in os.listdir(tmp_path)) <= 20_000
    assert json.loads(path.read_text().splitlines()[-1])["message"]["seq"] == 999
