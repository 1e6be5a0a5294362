"""Commands that run in the client's process without a daemon: help, version, skill."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from freezeframe import __version__
from freezeframe.errors import FreezeframeError
from freezeframe.frontends import cli_ops, help
from freezeframe.frontends.parser import parse
from freezeframe.ops._skill import command_on_path, skill_text
from freezeframe.render import PLAIN, render_error

assert cli_ops  # declares operations


def main(argv: list[str]) -> NoReturn:
    """Write the answer to *argv* and end the process."""
    status = 0
    try:
        text = answer(argv)
        sys.stdout.write(text)
    except FreezeframeError as error:
        sys.stderr.write(render_error(error, PLAIN))
        status = error.exit_status
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def answer(argv: list[str]) -> str:
    """Return the answer to a command of client.LOCAL. Raises FreezeframeError."""
    parsed = parse(argv)
    if parsed.globals.help or parsed.op is None:
        topic = list(parsed.name_tokens)
        return help.page(topic) if topic else help.overview()
    if parsed.op.id == "version":
        return f"freezeframe {__version__}\n"
    if parsed.op.id == "skill":
        return skill_text(command_on_path(os.environ))
    topic = list(parsed.kwargs.get("command", ()))
    return help.page(topic) if topic else help.overview()
