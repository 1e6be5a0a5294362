"""The bench runs. What it measures is not tested: that would fail on a busy machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parent.parent / "bench"


def test_the_bench_measures_commands_against_bare_debugging_and_judges_them(tmp_path: Path) -> None:
    result = tmp_path / "figures.json"
    cheap = [word for name in ("status", "next", "memory", "inside") for word in ("--only", name)]
    command = [sys.executable, str(BENCH / "run.py"), "--in-place", "--rounds", "2", *cheap]

    done = subprocess.run(
        [*command, "--json", str(result)], capture_output=True, text=True, timeout=120
    )

    assert done.returncode in (0, 1), done.stderr
    data = json.loads(result.read_text())
    assert data["rounds"] == 2
    figures = {figure["name"]: figure for figure in data["figures"]}
    judged = figures["dbg status / python -c pass"]
    assert judged["passed"] == (judged["value"] <= judged["limit"])
    assert all(figure["value"] > 0 for figure in figures.values())
    assert (done.returncode == 0) == all(figure["passed"] for figure in figures.values())
    for name in figures:
        assert name in done.stdout
