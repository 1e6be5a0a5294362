"""Commands that run in the client's process without a daemon: client.LOCAL, `daemon stop`."""

from __future__ import annotations

import json
import os
import sys
from typing import NoReturn

from freezeframe import __version__
from freezeframe.errors import FreezeframeError
from freezeframe.frontends import cli_ops, completion, help
from freezeframe.frontends.parser import Parsed, parse
from freezeframe.model.answers import Text
from freezeframe.ops._json_schema import to_jsonable
from freezeframe.ops._skill import command_on_path, skill_text
from freezeframe.render import PLAIN, envelope, render_error

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
    """Return the answer to a command. Raises FreezeframeError."""
    parsed = parse(argv)
    text = _text(parsed)
    if not parsed.globals.json:
        return text
    return json.dumps(envelope(to_jsonable(Text(text)), None, []), ensure_ascii=False) + "\n"


def _text(parsed: Parsed) -> str:
    if parsed.globals.help or parsed.op is None:
        topic = list(parsed.name_tokens)
        return help.page(topic) if topic else help.overview()
    if parsed.op.id == "version":
        return f"freezeframe {__version__}\n"
    if parsed.op.id == "skill":
        return skill_text(command_on_path(os.environ))
    if parsed.op.id == "completion":
        return completion.script(parsed.kwargs["shell"])
    if parsed.op.id == "daemon_stop":
        return "no daemon runs\n"
    topic = list(parsed.kwargs.get("command", ()))
    return help.page(topic) if topic else help.overview()
