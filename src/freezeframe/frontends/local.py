"""Commands that need no daemon, answered in this process: help, version, skill."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from freezeframe import __version__
from freezeframe.errors import FreezeframeError
from freezeframe.frontends import commands, help
from freezeframe.frontends.parser import parse
from freezeframe.frontends.skill import skill_text
from freezeframe.ops import table
from freezeframe.render import PLAIN, render_error

assert table.OPS, commands  # the whole vocabulary


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
        words = list(parsed.words)
        return help.page(words) if words else help.overview()
    if parsed.op.id == "version":
        return f"freezeframe {__version__}\n"
    if parsed.op.id == "skill":
        return skill_text()
    words = list(parsed.kwargs.get("words", ()))
    return help.page(words) if words else help.overview()
