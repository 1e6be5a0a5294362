"""Code that lets a program see itself as it is without a debugger, and its children find us."""

from __future__ import annotations

import json

from freezeframe.backends.backend import Launch

from .conditions import BINDING

#: the options that a program is started with. The inspector's id is random and goes to the standard
#: error, which is our pipe: whoever finds the port (any user can) gets no list of ids there.
OPTIONS = ("--inspect-publish-uid=stderr", "--inspect-brk=127.0.0.1:0")
#: tells a child's exit code on its way out: nobody else here can know it
TELL_EXIT = f"process.on('exit',(c)=>{BINDING}(JSON.stringify({{exit:c??process.exitCode??0}})))"


def code(child_options: str, target: Launch, line: str | None) -> str:
    """Return what is run in a launched program before its first line.

    *line* is where its children call; None where nobody follows them.
    """
    hidden = f"process.execArgv=process.execArgv.filter(w=>!{json.dumps(OPTIONS)}.includes(w));"
    if line is None:
        return hidden
    # What the user had there stays.
    options = f"{target.env.get('NODE_OPTIONS', '')} {child_options}".strip()
    return (
        f"{hidden}process.env.NODE_OPTIONS={json.dumps(options)};"
        f"process.env.FREEZEFRAME_CALL={json.dumps(line)};"
    )
