"""The table of built-in debuggers: choosing one imports only that one."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from freezeframe.backends import catalogue

_CHOOSE = """\
import json, sys
from freezeframe.backends import selection
from freezeframe.config import Config
known, before = selection.known(), list(sys.modules)
chosen = selection.choose(sys.argv[1], env={"PATH": sys.argv[2]}, config=Config())
made = chosen.make_backend(Config())
made()
print(json.dumps([before, list(sys.modules), list(known)]))
"""


@pytest.mark.parametrize(("program", "chosen"), [("a.py", "debugpy"), ("a.js", "inspector.node")])
def test_a_debugger_is_imported_when_it_is_chosen_and_no_other(tmp_path, program, chosen):
    """Importing all would take half of the time of a daemon's first start."""
    (tmp_path / program).write_text("1\n")
    command = [sys.executable, "-c", _CHOOSE, str(tmp_path / program), os.environ["PATH"]]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    before, after, known = json.loads(ran.stdout)
    modules = [row["module"] for row in json.loads(catalogue.TABLE.read_text())]

    assert len(known) == len(modules)
    assert not set(modules) & set(before)
    assert "freezeframe.backends.dap.backend" not in before
    imported = [module for module in modules if module in after]
    assert [module for module in imported if module.endswith(chosen)] == imported != []
