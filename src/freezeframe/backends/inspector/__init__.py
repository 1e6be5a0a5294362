"""Runtimes of JavaScript that are spoken to through V8's inspector, without an adapter between.

`connection.py` and `sourcemaps.py` do no I/O. `isolate.py` is one thread of a program, with its
scripts, breakpoints and values; `motion.py` says what a pause means; `life.py` starts and ends.
Files `…_probe.js` and `…_probe.cjs` run inside the program.
"""

from __future__ import annotations

from freezeframe.backends.debugger import Debugger

from . import node


def known() -> dict[str, Debugger]:
    """Return every debugger of this room by name."""
    return {each.name: each for each in (node.DEBUGGER,)}
