"""Backends for JavaScript runtimes with V8's inspector, which we speak to without an adapter.

`connection.py` and `sourcemaps.py` do no I/O. `isolate.py` is one thread of a program, with its
scripts, breakpoints and values; `execution.py` classifies pauses; `lifecycle.py` starts and ends
programs. Files `…_agent.js` and `…_agent.cjs` run inside the program.
"""

from __future__ import annotations

from freezeframe.backends.debugger import Debugger

from . import node


def known() -> dict[str, Debugger]:
    """Return every debugger of this package by name."""
    return {each.name: each for each in (node.DEBUGGER,)}
