"""What everyone who speaks to LLDB knows."""

from __future__ import annotations

from freezeframe.backends import lldb


def test_the_python_in_lldb_is_not_that_of_an_active_environment():
    env = {"PATH": "/venv/bin:/bin", "VIRTUAL_ENV": "/venv", "PYTHONHOME": "/venv", "LANG": "C"}

    own = lldb.surroundings(env, "/opt/llvm/bin/lldb")

    assert own == {"PATH": "/opt/llvm/bin:/usr/bin:/venv/bin:/bin", "LANG": "C"}
