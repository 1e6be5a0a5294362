"""Debug C, C++, Rust and other machine code through gdb's machine interface (MI).

For gdb 12 and 13, which have no DAP server, and for any later version. Measured with gdb 13.1 on
Debian 12.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from freezeframe.backends import gdb, native
from freezeframe.backends.backend import Backend
from freezeframe.backends.debugger import Debugger, Found, Missing
from freezeframe.config import AdapterConfig, Config


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    """Look for gdb on the caller's PATH; the version is read when gdb starts."""
    named = os.path.expanduser(config.path) if config.path is not None else "gdb"
    path = shutil.which(named, path=env.get("PATH", os.defpath))
    if path is None:
        where = f"{named} is not there" if config.path is not None else "no `gdb` on PATH"
        return Missing(where)
    return Found(path, None, (path, "-i=mi3"))


def _make(found: Found, config: Config) -> Backend:
    # Imported late: otherwise the client's first command waits for it, whatever it debugs.
    from .backend import GdbMi

    return GdbMi(found, config)


DEBUGGER = Debugger(
    name="gdb-mi",
    kind="console",
    languages=("C", "C++", "Rust"),
    patterns=(),
    shebangs=(),
    binaries=("elf",),
    install=("apt install gdb", "dnf install gdb", "brew install gdb"),
    find=_find,
    make=_make,
    # Preferred to LLDB: measured with gdb 13.1 and 16.3 against lldb-dap 22.1.8. A start takes two
    # thirds of the time, a false condition less than half, and gcc's optimised code is shown right.
    rank=8,
    forks=gdb.WAYS,
    remark=native.remark,
)
