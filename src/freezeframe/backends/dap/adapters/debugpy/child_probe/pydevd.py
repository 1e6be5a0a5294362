"""Runs in a child process where debugpy would run its own pydevd.py; a script, never imported.

Of that name, because debugpy tells by it that a command line is its own already, and hides the
frames of such a file. All it does is in boot_probe.py.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_boot = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "boot_probe.py")
_names: dict[str, Any] = {"__name__": "freezeframe_boot", "__file__": _boot}
with open(_boot, "rb") as _file:
    exec(compile(_file.read(), _boot, "exec"), _names)
_names["run_child"](sys.argv)
