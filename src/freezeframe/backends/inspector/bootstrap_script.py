"""Code that hides the debugger from a program, and makes its children connect to us."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from freezeframe.backends.backend import Launch

from .breakpoint_conditions import BINDING

#: The options that a program is started with. The inspector's id is random and goes to the standard
#: error, which is our pipe: another user who finds the port gets no list of ids there.
_PRIVATE, _STOP, _WAIT = "--inspect-publish-uid=stderr", "--inspect-brk=", "--inspect-wait="
_ADDRESS = "127.0.0.1:0"
#: V8's optimizer of registers removes the load of `return y`, and with it the only position before
#: the return. At the return itself V8 hides the variables of blocks: `y` would not be defined.
_ALL_POSITIONS = "--no-ignition-reo"
OPTIONS = (_PRIVATE, _ALL_POSITIONS, _STOP + _ADDRESS)
#: the same for a program that does not survive a stop before its first line
WAITING_OPTIONS = (_PRIVATE, _ALL_POSITIONS, _WAIT + _ADDRESS)
#: reports a child's exit code when it exits: we cannot get it otherwise
REPORT_EXIT = f"process.on('exit',(c)=>{BINDING}(JSON.stringify({{exit:c??process.exitCode??0}})))"


def code(child_options: str, target: Launch, socket_path: str | None) -> str:
    """Return code that runs in a launched program before its first line.

    *socket_path* is the socket that its children connect to; None if children are not followed.
    """
    internal = json.dumps(sorted({*OPTIONS, *WAITING_OPTIONS}))
    hidden = f"process.execArgv=process.execArgv.filter(w=>!{internal}.includes(w));"
    if socket_path is None:
        return hidden
    # The user's own options are kept.
    options = f"{target.env.get('NODE_OPTIONS', '')} {child_options}".strip()
    return (
        f"{hidden}process.env.NODE_OPTIONS={json.dumps(options)};"
        f"process.env.FREEZEFRAME_CALL={json.dumps(socket_path)};{_child_environment()}"
    )


@functools.cache
def _child_environment() -> str:
    return Path(__file__).with_name("child_environment_agent.cjs").read_text("utf-8")
