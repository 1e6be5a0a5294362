from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_log_stays_bounded_and_takes_crashes_along(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    script = f"""
import logging, os
from freezeframe.daemon import log
log.configure({str(path)!r}, max_bytes=5000)
for number in range(1000):
    logging.getLogger("x").info("line %d", number)
os.write(2, b"the last words\\n")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert path.stat().st_size < 6000
    assert (tmp_path / "daemon.log.1").stat().st_size < 6000
    assert "the last words" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    script = f"""
import logging, resource
from freezeframe.daemon import log
log.configure({str(path)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
for number in range(1000):
    logging.getLogger("x").info("line %d", number)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
logging.getLogger("x").info("room again")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stderr == b""
    assert "line 1\n" in path.read_text()
    assert path.read_text().endswith("x: room again\n")
