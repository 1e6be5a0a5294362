"""The agents that patch the gem inside the program."""

from __future__ import annotations

import base64
import functools
from pathlib import Path

AGENT = "DEBUGGER__::Freezeframe"
#: the agents that patch the gem, in the order of their dependencies
_PARTS = ("values", "breakpoints", "stepping", "failures", "threads", "evaluation", "dap_server")


def install_expression() -> str:
    """Return the expression that loads the agents into a program after attaching to it."""
    library = "$LOADED_FEATURES.grep(%r{/debug/session\\.rb\\z}).last"
    parts = [
        f'eval("{_encoded(name)}".unpack1("m").force_encoding("UTF-8"), TOPLEVEL_BINDING.dup, '
        f'File.join(File.dirname({library}), "freezeframe_{name}.rb"))'
        for name in _PARTS
    ]
    install = f"defined?({AGENT}) or ({'; '.join(parts)})"
    return f"({install}; {AGENT}.join)"


@functools.cache
def _encoded(name: str) -> str:
    return base64.b64encode(Path(__file__).with_name(f"{name}_agent.rb").read_bytes()).decode()
