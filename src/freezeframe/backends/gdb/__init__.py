"""What everyone who speaks to gdb knows, whichever way.

texts        values as gdb prints them, cut down to what a reader wants
forks_probe  runs inside gdb: lets go of new processes, so that each gets a gdb of its own
rust_probe   likewise: paths in Rust's syntax that gdb's evaluator does not know
optimized_probe  likewise: the frames whose code is optimised
cpp_probe    likewise: functions of C++'s standard library that gdb cannot call
"""

from __future__ import annotations

import os

from freezeframe.backends.forks import Forks

#: what can be done about processes that a program forks
WAYS = (Forks.PARENT, Forks.BOTH, Forks.CHILD)
#: settings that say so
FORKS = {
    Forks.PARENT: ("detach-on-fork on", "follow-fork-mode parent"),
    Forks.CHILD: ("detach-on-fork on", "follow-fork-mode child"),
    Forks.BOTH: ("detach-on-fork off", "follow-fork-mode parent"),
}
RUST_PROBE = os.path.join(os.path.dirname(__file__), "rust_probe.py")
OPTIMIZED_PROBE = os.path.join(os.path.dirname(__file__), "optimized_probe.py")
CPP_PROBE = os.path.join(os.path.dirname(__file__), "cpp_probe.py")
FORKS_PROBE = os.path.join(os.path.dirname(__file__), "forks_probe.py")
#: functions that a step does not go into: those of the standard libraries
SKIP = "skip -rfunction ^\\(std\\|__gnu_cxx\\|core\\|alloc\\|hashbrown\\)::"
